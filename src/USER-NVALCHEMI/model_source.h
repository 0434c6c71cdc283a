// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The files that make up a model: archive, card, spec
------------------------------------------------------------------------- */

#ifndef LMP_MODEL_SOURCE_H
#define LMP_MODEL_SOURCE_H

#include "pair_options.h"

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "potentials/session.hpp"

namespace nvalchemi {

// what a model was loaded from, to load it again with another spec

struct ModelSource {
  std::string archive;       // bytes, on rank 0 alone
  SessionOptions options;    // without the warnings of a lenient reading
};

// Read on rank 0, load on every rank. `path` matters on rank 0 only. Collective; throws the same
// std::runtime_error on all ranks, whichever of them failed. Appends what a lenient reading of the
// distribution spec lets pass to `warnings`, and fills `source`.

std::unique_ptr<Session> load_model(MPI_Comm comm, const std::string &path,
                                    const PairOptions &options, int threads, ModelSource &source,
                                    std::vector<std::string> &warnings);

}    // namespace nvalchemi

#endif
