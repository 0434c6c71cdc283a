// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Rows and edges of a model on this rank, in the memory where LAMMPS keeps
   its atoms: the host's (NeighborGraph) or that of Kokkos.

   Re-neighbouring:  select_owned() -> ghosts learn their homes ->
                     select_candidates() -> halo plan -> place_ghosts()
   every step:       update()

   Rows [0, n_owned) are the owned atoms of a mapped type in the order of
   the list; halo rows follow. Edges are the pairs of a full list within
   the model's cutoff; their vectors come from LAMMPS's ghost positions,
   which carry the periodic shift.
------------------------------------------------------------------------- */

#ifndef LMP_MODEL_GRAPH_H
#define LMP_MODEL_GRAPH_H

#include "fault_injection.h"
#include "given_inputs.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/halo_exchange.hpp"
#include "potentials/atom_graph.hpp"
#include "potentials/model_card.hpp"

namespace LAMMPS_NS {

class NeighList;

// LAMMPS's atoms on this rank, as they are now; the arrays of the host, which a graph in Kokkos's
// memory does not look at, unless they are displaced

struct AtomView {
  int nlocal = 0;
  int nall = 0;    // owned and ghost atoms
  const double *const *x = nullptr;
  const int *type = nullptr;
  const double *q = nullptr;    // null: the atom style has no charges

  // `x` are not LAMMPS's own positions, or LAMMPS may have others elsewhere

  bool displaced = false;
};

// what the model wants to see

struct GraphSettings {
  bool folded = true;
  bool wants_shifts = false;    // edge_shift and edge_cell_shift
  bool wants_charges = false;

  // policy graph_parallel: one row for each atom of the system, also for those that no ghost shows

  bool all_rows = false;
  bool replicates_geometry = false;    // and those have their species and position, too
  double cutoff = 0.0;                 // in LAMMPS's length unit
  double angstrom_per_length = 1.0;
  std::vector<int> species_of_type;    // index: LAMMPS type (1..ntypes), -1: not mapped
};

GraphSettings graph_settings(const nvalchemi::ModelCard &card, double angstrom_per_length,
                             const std::vector<int> &species_of_type);

// the edges of a graph in host memory

struct HostEdges {
  std::int64_t count = 0;
  const std::int64_t *receiver = nullptr, *sender = nullptr;    // rows
  const double *vector = nullptr;                               // (count, 3) Angstrom

  // LAMMPS's index of the sender: the very image that the edge vector points to

  const int *sender_atom = nullptr;
};

class ModelGraph {
 public:
  virtual ~ModelGraph() = default;

  virtual void configure(const GraphSettings &settings) { settings_ = settings; }
  const GraphSettings &settings() const { return settings_; }

  // row of every owned atom, -1 for atoms that are none of this style's

  virtual const std::vector<std::int64_t> &select_owned(const NeighList &list,
                                                        const AtomView &atoms) = 0;

  // pairs that can come within the cutoff before the next re-neighbouring; returns the ghosts that
  // occur in them, ascending

  virtual const std::vector<int> &select_candidates(const NeighList &list, const AtomView &atoms,
                                                    double skin) = 0;

  // give the ghosts of select_candidates() their rows, in the same order

  virtual void place_ghosts(const std::vector<std::int64_t> &rows, std::int64_t total_rows);

  // whether rows may be without an atom of LAMMPS on this rank (GraphSettings::all_rows)

  virtual bool keeps_far_rows() const { return false; }

  // atom ids of all rows, where LAMMPS's own arrays do not tell them

  void name_rows(std::vector<std::int64_t> ids) { id_of_row_ = std::move(ids); }

  // send species and positions of owned rows to all rows; collective. For settings with
  // replicates_geometry, before each update()

  virtual void replicate(const AtomView &, nvalchemi::HaloExchange &) {}

  // the cell, in Angstrom, that numbers of wave vectors or mesh points follow until the next call

  void take_setup_cell(const double *h);
  const double *setup_cell() const { return setup_cell_; }

  // what the user gives for the model's inputs, which each update() hands on; the rows of the latest
  // re-neighbouring

  nvalchemi::GivenInputs &given() { return given_; }
  const nvalchemi::GivenInputs &given() const { return given_; }

  // the graph at the present positions; `h` is Domain::h. Valid until the next call. Throws
  // std::runtime_error if the atoms are not those of the last re-neighbouring.

  const nvalchemi::AtomGraph &update(const AtomView &atoms, const double *h);

  // row whose force is the first, in the order of edges, that is not finite; -1 if all are

  virtual std::int64_t first_not_finite(const nvalchemi::Evaluation &evaluation) const = 0;

  // make ids and types of LAMMPS's atoms readable on the host, for a message

  virtual void show_atoms() const {}

  const nvalchemi::AtomGraph &graph() const { return graph_; }

  // valid until the next update(), or the next call of this

  virtual HostEdges edges_on_host() const = 0;

  std::int64_t n_owned() const { return n_owned_; }
  std::int64_t n_rows() const { return static_cast<std::int64_t>(atom_of_row_.size()); }

  // LAMMPS's index of the atom behind a row; of halo rows that stand for several ghosts, one of
  // them; -1 for a row that no ghost shows

  int atom_of_row(std::int64_t row) const { return atom_of_row_[row]; }

  // the row of an owned atom, -1 for one that is none of this style's

  std::int64_t row_of_atom(int i) const { return row_of_atom_[i]; }

  // the atom's id; `tag` is Atom::tag

  template <typename Tag> std::int64_t id_of_row(std::int64_t row, const Tag *tag) const
  {
    return atom_of_row_[row] < 0 ? id_of_row_[row] : tag[atom_of_row_[row]];
  }

  // faults of the edges on this rank; throws std::runtime_error for one that cannot be planted here

  virtual void plant(const nvalchemi::Faults &faults, int rank);
  virtual double memory_usage() const;

 protected:
  virtual void update_rows(const AtomView &atoms) = 0;
  virtual void update_edges(const AtomView &atoms) = 0;
  virtual void update_shifts() = 0;

  // numbers of the host's, by row, in the memory of the graph

  virtual const double *show_inputs(const std::vector<double> &rows) { return rows.data(); }
  virtual const double *show_charges(const std::vector<double> &rows) { return rows.data(); }

  GraphSettings settings_;
  nvalchemi::AtomGraph graph_;
  std::int64_t n_owned_ = 0;
  int nlocal_ = -1, nall_ = -1;    // at the last re-neighbouring

  std::vector<std::int64_t> row_of_atom_;    // (nall,)
  std::vector<int> atom_of_row_;             // (n_rows,)
  std::vector<int> used_ghosts_;
  std::vector<std::int64_t> id_of_row_;    // (n_rows,), with GraphSettings::all_rows
  bool swap_halo_edges_ = false;
  nvalchemi::GivenInputs given_;

 private:
  void cell_of(const double *h, double cell[9]) const;

  double setup_cell_[9] = {0.0};
};

// an atom whose type became one without an element

[[noreturn]] void refuse_type(int type);

}    // namespace LAMMPS_NS

#endif
