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

namespace nvalchemi {

class Session;

// Read on rank 0, load on every rank. `path` matters on rank 0 only. Collective; throws the same
// std::runtime_error on all ranks, whichever of them failed. Appends what a lenient reading of the
// distribution spec lets pass to `warnings`.

std::unique_ptr<Session> load_model(MPI_Comm comm, const std::string &path,
                                    const PairOptions &options, int threads,
                                    std::vector<std::string> &warnings);

}    // namespace nvalchemi

#endif
