// SPDX-License-Identifier: GPL-2.0-only

#include "model_graph.h"

#include <stdexcept>
#include <string>

using namespace LAMMPS_NS;

/* ---------------------------------------------------------------------- */

GraphSettings LAMMPS_NS::graph_settings(const nvalchemi::ModelCard &card,
                                        double angstrom_per_length,
                                        const std::vector<int> &species_of_type)
{
  GraphSettings settings;
  settings.folded = card.rows == nvalchemi::RowMode::Folded;
  settings.wants_shifts =
      settings.folded && (card.find_input(nvalchemi::InputRole::EdgeShifts) ||
                          card.find_input(nvalchemi::InputRole::EdgeCellShifts));
  settings.wants_charges = card.find_input(nvalchemi::InputRole::Charges) != nullptr;
  const nvalchemi::MLIPSpec &spec = card.distribution();
  settings.all_rows = spec.distribution.policy.kind == nvalchemi::PolicyKind::GraphParallel;
  settings.replicates_geometry = settings.all_rows && spec.gp_replicate_geometry;
  settings.cutoff = card.cutoff / angstrom_per_length;
  settings.angstrom_per_length = angstrom_per_length;
  settings.species_of_type = species_of_type;
  return settings;
}

/* ---------------------------------------------------------------------- */

void ModelGraph::place_ghosts(const std::vector<std::int64_t> &rows, std::int64_t total_rows)
{
  atom_of_row_.resize(total_rows, -1);
  for (std::size_t k = 0; k < used_ghosts_.size(); ++k) {
    row_of_atom_[used_ghosts_[k]] = rows[k];
    if (rows[k] >= n_owned_) atom_of_row_[rows[k]] = used_ghosts_[k];
  }
}

/* ---------------------------------------------------------------------- */

void ModelGraph::cell_of(const double *h, double cell[9]) const
{
  const double rows[9] = {h[0], 0.0, 0.0, h[5], h[1], 0.0, h[4], h[3], h[2]};
  for (int k = 0; k < 9; ++k) cell[k] = settings_.angstrom_per_length * rows[k];
}

/* ---------------------------------------------------------------------- */

void ModelGraph::take_setup_cell(const double *h)
{
  cell_of(h, setup_cell_);
}

/* ---------------------------------------------------------------------- */

const nvalchemi::AtomGraph &ModelGraph::update(const AtomView &atoms, const double *h)
{
  if (atoms.nlocal != nlocal_ || atoms.nall != nall_)
    throw std::runtime_error("the atoms of this rank changed without re-neighbouring: got " +
                             std::to_string(atoms.nall) + " owned and ghost atoms, expected " +
                             std::to_string(nall_) + ". Use a plain 'run' (not 'pre no')");

  graph_ = {};
  cell_of(h, graph_.cell);
  graph_.setup_cell = setup_cell_;

  graph_.n_owned = n_owned_;
  graph_.n_rows = n_rows();
  update_rows(atoms);
  if (!given_.system.empty()) graph_.system_inputs = given_.system.data();
  if (given_.columns > 0) graph_.atom_inputs = show_inputs(given_.atoms);
  if (given_.has_charges) graph_.charge = show_charges(given_.charges);
  update_edges(atoms);
  if (settings_.wants_shifts) update_shifts();
  return graph_;
}

/* ---------------------------------------------------------------------- */

void ModelGraph::plant(const nvalchemi::Faults &faults, int rank)
{
  using nvalchemi::Fault;
  for (const Fault fault :
       {Fault::LoseEdge, Fault::RepeatEdge, Fault::ShiftImage, Fault::WrongSender})
    if (faults.has(fault, rank))
      throw std::runtime_error("environment variable NVALCHEMI_FAULT: got '" + faults.text() +
                               "', of which a part can be planted in pair style nvalchemi, but "
                               "not in nvalchemi/kk");
  swap_halo_edges_ = faults.has(Fault::SwapEdges, rank);
}

/* ---------------------------------------------------------------------- */

double ModelGraph::memory_usage() const
{
  return double(given_.atoms.capacity() + given_.charges.capacity()) * sizeof(double) +
         double(row_of_atom_.capacity()) * sizeof(std::int64_t) +
         double(atom_of_row_.capacity() + used_ghosts_.capacity()) * sizeof(int);
}

/* ---------------------------------------------------------------------- */

void LAMMPS_NS::refuse_type(int type)
{
  throw std::runtime_error("an atom changed to type " + std::to_string(type) +
                           ", which is not mapped, without re-neighbouring");
}
