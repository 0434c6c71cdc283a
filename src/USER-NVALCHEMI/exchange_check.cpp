// SPDX-License-Identifier: GPL-2.0-only

#include "exchange_check.h"

#include "fault_injection.h"
#include "mpi_check.h"
#include "mpi_exchange.h"
#include "model_graph.h"
#include "pair_nvalchemi.h"
#include "rank_agreement.h"
#include "rank_mail.h"

#include "atom.h"
#include "comm.h"
#include "lammps.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <map>
#include <stdexcept>

#include "potentials/session.hpp"
#include "potentials/staged_exchange.hpp"
#include "potentials/validator/exchange_probe.hpp"

using namespace LAMMPS_NS;

namespace {

constexpr double PLACE_TOLERANCE = 1e-6;    // Angstrom

// Of an atom, over the edges with it at either end: cutoff - length, counted as negative where it is
// the sender, and that times the vector. Zero if each edge exists the other way, too. The weight
// forgives what rounding makes of an edge as long as the cutoff.

using EdgeBalance = std::array<double, 4>;

struct AtomBalance {
  std::int64_t atom;
  EdgeBalance balance;
};

// what the owner of an atom must receive

struct AtomSum {
  std::int64_t atom;
  double sum;
};

/* ----------------------------------------------------------------------
   by plain MPI, which has no part in the exchange: each atom has a desk on
   one rank, where its halo rows announce themselves and all of its rows ask
------------------------------------------------------------------------- */

nvalchemi::ReturnedSums sums_of_rows(MPI_Comm comm, const nvalchemi::ProbedRows &rows,
                                     std::int64_t owned)
{
  int me, nprocs;
  NVALCHEMI_MPI(MPI_Comm_rank(comm, &me));
  NVALCHEMI_MPI(MPI_Comm_size(comm, &nprocs));
  const auto &atom_of_row = rows.atom_of_row;
  std::vector<std::vector<nvalchemi::HaloRowName>> names(nprocs);
  for (auto row = owned; row < static_cast<std::int64_t>(atom_of_row.size()); row++)
    names[atom_of_row[row] % nprocs].push_back({me, row, atom_of_row[row]});
  std::vector<std::vector<AtomSum>> asked(nprocs);
  for (const auto atom : atom_of_row) asked[atom % nprocs].push_back({atom, 0.0});

  std::vector<nvalchemi::HaloRowName> announced;
  for (const auto &from : nvalchemi::deliver(comm, names))
    announced.insert(announced.end(), from.begin(), from.end());
  const auto desk = nvalchemi::returned_sums(announced);
  auto questions = nvalchemi::deliver(comm, asked);
  for (auto &from : questions)
    for (auto &question : from) {
      const auto found = desk.find(question.atom);
      if (found != desk.end()) question.sum = found->second;
    }
  nvalchemi::ReturnedSums sums;
  for (const auto &from : nvalchemi::deliver(comm, questions))
    for (const auto &answer : from) sums[answer.atom] = answer.sum;
  return sums;
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

/* ----------------------------------------------------------------------
   the image that an edge points to, the row that it reads, its vector
------------------------------------------------------------------------- */

void check_edges(LAMMPS *lmp, const ModelGraph &graph, const nvalchemi::ProbedRows &rows,
                 nvalchemi::PlanCheck &found)
{
  const HostEdges edges = graph.edges_on_host();
  const double *const *x = lmp->atom->x;
  const double length = graph.settings().angstrom_per_length;
  const auto is_between = [&](std::int64_t edge) {
    const double *const from = x[graph.atom_of_row(edges.receiver[edge])];
    const double *const to = x[edges.sender_atom[edge]];
    for (int k = 0; k < 3; ++k)
      if (!(std::fabs(edges.vector[3 * edge + k] - length * (to[k] - from[k])) <= PLACE_TOLERANCE))
        return false;
    return true;
  };
  for (std::int64_t edge = 0; edge < edges.count; ++edge) {
    const auto seen = lmp->atom->tag[edges.sender_atom[edge]];
    const auto read = rows.atom_of_row[edges.sender[edge]];
    if (seen == read && is_between(edge)) continue;
    ++found.edges_wrong;
    if (!found.first.empty()) continue;
    found.first = "an edge from atom " + std::to_string(seen);
    if (seen != read)
      found.first += " reads the row of atom " + std::to_string(read);
    else
      found.first += " to atom " + std::to_string(rows.atom_of_row[edges.receiver[edge]]) +
                     " has another vector than lies between them";
  }
  found.good = nvalchemi::is_good(found);
}

/* ----------------------------------------------------------------------
   by plain MPI: each atom has a desk, as above. An edge that one end has
   and the other has not shows at both.
------------------------------------------------------------------------- */

void pair_edges(MPI_Comm comm, const HostEdges &edges, const nvalchemi::ProbedRows &rows,
                double cutoff, nvalchemi::PlanCheck &found)
{
  std::map<std::int64_t, EdgeBalance> mine, desk;
  for (std::int64_t edge = 0; edge < edges.count; ++edge) {
    const double *const v = edges.vector + 3 * edge;
    const double weight = cutoff - std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    auto &receiver = mine[rows.atom_of_row[edges.receiver[edge]]];
    auto &sender = mine[rows.atom_of_row[edges.sender[edge]]];
    receiver[3] += weight;
    sender[3] -= weight;
    for (int k = 0; k < 3; ++k) {
      receiver[k] += weight * v[k];
      sender[k] += weight * v[k];
    }
  }
  int nprocs;
  NVALCHEMI_MPI(MPI_Comm_size(comm, &nprocs));
  std::vector<std::vector<AtomBalance>> sent(nprocs);
  for (const auto &[atom, balance] : mine) sent[atom % nprocs].push_back({atom, balance});
  for (const auto &from : nvalchemi::deliver(comm, sent))
    for (const auto &part : from)
      for (int k = 0; k < 4; ++k) desk[part.atom][k] += part.balance[k];
  for (const auto &[atom, balance] : desk) {
    if (std::all_of(balance.begin(), balance.end(),
                    [](double sum) { return std::fabs(sum) <= PLACE_TOLERANCE; }))
      continue;
    ++found.edges_alone;
    if (found.first.empty())
      found.first = "atom " + std::to_string(atom) +
                    " has an edge to or from another atom that does not exist the other way";
  }
}

nvalchemi::PlanCheck of_all_ranks(MPI_Comm comm, const nvalchemi::PlanCheck &mine)
{
  std::int64_t counts[7] = {mine.halo_rows,  mine.forward_wrong, mine.reverse_wrong, mine.rounded,
                            mine.sums_wrong, mine.edges_wrong,   mine.edges_alone};
  NVALCHEMI_MPI(MPI_Allreduce(MPI_IN_PLACE, counts, 7, MPI_INT64_T, MPI_SUM, comm));
  nvalchemi::PlanCheck all;
  all.halo_rows = counts[0];
  all.forward_wrong = counts[1];
  all.reverse_wrong = counts[2];
  all.rounded = counts[3];
  all.sums_wrong = counts[4];
  all.edges_wrong = counts[5];
  all.edges_alone = counts[6];
  all.first = nvalchemi::agree_on_failure(comm, {mine.first});
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
  const auto sums = sums_of_rows(comm, rows, used.graph.n_owned());

  // a call of an evaluation, so that failures travel as they do there

  const auto calls = nvalchemi::thorough_probe_calls();
  const int device = exchange.row_device();
  nvalchemi::StagedExchange staged(exchange.for_model(), device);
  nvalchemi::PlanCheck found;
  nvalchemi::RankOutcome outcome;
  exchange.use_stream(nullptr);
  exchange.begin_evaluation(calls, /*on_host=*/device < 0);
  try {
    if (used.faults.has(nvalchemi::Fault::FailInCheck, lmp->comm->me) &&
        lmp->comm->me == lmp->comm->nprocs - 1)
      throw std::runtime_error("fault planted on purpose");
    nvalchemi::die_if(used.faults, nvalchemi::Fault::DieInCheck, lmp->comm->me);
    found = nvalchemi::probe_exchange_thoroughly(staged, rows, sums);
    exchange.end_evaluation();
    check_edges(lmp, used.graph, rows, found);
  } catch (const std::exception &problem) {
    outcome.failure = problem.what();
    outcome.caused_by_peer = exchange.peer_failed();
    exchange.finish_poisoned();
  }
  failure = nvalchemi::agree_on_failure(comm, outcome);
  if (!failure.empty()) return {};
  pair_edges(comm, used.graph.edges_on_host(), rows, used.session.card().cutoff, found);
  return of_all_ranks(comm, found);
}
