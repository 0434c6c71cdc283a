// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Which rows a rank sends to and receives from each other rank.

     rank 0:  a0 a1 | b0'       receive_from {1: rows 2..2}   send_to {1: a1}
     rank 1:  b0 b1 | a1'       receive_from {0: rows 2..2}   send_to {0: b0}

   Halo rows are grouped by owner rank, so that a message goes straight
   into its place. Every owner is one hop away.
------------------------------------------------------------------------- */

#ifndef LMP_HALO_PLAN_H
#define LMP_HALO_PLAN_H

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nvalchemi {

// where a ghost atom is owned

struct GhostHome {
  int rank = 0;
  std::int64_t row = 0;
};

// a run of rows that goes to or comes from one rank

struct HaloMessage {
  int rank = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

struct HaloPlan {
  std::int64_t owned_rows = 0;
  std::int64_t total_rows = 0;
  std::vector<HaloMessage> receive_from;    // ascending ranks; halo rows [first, first + count)
  std::vector<HaloMessage> send_to;         // ascending ranks; send_rows [first, first + count)
  std::vector<std::int64_t> send_rows;      // owned rows, message after message
  HaloMessage own_copies;                   // halo rows that copy rows of this rank (raw rows only)
  std::vector<std::int64_t> own_rows;       // their sources
};

// Call received(k, row) for each row k that a reverse exchange receives and own(k, row) for each copy
// k of an own row, with the owned row that it is added to, in the order of ranks: the same
// decomposition gives the same bits, wherever the sum is made.

template <typename Received, typename Own>
void for_each_contribution(const HaloPlan &plan, const Received &received, const Own &own)
{
  const auto add_own_copies = [&] {
    for (std::size_t k = 0; k < plan.own_rows.size(); ++k)
      own(static_cast<std::int64_t>(k), plan.own_rows[k]);
  };
  bool own_copies_done = false;
  for (const HaloMessage &message : plan.send_to) {
    if (!own_copies_done && message.rank > plan.own_copies.rank) {
      add_own_copies();
      own_copies_done = true;
    }
    for (std::int64_t k = message.first; k < message.first + message.count; ++k)
      received(k, plan.send_rows[k]);
  }
  if (!own_copies_done) add_own_copies();
}

// The homes of all rows of all other ranks, rank after rank: the global number of a row is the number
// of rows on lower ranks plus its own. Collective over `comm`.

std::vector<GhostHome> homes_of_all_rows(MPI_Comm comm, std::int64_t owned_rows);

// `mine` (owned_rows,) followed by the values of the rows of homes_of_all_rows(). Collective.

std::vector<std::int64_t> gather_rows(MPI_Comm comm, const std::vector<std::int64_t> &mine);

struct HaloRows {
  HaloPlan plan;
  std::vector<std::int64_t> row_of_ghost;    // one for each entry of `homes`
};

// give each ghost in `homes` a row. Folded: all images of a remote atom share a halo row, and images
// of an own atom are that atom's row. Otherwise each ghost gets a halo row of its own.
// Collective over `comm`.

HaloRows build_halo_rows(MPI_Comm comm, std::int64_t owned_rows,
                         const std::vector<GhostHome> &homes, bool folded);

}    // namespace nvalchemi

#endif
