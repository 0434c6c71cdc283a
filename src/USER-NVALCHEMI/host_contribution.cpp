// SPDX-License-Identifier: GPL-2.0-only

#include "host_contribution.h"

using namespace LAMMPS_NS;

/* ---------------------------------------------------------------------- */

void HostContribution::add_atomic_energies(const ResultTargets &targets)
{
  for (std::int64_t row = 0; row < graph_.n_owned(); ++row)
    targets.eatom[graph_.atom_of_row(row)] += energy_ * evaluation_->atomic_energies[row];
}

/* ----------------------------------------------------------------------
   from edges, or from all rows (raw halo rows stand where their image is)
------------------------------------------------------------------------- */

void HostContribution::add_virial(double virial[6])
{
  const nvalchemi::AtomGraph &graph = graph_.graph();
  if (sees_edges()) {
    for (std::int64_t edge = 0; edge < graph.n_edges; ++edge) {
      const double *r = graph.edge_vector + 3 * edge;
      const double *g = evaluation_->edge_gradients.data() + 3 * edge;
      for (int k = 0; k < 6; ++k) virial[k] -= energy_ * r[VIRIAL_FIRST[k]] * g[VIRIAL_SECOND[k]];
    }
  } else {
    for (std::int64_t row = 0; row < graph.n_rows; ++row) {
      const double *x = graph.position + 3 * row;
      const double *f = evaluation_->row_forces.data() + 3 * row;
      for (int k = 0; k < 6; ++k) virial[k] += energy_ * x[VIRIAL_FIRST[k]] * f[VIRIAL_SECOND[k]];
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

void HostContribution::add_edge(std::int64_t edge, const EdgeEnd &receiver,
                                const EdgeEnd &sender) const
{
  const double *g = evaluation_->edge_gradients.data() + 3 * edge;
  for (int k = 0; k < 3; ++k) {
    receiver.force[k] += force_ * g[k];
    sender.force[k] -= force_ * g[k];
  }
  const double *r = graph_.graph().edge_vector + 3 * edge;
  if (receiver.virial)
    for (int k = 0; k < 6; ++k) {
      const double half = -0.5 * energy_ * r[VIRIAL_FIRST[k]] * g[VIRIAL_SECOND[k]];
      receiver.virial[k] += half;
      sender.virial[k] += half;
    }
  if (!receiver.centroid) return;
  for (int k = 0; k < 9; ++k)
    sender.centroid[k] -= energy_ * r[VIRIAL_FIRST[k]] * g[VIRIAL_SECOND[k]];
  if (evaluation_->edge_moments.empty()) return;
  const double *moment = evaluation_->edge_moments.data() + 9 * edge;
  for (int k = 0; k < 9; ++k) {
    const double m = energy_ * moment[3 * VIRIAL_FIRST[k] + VIRIAL_SECOND[k]];
    sender.centroid[k] += m;
    receiver.centroid[k] -= m;
  }
}

/* ----------------------------------------------------------------------
   straight to LAMMPS's atoms, ghosts included
------------------------------------------------------------------------- */

void HostContribution::scatter_to_atoms(const ResultTargets &targets)
{
  const nvalchemi::AtomGraph &graph = graph_.graph();
  if (sees_rows())
    for (std::int64_t row = 0; row < graph.n_rows; ++row)
      for (int k = 0; k < 3; ++k)
        targets.f[graph_.atom_of_row(row)][k] += force_ * evaluation_->row_forces[3 * row + k];
  if (!sees_edges()) return;
  const auto end_at = [&](int i) {
    return EdgeEnd{targets.f[i], targets.vatom ? targets.vatom[i] : nullptr,
                   targets.cvatom ? targets.cvatom[i] : nullptr};
  };
  for (std::int64_t edge = 0; edge < graph.n_edges; ++edge)
    add_edge(edge, end_at(graph_.atom_of_row(graph.receiver[edge])),
             end_at(graph_.sender_atoms()[edge]));
}

/* ----------------------------------------------------------------------
   to this style's rows, for a journey home of all quantities together
------------------------------------------------------------------------- */

nvalchemi::RowBlock HostContribution::scatter_to_rows(const ResultTargets &targets)
{
  const nvalchemi::AtomGraph &graph = graph_.graph();
  rows_.assign(graph.n_rows * width_, 0.0);
  nvalchemi::RowBlock block;
  block.data = rows_.data();
  block.rows = graph.n_rows;
  block.width = width_;

  if (sees_rows())
    for (std::int64_t row = 0; row < graph.n_rows; ++row)
      for (int k = 0; k < 3; ++k)
        rows_[row * width_ + k] = force_ * evaluation_->row_forces[3 * row + k];
  if (!sees_edges()) return block;
  const auto end_at = [&](std::int64_t row) {
    double *values = &rows_[row * width_];
    return EdgeEnd{values, wants_row_virials(targets) ? values + VATOM_AT : nullptr,
                   targets.cvatom ? values + cvatom_at_ : nullptr};
  };
  for (std::int64_t edge = 0; edge < graph.n_edges; ++edge)
    add_edge(edge, end_at(graph.receiver[edge]), end_at(graph.sender[edge]));
  return block;
}

/* ---------------------------------------------------------------------- */

void HostContribution::rows_to_atoms(const ResultTargets &targets)
{
  for (std::int64_t row = 0; row < graph_.n_owned(); ++row) {
    const int i = graph_.atom_of_row(row);
    const double *const values = &rows_[row * width_];
    for (int k = 0; k < 3; ++k) targets.f[i][k] += values[k];
    if (targets.vatom)
      for (int k = 0; k < 6; ++k) targets.vatom[i][k] += values[VATOM_AT + k];
    if (targets.cvatom)
      for (int k = 0; k < 9; ++k) targets.cvatom[i][k] += values[cvatom_at_ + k];
  }
}
