// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Records from every rank to every rank, by plain MPI: for checks, which
   must not depend on what they check
------------------------------------------------------------------------- */

#ifndef LMP_RANK_MAIL_H
#define LMP_RANK_MAIL_H

#include "mpi_check.h"

#include <mpi.h>

#include <numeric>
#include <type_traits>
#include <vector>

namespace nvalchemi {

// one number to and from each rank; collective

inline std::vector<int> transpose(MPI_Comm comm, const std::vector<int> &mine)
{
  std::vector<int> theirs(mine.size());
  NVALCHEMI_MPI(MPI_Alltoall(mine.data(), 1, MPI_INT, theirs.data(), 1, MPI_INT, comm));
  return theirs;
}

// first places of the parts in a buffer, and its whole length at the end

inline std::vector<int> starts_of(const std::vector<int> &counts)
{
  std::vector<int> starts(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), starts.begin() + 1);
  return starts;
}

// `for_rank` (nprocs,): what goes to each rank; returns what came from each. Collective.

template <typename Record> std::vector<std::vector<Record>>
deliver(MPI_Comm comm, const std::vector<std::vector<Record>> &for_rank)
{
  static_assert(std::is_trivially_copyable_v<Record>);
  std::vector<int> counts;
  std::vector<Record> packed;
  for (const auto &records : for_rank) {
    counts.push_back(static_cast<int>(records.size()));
    packed.insert(packed.end(), records.begin(), records.end());
  }
  const auto expected = transpose(comm, counts);
  const auto from = starts_of(counts), to = starts_of(expected);
  std::vector<Record> received(to.back());
  MPI_Datatype record;
  NVALCHEMI_MPI(MPI_Type_contiguous(sizeof(Record), MPI_BYTE, &record));
  NVALCHEMI_MPI(MPI_Type_commit(&record));
  NVALCHEMI_MPI(MPI_Alltoallv(packed.data(), counts.data(), from.data(), record, received.data(),
                              expected.data(), to.data(), record, comm));
  NVALCHEMI_MPI(MPI_Type_free(&record));
  std::vector<std::vector<Record>> by_rank;
  for (std::size_t rank = 0; rank < expected.size(); rank++)
    by_rank.emplace_back(received.begin() + to[rank], received.begin() + to[rank + 1]);
  return by_rank;
}

}    // namespace nvalchemi

#endif
