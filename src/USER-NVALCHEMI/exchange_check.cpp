// SPDX-License-Identifier: GPL-2.0-only

#include "exchange_check.h"

#include "mpi_exchange.h"
#include "model_graph.h"
#include "pair_nvalchemi.h"
#include "rank_agreement.h"

#include "atom.h"
#include "comm.h"
#include "lammps.h"

#include <mpi.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <stdexcept>

#include "potentials/validator/exchange_probe.hpp"

using namespace LAMMPS_NS;

namespace {

// by plain MPI, which has no part in the exchange

std::vector<nvalchemi::HaloRowName>
halo_rows_of_all_ranks(MPI_Comm comm, const nvalchemi::ProbedRows &rows, std::int64_t owned)
{
  int me, nprocs;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &nprocs);
  std::vector<nvalchemi::HaloRowName> mine;
  for (std::size_t row = owned; row < rows.atom_of_row.size(); row++)
    mine.push_back({me, static_cast<std::int64_t>(row), rows.atom_of_row[row]});

  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(nprocs), starts(nprocs, 0);
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
  std::partial_sum(counts.begin(), counts.end() - 1, starts.begin() + 1);
  std::vector<nvalchemi::HaloRowName> all(starts.back() + counts.back());
  MPI_Datatype name;
  MPI_Type_contiguous(sizeof(nvalchemi::HaloRowName), MPI_BYTE, &name);
  MPI_Type_commit(&name);
  MPI_Allgatherv(mine.data(), count, name, all.data(), counts.data(), starts.data(), name, comm);
  MPI_Type_free(&name);
  return all;
}

/* ---------------------------------------------------------------------- */

nvalchemi::ProbedRows named_rows(LAMMPS *lmp, const ModelGraph &graph)
{
  nvalchemi::ProbedRows rows;
  tagint largest = 0;
  for (std::int64_t row = 0; row < graph.graph().n_rows; row++) {
    rows.atom_of_row.push_back(graph.id_of_row(row, lmp->atom->tag));
    largest = std::max(largest, static_cast<tagint>(rows.atom_of_row.back()));
  }
  tagint of_all = 0;
  MPI_Allreduce(&largest, &of_all, 1, MPI_LMP_TAGINT, MPI_MAX, lmp->world);
  rows.atoms = of_all + 1;
  return rows;
}

// the lowest rank's text, where one has any

std::string first_text(MPI_Comm comm, const std::string &mine)
{
  int me, nprocs;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &nprocs);
  const int candidate = mine.empty() ? nprocs : me;
  int source = nprocs;
  MPI_Allreduce(&candidate, &source, 1, MPI_INT, MPI_MIN, comm);
  if (source == nprocs) return "";
  int length = static_cast<int>(mine.size());
  MPI_Bcast(&length, 1, MPI_INT, source, comm);
  std::string text = mine;
  text.resize(length);
  MPI_Bcast(&text[0], length, MPI_CHAR, source, comm);
  return text;
}

nvalchemi::PlanCheck of_all_ranks(MPI_Comm comm, const nvalchemi::PlanCheck &mine)
{
  std::int64_t counts[5] = {mine.halo_rows, mine.forward_wrong, mine.reverse_wrong, mine.rounded,
                            mine.sums_wrong};
  MPI_Allreduce(MPI_IN_PLACE, counts, 5, MPI_INT64_T, MPI_SUM, comm);
  nvalchemi::PlanCheck all;
  all.halo_rows = counts[0];
  all.forward_wrong = counts[1];
  all.reverse_wrong = counts[2];
  all.rounded = counts[3];
  all.sums_wrong = counts[4];
  all.first = first_text(comm, mine.first);
  all.good = nvalchemi::is_good(all);
  return all;
}

}    // namespace

/* ---------------------------------------------------------------------- */

nvalchemi::PlanCheck LAMMPS_NS::check_exchange(LAMMPS *lmp, PairNvalchemi *pair,
                                               std::string &failure)
{
  const auto used = pair->parts();
  nvalchemi::MpiExchange &exchange = used.exchange;
  const MPI_Comm comm = exchange.communicator();
  const auto rows = named_rows(lmp, used.graph);
  const auto sums =
      nvalchemi::returned_sums(halo_rows_of_all_ranks(comm, rows, used.graph.n_owned()));

  // a call of an evaluation, so that failures travel as they do there

  const auto calls = nvalchemi::thorough_probe_calls();
  nvalchemi::PlanCheck found;
  nvalchemi::RankOutcome outcome;
  exchange.begin_evaluation(calls, /*on_host=*/true);
  try {
    if (exchange.planted_fault() == nvalchemi::Fault::FailInCheck &&
        lmp->comm->me == lmp->comm->nprocs - 1)
      throw std::runtime_error("fault planted on purpose");
    nvalchemi::die_if(exchange.planted_fault(), nvalchemi::Fault::DieInCheck);
    found = nvalchemi::probe_exchange_thoroughly(exchange, rows, sums);
    exchange.end_evaluation();
  } catch (const std::exception &problem) {
    outcome.failure = problem.what();
    outcome.caused_by_peer = exchange.peer_failed();
    exchange.finish_poisoned();
  }
  failure = nvalchemi::agree_on_failure(comm, outcome);
  return failure.empty() ? of_all_ranks(comm, found) : nvalchemi::PlanCheck();
}
