// SPDX-License-Identifier: GPL-2.0-only

#include "halo_plan.h"

#include "mpi_check.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace nvalchemi {

namespace {

constexpr int LIST_TAG = 1;

/* ---------------------------------------------------------------------- */

std::vector<std::size_t> order_by_home(const std::vector<GhostHome> &homes)
{
  std::vector<std::size_t> order(homes.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(homes[a].rank, homes[a].row, a) < std::tie(homes[b].rank, homes[b].row, b);
  });
  return order;
}

/* ----------------------------------------------------------------------
   number the halo rows; `wanted` lists the owner's row of each
------------------------------------------------------------------------- */

void number_rows(int me, const std::vector<GhostHome> &homes, bool folded, HaloRows &rows,
                 std::vector<std::int64_t> &wanted)
{
  HaloPlan &plan = rows.plan;
  rows.row_of_ghost.assign(homes.size(), -1);
  plan.total_rows = plan.owned_rows;
  plan.own_copies.rank = me;

  const GhostHome *previous = nullptr;
  for (const std::size_t ghost : order_by_home(homes)) {
    const GhostHome &home = homes[ghost];
    if (folded && home.rank == me) {
      rows.row_of_ghost[ghost] = home.row;
      continue;
    }
    const bool repeats = previous && previous->rank == home.rank && previous->row == home.row;
    if (!(folded && repeats)) {
      HaloMessage *message = &plan.own_copies;
      if (home.rank != me) {
        if (plan.receive_from.empty() || plan.receive_from.back().rank != home.rank)
          plan.receive_from.push_back({home.rank, plan.total_rows, 0});
        message = &plan.receive_from.back();
      } else if (message->count == 0) {
        message->first = plan.total_rows;
      }
      ++message->count;
      ++plan.total_rows;
      (home.rank == me ? plan.own_rows : wanted).push_back(home.row);
    }
    rows.row_of_ghost[ghost] = plan.total_rows - 1;
    previous = &home;
  }
}

/* ----------------------------------------------------------------------
   tell each owner which of its rows this rank wants, in this rank's order
------------------------------------------------------------------------- */

void exchange_lists(MPI_Comm comm, const std::vector<std::int64_t> &wanted, HaloPlan &plan)
{
  int nprocs;
  NVALCHEMI_MPI(MPI_Comm_size(comm, &nprocs));
  std::vector<std::int64_t> ask(nprocs, 0), asked(nprocs, 0);
  for (const HaloMessage &message : plan.receive_from) ask[message.rank] = message.count;
  NVALCHEMI_MPI(MPI_Alltoall(ask.data(), 1, MPI_INT64_T, asked.data(), 1, MPI_INT64_T, comm));

  std::int64_t total = 0;
  for (int rank = 0; rank < nprocs; ++rank) {
    if (asked[rank] == 0) continue;
    plan.send_to.push_back({rank, total, asked[rank]});
    total += asked[rank];
  }
  plan.send_rows.resize(total);

  std::vector<MPI_Request> requests;
  for (const HaloMessage &message : plan.send_to)
    NVALCHEMI_MPI(MPI_Irecv(plan.send_rows.data() + message.first, static_cast<int>(message.count),
                            MPI_INT64_T, message.rank, LIST_TAG, comm, &requests.emplace_back()));
  std::int64_t first = 0;
  for (const HaloMessage &message : plan.receive_from) {
    NVALCHEMI_MPI(MPI_Isend(wanted.data() + first, static_cast<int>(message.count), MPI_INT64_T,
                            message.rank, LIST_TAG, comm, &requests.emplace_back()));
    first += message.count;
  }
  NVALCHEMI_MPI(
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
}

/* ---------------------------------------------------------------------- */

std::vector<std::int64_t> rows_of_ranks(MPI_Comm comm, std::int64_t owned_rows)
{
  int nprocs;
  NVALCHEMI_MPI(MPI_Comm_size(comm, &nprocs));
  std::vector<std::int64_t> counts(nprocs);
  NVALCHEMI_MPI(MPI_Allgather(&owned_rows, 1, MPI_INT64_T, counts.data(), 1, MPI_INT64_T, comm));
  return counts;
}

}    // namespace

/* ---------------------------------------------------------------------- */

std::vector<GhostHome> homes_of_all_rows(MPI_Comm comm, std::int64_t owned_rows)
{
  int me;
  NVALCHEMI_MPI(MPI_Comm_rank(comm, &me));
  const std::vector<std::int64_t> counts = rows_of_ranks(comm, owned_rows);
  std::vector<GhostHome> homes;
  for (int rank = 0; rank < static_cast<int>(counts.size()); ++rank)
    for (std::int64_t row = 0; rank != me && row < counts[rank]; ++row)
      homes.push_back({rank, row});
  return homes;
}

/* ---------------------------------------------------------------------- */

std::vector<std::int64_t> gather_rows(MPI_Comm comm, const std::vector<std::int64_t> &mine)
{
  int me;
  NVALCHEMI_MPI(MPI_Comm_rank(comm, &me));
  const std::vector<std::int64_t> rows = rows_of_ranks(comm, mine.size());
  std::vector<int> counts(rows.begin(), rows.end()), offsets(rows.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, offsets.begin() + 1);
  std::vector<std::int64_t> all(offsets.back() + counts.back());
  NVALCHEMI_MPI(MPI_Allgatherv(mine.data(), counts[me], MPI_INT64_T, all.data(), counts.data(),
                               offsets.data(), MPI_INT64_T, comm));

  // the own block first, the others keep their order

  std::rotate(all.begin(), all.begin() + offsets[me], all.begin() + offsets[me] + counts[me]);
  return all;
}

/* ---------------------------------------------------------------------- */

HaloRows build_halo_rows(MPI_Comm comm, std::int64_t owned_rows,
                         const std::vector<GhostHome> &homes, bool folded)
{
  int me;
  NVALCHEMI_MPI(MPI_Comm_rank(comm, &me));

  HaloRows rows;
  rows.plan.owned_rows = owned_rows;
  std::vector<std::int64_t> wanted;
  number_rows(me, homes, folded, rows, wanted);
  exchange_lists(comm, wanted, rows.plan);
  return rows;
}

}    // namespace nvalchemi
