// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   From what a model returned to LAMMPS's forces, energies and virials
------------------------------------------------------------------------- */

#ifndef LMP_CONTRIBUTION_H
#define LMP_CONTRIBUTION_H

#include "neighbor_graph.h"
#include "pair_nvalchemi.h"

#include <vector>

#include "kernels/halo_exchange.hpp"
#include "potentials/atom_graph.hpp"

namespace LAMMPS_NS {

// where LAMMPS wants the results; null: not wanted. Everything is added, never assigned.

struct ResultTargets {
  double **f = nullptr;    // (nlocal + nghost, 3)
  double *energy = nullptr;
  double *virial = nullptr;    // xx,yy,zz,xy,xz,yz
  double *eatom = nullptr;
  double **vatom = nullptr;      // 6 components
  double **cvatom = nullptr;     // 9: xx,yy,zz,xy,xz,yz,yx,zx,zy
  bool ghosts_go_home = true;    // LAMMPS adds the ghosts' part to their owners (newton on)
  NvalchemiContribution *record = nullptr;
  bool record_virials = false;    // with the record; the same on all ranks
};

class Contribution {
 public:
  // factors that turn eV and Angstrom into LAMMPS's units

  void set_units(double energy_per_ev, double length_per_angstrom);

  // Add one evaluation. Collective if `ghosts_go_home` is false or a record is wanted: then the
  // ghosts' part travels home through `exchange`, in one call.

  void add(const NeighborGraph &graph, const nvalchemi::Evaluation &evaluation,
           nvalchemi::HaloExchange &exchange, int nlocal, const ResultTargets &targets);

 private:
  // what an end of an edge collects; null: not wanted

  struct EdgeEnd {
    double *force, *virial, *centroid;
  };

  void add_edge(std::int64_t edge, const EdgeEnd &receiver, const EdgeEnd &sender) const;
  void add_energy(const ResultTargets &targets);
  void add_virial(double virial[6]);
  void scatter_to_atoms(const ResultTargets &targets);
  void scatter_to_rows(const ResultTargets &targets);
  void rows_to_atoms(const ResultTargets &targets);
  void fill_record(const ResultTargets &targets);
  bool sees_edges() const { return evaluation_->row_forces.empty(); }
  static bool wants_row_virials(const ResultTargets &targets)
  {
    return targets.vatom || (targets.record && targets.record_virials);
  }

  double energy_ = 1.0, force_ = 1.0;    // LAMMPS's units per eV, per eV/Angstrom
  const NeighborGraph *graph_ = nullptr;
  const nvalchemi::Evaluation *evaluation_ = nullptr;
  int nlocal_ = 0;
  int width_ = 3;               // of rows_: force, then 6 and 9 virial components where wanted
  std::vector<double> rows_;    // (n_rows, width)
};

}    // namespace LAMMPS_NS

#endif
