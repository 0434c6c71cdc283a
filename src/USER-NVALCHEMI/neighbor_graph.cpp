// SPDX-License-Identifier: GPL-2.0-only

#include "neighbor_graph.h"

#include "neigh_list.h"

#include <algorithm>
#include <cmath>

using namespace LAMMPS_NS;

/* ---------------------------------------------------------------------- */

const std::vector<std::int64_t> &NeighborGraph::select_owned(const NeighList &list,
                                                             const AtomView &atoms)
{
  nlocal_ = atoms.nlocal;
  nall_ = atoms.nall;
  row_of_atom_.assign(nall_, -1);
  atom_of_row_.clear();
  for (int k = 0; k < list.inum; ++k) {
    const int i = list.ilist[k];
    if (settings_.species_of_type[atoms.type[i]] < 0) continue;
    row_of_atom_[i] = static_cast<std::int64_t>(atom_of_row_.size());
    atom_of_row_.push_back(i);
  }
  n_owned_ = static_cast<std::int64_t>(atom_of_row_.size());
  return row_of_atom_;
}

/* ----------------------------------------------------------------------
   the list may reach further than this model does (hybrid/overlay)
------------------------------------------------------------------------- */

const std::vector<int> &NeighborGraph::select_candidates(const NeighList &list,
                                                         const AtomView &atoms, double skin)
{
  const double reach_squared = std::pow(settings_.cutoff + skin, 2);
  std::vector<char> used(nall_, 0);
  candidate_.clear();
  first_candidate_.assign(1, 0);

  for (std::int64_t row = 0; row < n_owned_; ++row) {
    const int i = atom_of_row_[row];
    const int *neighbors = list.firstneigh[i];
    for (int k = 0; k < list.numneigh[i]; ++k) {
      const int j = neighbors[k] & NEIGHMASK;
      if (settings_.species_of_type[atoms.type[j]] < 0) continue;
      const double dx = atoms.x[j][0] - atoms.x[i][0];
      const double dy = atoms.x[j][1] - atoms.x[i][1];
      const double dz = atoms.x[j][2] - atoms.x[i][2];
      if (dx * dx + dy * dy + dz * dz > reach_squared) continue;
      candidate_.push_back(j);
      used[j] = 1;
    }
    first_candidate_.push_back(candidate_.size());
  }

  used_ghosts_.clear();
  for (int j = nlocal_; j < nall_; ++j)
    if (used[j]) used_ghosts_.push_back(j);
  return used_ghosts_;
}

/* ---------------------------------------------------------------------- */

void NeighborGraph::place_ghosts(const std::vector<std::int64_t> &rows, std::int64_t total_rows)
{
  ModelGraph::place_ghosts(rows, total_rows);
  species_.resize(total_rows);
  position_.resize(3 * total_rows);
  if (settings_.wants_charges) charge_.resize(total_rows);
  receiver_.resize(candidate_.size());
  sender_.resize(candidate_.size());
  sender_atom_.resize(candidate_.size());
  vector_.resize(3 * candidate_.size());
  if (settings_.wants_shifts) {
    shift_.resize(3 * candidate_.size());
    cell_shift_.resize(3 * candidate_.size());
  }
}

/* ----------------------------------------------------------------------
   types are read anew: Monte Carlo fixes swap them between steps
------------------------------------------------------------------------- */

void NeighborGraph::fill_rows(const AtomView &atoms, std::int64_t count)
{
  const double scale = settings_.angstrom_per_length;
  const bool charged = settings_.wants_charges && atoms.q;
  for (std::int64_t row = 0; row < count; ++row) {
    const int i = atom_of_row_[row];

    // as LAMMPS's own styles do: whoever changes charges brings those of ghosts up to date

    if (charged) charge_[row] = i < 0 ? 0.0 : atoms.q[i];
    if (i < 0) {    // no edge leads there
      species_[row] = 0;
      for (int k = 0; k < 3; ++k) position_[3 * row + k] = 0.0;
      continue;
    }
    species_[row] = settings_.species_of_type[atoms.type[i]];
    for (int k = 0; k < 3; ++k) position_[3 * row + k] = scale * atoms.x[i][k];
  }
}

/* ---------------------------------------------------------------------- */

void NeighborGraph::replicate(const AtomView &atoms, nvalchemi::HaloExchange &exchange)
{
  const std::int64_t total = static_cast<std::int64_t>(atom_of_row_.size());
  fill_rows(atoms, n_owned_);
  exchange.forward({species_.data(), total, 1, nvalchemi::ElementType::Int64, -1});
  exchange.forward({position_.data(), total, 3, nvalchemi::ElementType::Float64, -1});
  if (settings_.wants_charges && atoms.q)
    exchange.forward({charge_.data(), total, 1, nvalchemi::ElementType::Float64, -1});
}

/* ---------------------------------------------------------------------- */

void NeighborGraph::update_rows(const AtomView &atoms)
{
  if (!settings_.replicates_geometry) fill_rows(atoms, graph_.n_rows);
  for (std::int64_t row = 0; row < graph_.n_rows; ++row)
    if (species_[row] < 0) refuse_type(atom_of_row_[row] < 0 ? 0 : atoms.type[atom_of_row_[row]]);
  graph_.species = species_.data();
  graph_.position = position_.data();
  if (settings_.wants_charges && atoms.q) graph_.charge = charge_.data();
}

/* ---------------------------------------------------------------------- */

void NeighborGraph::update_edges(const AtomView &atoms)
{
  const double scale = settings_.angstrom_per_length;
  const double cutoff_squared = settings_.cutoff * settings_.cutoff;
  std::size_t edge = 0;
  for (std::int64_t row = 0; row < n_owned_; ++row) {
    const double *const xi = atoms.x[atom_of_row_[row]];
    for (std::size_t k = first_candidate_[row]; k < first_candidate_[row + 1]; ++k) {
      const int j = candidate_[k];
      const double dx = atoms.x[j][0] - xi[0];
      const double dy = atoms.x[j][1] - xi[1];
      const double dz = atoms.x[j][2] - xi[2];
      if (dx * dx + dy * dy + dz * dz >= cutoff_squared) continue;
      receiver_[edge] = row;
      sender_[edge] = row_of_atom_[j];
      sender_atom_[edge] = j;
      vector_[3 * edge] = scale * dx;
      vector_[3 * edge + 1] = scale * dy;
      vector_[3 * edge + 2] = scale * dz;
      ++edge;
    }
  }
  graph_.n_edges = static_cast<std::int64_t>(edge);
  if (faults_.planted())
    plant_in({n_owned_, graph_.n_rows, &graph_.n_edges, receiver_.data(), sender_.data(),
              sender_atom_.data(), vector_.data(), position_.data(), graph_.cell},
             faults_, faulty_rank_);
  graph_.receiver = receiver_.data();
  graph_.sender = sender_.data();
  graph_.edge_vector = vector_.data();
}

/* ---------------------------------------------------------------------- */

void NeighborGraph::plant(const nvalchemi::Faults &faults, int rank)
{
  faults_ = faults;
  faulty_rank_ = rank;
}

/* ----------------------------------------------------------------------
   lattice translation between the sender's row, which may show another
   image, and the image at the end of the edge. Raw rows have none.
------------------------------------------------------------------------- */

void NeighborGraph::update_shifts()
{
  if (!settings_.folded) {
    std::fill(shift_.begin(), shift_.end(), 0.0);
    std::fill(cell_shift_.begin(), cell_shift_.end(), 0);
  } else {
    const double *const cell = graph_.cell;
    for (std::int64_t edge = 0; edge < graph_.n_edges; ++edge) {
      const double *const from = &position_[3 * receiver_[edge]];
      const double *const to = &position_[3 * sender_[edge]];
      double rest[3];
      for (int k = 0; k < 3; ++k) rest[k] = vector_[3 * edge + k] - (to[k] - from[k]);

      // the cell is lower triangular: solve from its last lattice vector

      for (int axis = 2; axis >= 0; --axis) {
        const double count = std::round(rest[axis] / cell[4 * axis]);
        cell_shift_[3 * edge + axis] = static_cast<std::int64_t>(count);
        for (int k = 0; k < 3; ++k) rest[k] -= count * cell[3 * axis + k];
      }
      for (int k = 0; k < 3; ++k) {
        shift_[3 * edge + k] = 0.0;
        for (int axis = 0; axis < 3; ++axis)
          shift_[3 * edge + k] += cell_shift_[3 * edge + axis] * cell[3 * axis + k];
      }
    }
  }
  graph_.edge_shift = settings_.folded ? shift_.data() : nullptr;
  graph_.edge_cell_shift = cell_shift_.data();
}

/* ---------------------------------------------------------------------- */

std::int64_t NeighborGraph::first_not_finite(const nvalchemi::Evaluation &evaluation) const
{
  for (std::size_t k = 0; k < evaluation.edge_gradients.size(); ++k)
    if (!std::isfinite(evaluation.edge_gradients[k])) return receiver_[k / 3];
  for (std::size_t k = 0; k < evaluation.row_forces.size(); ++k)
    if (!std::isfinite(evaluation.row_forces[k])) return static_cast<std::int64_t>(k / 3);
  return -1;
}

/* ---------------------------------------------------------------------- */

HostEdges NeighborGraph::edges_on_host() const
{
  return {graph_.n_edges, receiver_.data(), sender_.data(), vector_.data(), sender_atom_.data()};
}

/* ---------------------------------------------------------------------- */

double NeighborGraph::memory_usage() const
{
  const auto bytes = [](const auto &values) {
    return double(values.capacity()) * sizeof(values[0]);
  };
  return ModelGraph::memory_usage() + bytes(first_candidate_) + bytes(candidate_) +
         bytes(species_) + bytes(receiver_) + bytes(sender_) + bytes(cell_shift_) +
         bytes(position_) + bytes(charge_) + bytes(vector_) + bytes(shift_) + bytes(sender_atom_);
}
