// SPDX-License-Identifier: GPL-2.0-only

#include "plan_check.h"

#include "gathered_system.h"
#include "mpi_check.h"
#include "mpi_exchange.h"
#include "model_graph.h"
#include "pair_nvalchemi.h"
#include "rank_agreement.h"

#include "atom.h"
#include "lammps.h"

#include "potentials/lattice.hpp"
#include "potentials/session.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

using namespace LAMMPS_NS;
using nvalchemi::ElementType;
using nvalchemi::MpiExchange;
using Kind = nvalchemi::ExchangeEvent::Kind;

namespace {

// the calls of each part below

using Calls = std::vector<nvalchemi::ExchangeEvent>;
const Calls FORWARD = {{Kind::Forward, 1, ElementType::Int64}, {Kind::Forward, 3}};
const Calls REVERSE = {{Kind::Reverse, 2}};
const Calls CORRECT = {{Kind::Reverse, 1}, {Kind::Forward, 1}};

// whether an evaluation makes calls of these kinds in a row

bool makes(const Calls &schedule, const std::vector<Kind> &kinds)
{
  const auto same = [](const nvalchemi::ExchangeEvent &event, Kind kind) {
    return event.kind == kind;
  };
  return std::search(schedule.begin(), schedule.end(), kinds.begin(), kinds.end(), same) !=
         schedule.end();
}

constexpr double NOTHING_YET = -1.0;
constexpr double PLACE_TOLERANCE = 1e-6;    // Angstrom; LAMMPS adds the shifts of ghosts in turn

class PlanCheck {
 public:
  PlanCheck(LAMMPS *lmp, PairNvalchemi *pair) :
      atom_(*lmp->atom), graph_(pair->parts().graph), exchange_(pair->parts().exchange),
      owned_(exchange_.owned_rows()), total_(exchange_.total_rows())
  {
    nvalchemi::WholeSystem box;
    copy_box(lmp, pair->angstrom_per_length(), box);
    lattice_ = nvalchemi::make_lattice(box.cell, box.periodic);
    length_ = pair->angstrom_per_length();
  }

  // each part is a piece of an evaluation if the model's evaluations have such calls; if not, it is
  // what brings forces home

  void run(const Calls &schedule)
  {
    in_evaluation(makes(schedule, {Kind::Forward}), FORWARD, [&] {
      forward_ids();
      forward_places();
    });
    in_evaluation(makes(schedule, {Kind::Reverse}), REVERSE, [&] { reverse_ones(); });
    in_evaluation(makes(schedule, {Kind::Reverse, Kind::Forward}), CORRECT, [&] { correct(); });
    if (wrong_ == 0) check_edges();
  }

  std::int64_t halo_rows() const { return total_ - owned_; }
  std::int64_t surplus() const { return surplus_; }
  std::int64_t wrong() const { return wrong_; }
  const std::string &first() const { return first_; }

 private:
  // the atom that LAMMPS says a row stands for

  std::int64_t id(std::int64_t row) const { return graph_.id_of_row(row, atom_.tag); }

  nvalchemi::RowBlock block(void *data, std::int64_t width, ElementType type) const
  {
    return {data, total_, width, type, -1};
  }

  void note(std::int64_t row, const std::string &got, const std::string &expected)
  {
    if (wrong_++ > 0) return;
    first_ = (row < owned_ ? "owned row " : "halo row ") + std::to_string(row) + " (atom id " +
             std::to_string(id(row)) + "): got " + got + ", expected " + expected;
  }

  template <typename Part>
  void in_evaluation(bool is_part_of_one, const Calls &calls, const Part &part)
  {
    if (is_part_of_one) exchange_.begin_evaluation(calls, /*on_host=*/true);
    part();
    if (is_part_of_one) exchange_.end_evaluation();
  }

  void forward_ids();
  void forward_places();
  void reverse_ones();
  void correct();
  void check_edges();

  const Atom &atom_;
  const ModelGraph &graph_;
  MpiExchange &exchange_;
  std::int64_t owned_, total_;
  nvalchemi::Lattice lattice_;
  double length_ = 1.0;
  std::vector<std::int64_t> ids_;    // as delivered
  std::vector<double> copies_;       // of owned rows
  std::int64_t surplus_ = 0;         // parts that came home, less those that left
  std::int64_t wrong_ = 0;
  std::string first_;
};

/* ---------------------------------------------------------------------- */

void PlanCheck::forward_ids()
{
  ids_.assign(total_, -1);
  for (std::int64_t row = 0; row < owned_; ++row) ids_[row] = id(row);
  exchange_.forward(block(ids_.data(), 1, ElementType::Int64));
  for (std::int64_t row = 0; row < total_; ++row)
    if (ids_[row] != id(row))
      note(row, ids_[row] < 0 ? "nothing" : "atom id " + std::to_string(ids_[row]),
           "its own id from a forward exchange");
}

/* ---------------------------------------------------------------------- */

void PlanCheck::forward_places()
{
  std::vector<double> places(3 * total_, NOTHING_YET);
  for (std::int64_t row = 0; row < owned_; ++row)
    for (int k = 0; k < 3; ++k) places[3 * row + k] = length_ * atom_.x[graph_.atom_of_row(row)][k];
  exchange_.forward(block(places.data(), 3, ElementType::Float64));

  for (std::int64_t row = owned_; row < total_; ++row) {
    if (graph_.atom_of_row(row) < 0) continue;    // no ghost to compare with
    const double *const x = atom_.x[graph_.atom_of_row(row)];
    nvalchemi::Vector3 apart;
    for (int k = 0; k < 3; ++k) apart[k] = length_ * x[k] - places[3 * row + k];
    const auto fractional = lattice_.fractional(apart);
    double rest = 0.0;
    for (int k = 0; k < 3; ++k) {
      const double images = lattice_.periodic[k] ? std::round(fractional[k]) : 0.0;
      rest = std::max(rest, std::fabs(fractional[k] - images) * lattice_.height(k));
    }
    if (!(rest <= PLACE_TOLERANCE))
      note(row, "the position of another place, " + std::to_string(rest) + " Angstrom away",
           "its owner's");
  }
}

/* ---------------------------------------------------------------------- */

void PlanCheck::reverse_ones()
{
  std::vector<double> sums(2 * total_, 0.0);
  for (std::int64_t row = owned_; row < total_; ++row) {
    sums[2 * row] = 1.0;
    sums[2 * row + 1] = static_cast<double>(id(row));
  }
  exchange_.reverse(block(sums.data(), 2, ElementType::Float64));

  surplus_ = -halo_rows();
  copies_.resize(owned_);
  for (std::int64_t row = 0; row < owned_; ++row) {
    copies_[row] = sums[2 * row];
    surplus_ += static_cast<std::int64_t>(copies_[row]);
    if (sums[2 * row + 1] != copies_[row] * static_cast<double>(id(row)))
      note(row, "parts of other atoms from a reverse exchange", "those of its own copies");
  }
  for (std::int64_t row = owned_; row < total_; ++row)
    if (sums[2 * row] != 0.0)
      note(row, "a part left behind by a reverse exchange", "zero after it went home");
}

/* ---------------------------------------------------------------------- */

void PlanCheck::correct()
{
  std::vector<double> sums(total_, 1.0);
  exchange_.reverse(block(sums.data(), 1, ElementType::Float64));
  exchange_.forward(block(sums.data(), 1, ElementType::Float64));
  for (std::int64_t row = 0; row < owned_; ++row)
    if (sums[row] != 1.0 + copies_[row])
      note(row, "a sum of " + std::to_string(sums[row]) + " from a reverse and a forward exchange",
           std::to_string(1.0 + copies_[row]));
  for (std::int64_t row = owned_; row < total_; ++row)
    if (sums[row] < 2.0) note(row, "no sum from a reverse and a forward exchange", "its owner's");
}

/* ----------------------------------------------------------------------
   the image that an edge points to and the row that it reads
------------------------------------------------------------------------- */

void PlanCheck::check_edges()
{
  const HostEdges edges = graph_.edges_on_host();
  for (std::int64_t edge = 0; edge < edges.count; ++edge) {
    const auto row = edges.sender[edge];
    const auto seen = atom_.tag[edges.sender_atom[edge]];
    if (ids_[row] != seen)
      note(row, "an edge from atom id " + std::to_string(seen),
           "edges from the atom that the row holds");
  }
}

}    // namespace

/* ---------------------------------------------------------------------- */

PlanVerdict LAMMPS_NS::check_plan(LAMMPS *lmp, PairNvalchemi *pair)
{
  MpiExchange &exchange = pair->parts().exchange;
  const MPI_Comm comm = exchange.communicator();
  PlanCheck check(lmp, pair);
  nvalchemi::RankOutcome outcome;
  try {
    check.run(pair->parts().session.schedule());
  } catch (const std::exception &problem) {
    outcome.failure = problem.what();
    outcome.caused_by_peer = exchange.peer_failed();
    exchange.finish_poisoned();
  }
  const std::string failure = nvalchemi::agree_on_failure(comm, outcome);
  if (!failure.empty()) throw std::runtime_error(failure);

  std::int64_t mine[3] = {check.halo_rows(), check.wrong(), check.surplus()}, all[3];
  NVALCHEMI_MPI(MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_SUM, comm));
  nvalchemi::RankOutcome found;
  found.failure = check.first();

  PlanVerdict verdict;
  verdict.halo_rows = all[0];
  verdict.wrong = all[1];
  verdict.first = nvalchemi::agree_on_failure(comm, found);
  if (all[2] == 0) return verdict;
  ++verdict.wrong;
  if (verdict.first.empty())
    verdict.first = "reverse exchange: got " + std::to_string(all[0] + all[2]) +
                    " parts at the owners of all ranks, expected " + std::to_string(all[0]) +
                    ", one from each copy";
  return verdict;
}
