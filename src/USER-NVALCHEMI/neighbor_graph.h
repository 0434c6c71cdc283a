// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   From a LAMMPS neighbour list to the rows and edges of a model.

   Re-neighbouring:  select_owned() -> ghosts learn their homes ->
                     select_candidates() -> halo plan -> place_ghosts()
   every step:       update()

   Rows [0, n_owned) are the owned atoms of a mapped type in the order of
   the list; halo rows follow. Edges are the pairs of a full list within
   the model's cutoff; their vectors come from LAMMPS's ghost positions,
   which carry the periodic shift.
------------------------------------------------------------------------- */

#ifndef LMP_NEIGHBOR_GRAPH_H
#define LMP_NEIGHBOR_GRAPH_H

#include "halo_plan.h"

#include <cstdint>
#include <vector>

#include "potentials/atom_graph.hpp"

namespace LAMMPS_NS {

class NeighList;

// LAMMPS's atoms on this rank, as they are now

struct AtomView {
  int nlocal = 0;
  int nall = 0;    // owned and ghost atoms
  const double *const *x = nullptr;
  const int *type = nullptr;
};

// what the model wants to see

struct GraphSettings {
  bool folded = true;
  bool wants_shifts = false;    // edge_shift and edge_cell_shift
  double cutoff = 0.0;          // in LAMMPS's length unit
  double angstrom_per_length = 1.0;
  std::vector<int> species_of_type;    // index: LAMMPS type (1..ntypes), -1: not mapped
};

class NeighborGraph {
 public:
  void configure(const GraphSettings &settings) { settings_ = settings; }
  const GraphSettings &settings() const { return settings_; }

  // row of every owned atom, -1 for atoms that are none of this style's

  const std::vector<std::int64_t> &select_owned(const NeighList &list, const AtomView &atoms);

  // pairs that can come within the cutoff before the next re-neighbouring; returns the ghosts that
  // occur in them, ascending

  const std::vector<int> &select_candidates(const NeighList &list, const AtomView &atoms,
                                            double skin);

  // give the ghosts of select_candidates() their rows, in the same order

  void place_ghosts(const std::vector<std::int64_t> &rows, std::int64_t total_rows);

  // the graph at the present positions; `h` is Domain::h. Valid until the next call. Throws
  // std::runtime_error if the atoms are not those of the last re-neighbouring.

  const nvalchemi::AtomGraph &update(const AtomView &atoms, const double *h);

  const nvalchemi::AtomGraph &graph() const { return graph_; }
  std::int64_t n_owned() const { return n_owned_; }

  // LAMMPS's index of the atom behind a row; of halo rows that stand for several ghosts, one of them

  int atom_of_row(std::int64_t row) const { return atom_of_row_[row]; }

  // LAMMPS's index of the sender of each edge: the very image that the edge vector points to

  const std::vector<int> &sender_atoms() const { return sender_atom_; }

  void plant_swapped_edges() { swap_halo_edges_ = true; }
  double memory_usage() const;

 private:
  void update_rows(const AtomView &atoms);
  void update_edges(const AtomView &atoms);
  void update_shifts();

  GraphSettings settings_;
  nvalchemi::AtomGraph graph_;
  std::int64_t n_owned_ = 0;
  int nlocal_ = -1, nall_ = -1;    // at the last re-neighbouring

  std::vector<std::int64_t> row_of_atom_;    // (nall,)
  std::vector<int> atom_of_row_;             // (n_rows,)
  std::vector<int> used_ghosts_;

  std::vector<std::size_t> first_candidate_;    // (n_owned + 1,)
  std::vector<int> candidate_;                  // sender atoms, receiver after receiver

  std::vector<std::int64_t> species_, receiver_, sender_, cell_shift_;
  std::vector<double> position_, vector_, shift_;
  std::vector<int> sender_atom_;
  bool swap_halo_edges_ = false;
};

}    // namespace LAMMPS_NS

#endif
