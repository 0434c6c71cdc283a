// SPDX-License-Identifier: GPL-2.0-only

#include "rank_agreement.h"

#include "mpi_check.h"

namespace nvalchemi {

/* ---------------------------------------------------------------------- */

std::string agree_on_failure(MPI_Comm comm, const RankOutcome &mine)
{
  int me, nprocs;
  NVALCHEMI_MPI(MPI_Comm_rank(comm, &me));
  NVALCHEMI_MPI(MPI_Comm_size(comm, &nprocs));

  // own failures sort before failures that only followed from one

  const int nothing = 2 * nprocs;
  int order = nothing;
  if (!mine.failure.empty()) order = mine.caused_by_peer ? nprocs + me : me;
  int first = order;
  NVALCHEMI_MPI(MPI_Allreduce(&order, &first, 1, MPI_INT, MPI_MIN, comm));
  if (first == nothing) return "";

  const int source = first % nprocs;
  std::string text = mine.failure;
  int length = static_cast<int>(text.size());
  NVALCHEMI_MPI(MPI_Bcast(&length, 1, MPI_INT, source, comm));
  text.resize(length);
  NVALCHEMI_MPI(MPI_Bcast(text.data(), length, MPI_CHAR, source, comm));
  return nprocs > 1 ? "rank " + std::to_string(source) + ": " + text : text;
}

}    // namespace nvalchemi
