// SPDX-License-Identifier: GPL-2.0-only

#include "contribution.h"

#include <algorithm>

using namespace LAMMPS_NS;

namespace {

// LAMMPS's order of the nine products (position, force); the first six are the symmetric virial's

constexpr int FIRST[9] = {0, 1, 2, 0, 0, 1, 1, 2, 2};
constexpr int SECOND[9] = {0, 1, 2, 1, 2, 2, 0, 0, 1};

constexpr int VATOM_AT = 3;    // columns of a row: force, virial, centroid virial

}    // namespace

/* ---------------------------------------------------------------------- */

void Contribution::set_units(double energy_per_ev, double length_per_angstrom)
{
  energy_ = energy_per_ev;
  force_ = energy_per_ev / length_per_angstrom;
}

/* ---------------------------------------------------------------------- */

void Contribution::add(const NeighborGraph &graph, const nvalchemi::Evaluation &evaluation,
                       nvalchemi::HaloExchange &exchange, int nlocal, const ResultTargets &targets)
{
  graph_ = &graph;
  evaluation_ = &evaluation;
  nlocal_ = nlocal;

  add_energy(targets);
  if (targets.virial) add_virial(targets.virial);

  if (targets.ghosts_go_home && !targets.record) {
    scatter_to_atoms(targets);
    return;
  }
  scatter_to_rows(targets);
  nvalchemi::RowBlock block;
  block.data = rows_.data();
  block.rows = graph.graph().n_rows;
  block.width = width_;
  exchange.reverse(block);
  rows_to_atoms(targets);
  if (targets.record) fill_record(targets);
}

/* ---------------------------------------------------------------------- */

void Contribution::add_energy(const ResultTargets &targets)
{
  if (targets.energy) *targets.energy += energy_ * evaluation_->energy;
  if (!targets.eatom) return;
  for (std::int64_t row = 0; row < graph_->n_owned(); ++row)
    targets.eatom[graph_->atom_of_row(row)] += energy_ * evaluation_->atomic_energies[row];
}

/* ----------------------------------------------------------------------
   this rank's part: the model's own, or from edges, or from all rows
   (raw halo rows stand where their image is)
------------------------------------------------------------------------- */

void Contribution::add_virial(double virial[6])
{
  const nvalchemi::AtomGraph &graph = graph_->graph();
  if (evaluation_->has_model_virial) {
    for (int k = 0; k < 6; ++k)
      virial[k] += energy_ * evaluation_->virial[3 * FIRST[k] + SECOND[k]];
  } else if (sees_edges()) {
    for (std::int64_t edge = 0; edge < graph.n_edges; ++edge) {
      const double *r = graph.edge_vector + 3 * edge;
      const double *g = evaluation_->edge_gradients.data() + 3 * edge;
      for (int k = 0; k < 6; ++k) virial[k] -= energy_ * r[FIRST[k]] * g[SECOND[k]];
    }
  } else {
    for (std::int64_t row = 0; row < graph.n_rows; ++row) {
      const double *x = graph.position + 3 * row;
      const double *f = evaluation_->row_forces.data() + 3 * row;
      for (int k = 0; k < 6; ++k) virial[k] += energy_ * x[FIRST[k]] * f[SECOND[k]];
    }
  }
}

/* ----------------------------------------------------------------------
   Virial of an edge: w = -r (x) g. Six components: half to each end.
   Nine: where atom j pulls at the energies U_k of atoms at x_k,
     W_j = sum_k (x_k - x_j) (x) dU_k/dx_j,
   which is w to the sender, plus the moments m = sum_k (x_k - x_i) (x)
   dU_k/dr from the receiver i to the sender where U_k reaches further.
------------------------------------------------------------------------- */

void Contribution::add_edge(std::int64_t edge, const EdgeEnd &receiver, const EdgeEnd &sender) const
{
  const double *g = evaluation_->edge_gradients.data() + 3 * edge;
  for (int k = 0; k < 3; ++k) {
    receiver.force[k] += force_ * g[k];
    sender.force[k] -= force_ * g[k];
  }
  const double *r = graph_->graph().edge_vector + 3 * edge;
  if (receiver.virial)
    for (int k = 0; k < 6; ++k) {
      const double half = -0.5 * energy_ * r[FIRST[k]] * g[SECOND[k]];
      receiver.virial[k] += half;
      sender.virial[k] += half;
    }
  if (!receiver.centroid) return;
  for (int k = 0; k < 9; ++k) sender.centroid[k] -= energy_ * r[FIRST[k]] * g[SECOND[k]];
  if (evaluation_->edge_moments.empty()) return;
  const double *moment = evaluation_->edge_moments.data() + 9 * edge;
  for (int k = 0; k < 9; ++k) {
    const double m = energy_ * moment[3 * FIRST[k] + SECOND[k]];
    sender.centroid[k] += m;
    receiver.centroid[k] -= m;
  }
}

/* ----------------------------------------------------------------------
   straight to LAMMPS's atoms, ghosts included
------------------------------------------------------------------------- */

void Contribution::scatter_to_atoms(const ResultTargets &targets)
{
  const nvalchemi::AtomGraph &graph = graph_->graph();
  if (!sees_edges()) {
    for (std::int64_t row = 0; row < graph.n_rows; ++row)
      for (int k = 0; k < 3; ++k)
        targets.f[graph_->atom_of_row(row)][k] += force_ * evaluation_->row_forces[3 * row + k];
    return;
  }
  const auto end_at = [&](int i) {
    return EdgeEnd{targets.f[i], targets.vatom ? targets.vatom[i] : nullptr,
                   targets.cvatom ? targets.cvatom[i] : nullptr};
  };
  for (std::int64_t edge = 0; edge < graph.n_edges; ++edge)
    add_edge(edge, end_at(graph_->atom_of_row(graph.receiver[edge])),
             end_at(graph_->sender_atoms()[edge]));
}

/* ----------------------------------------------------------------------
   to this style's rows, for a journey home of all quantities together
------------------------------------------------------------------------- */

void Contribution::scatter_to_rows(const ResultTargets &targets)
{
  const nvalchemi::AtomGraph &graph = graph_->graph();
  const int cvatom_at = VATOM_AT + (wants_row_virials(targets) ? 6 : 0);
  width_ = cvatom_at + (targets.cvatom ? 9 : 0);
  rows_.assign(graph.n_rows * width_, 0.0);

  if (!sees_edges()) {
    for (std::int64_t row = 0; row < graph.n_rows; ++row)
      for (int k = 0; k < 3; ++k)
        rows_[row * width_ + k] = force_ * evaluation_->row_forces[3 * row + k];
    return;
  }
  const auto end_at = [&](std::int64_t row) {
    double *values = &rows_[row * width_];
    return EdgeEnd{values, wants_row_virials(targets) ? values + VATOM_AT : nullptr,
                   targets.cvatom ? values + cvatom_at : nullptr};
  };
  for (std::int64_t edge = 0; edge < graph.n_edges; ++edge)
    add_edge(edge, end_at(graph.receiver[edge]), end_at(graph.sender[edge]));
}

/* ---------------------------------------------------------------------- */

void Contribution::rows_to_atoms(const ResultTargets &targets)
{
  const int cvatom_at = VATOM_AT + (wants_row_virials(targets) ? 6 : 0);
  for (std::int64_t row = 0; row < graph_->n_owned(); ++row) {
    const int i = graph_->atom_of_row(row);
    const double *const values = &rows_[row * width_];
    for (int k = 0; k < 3; ++k) targets.f[i][k] += values[k];
    if (targets.vatom)
      for (int k = 0; k < 6; ++k) targets.vatom[i][k] += values[VATOM_AT + k];
    if (targets.cvatom)
      for (int k = 0; k < 9; ++k) targets.cvatom[i][k] += values[cvatom_at + k];
  }
}

/* ---------------------------------------------------------------------- */

void Contribution::fill_record(const ResultTargets &targets)
{
  NvalchemiContribution &record = *targets.record;
  record.energy = energy_ * evaluation_->energy;
  record.atomic_energies.assign(nlocal_, 0.0);
  record.forces.assign(3 * nlocal_, 0.0);
  record.virials.assign(targets.record_virials ? 6 * nlocal_ : 0, 0.0);
  std::fill(record.virial, record.virial + 6, 0.0);
  add_virial(record.virial);

  const bool has_energies =
      evaluation_->atomic_energies.size() == static_cast<std::size_t>(graph_->n_owned());
  for (std::int64_t row = 0; row < graph_->n_owned(); ++row) {
    const int i = graph_->atom_of_row(row);
    if (has_energies) record.atomic_energies[i] = energy_ * evaluation_->atomic_energies[row];
    for (int k = 0; k < 3; ++k) record.forces[3 * i + k] = rows_[row * width_ + k];
    if (targets.record_virials)
      std::copy_n(&rows_[row * width_ + VATOM_AT], 6, &record.virials[6 * i]);
  }
}
