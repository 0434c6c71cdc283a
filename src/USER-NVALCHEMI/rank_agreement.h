// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Turning a failure of one rank into the same failure of all ranks
------------------------------------------------------------------------- */

#ifndef LMP_RANK_AGREEMENT_H
#define LMP_RANK_AGREEMENT_H

#include <mpi.h>

#include <string>

namespace nvalchemi {

// how this rank came out of a piece of work

struct RankOutcome {
  std::string failure;            // empty: none
  bool caused_by_peer = false;    // it only saw another rank fail
};

// the text that every rank reports: that of the lowest rank that failed by itself; empty if no
// rank failed. Collective over `comm`.

std::string agree_on_failure(MPI_Comm comm, const RankOutcome &mine);

}    // namespace nvalchemi

#endif
