// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   From what a model returned to LAMMPS's forces, energies and virials.
   The steps are the same wherever the numbers are; where they are, is a
   matter of the derived classes (HostContribution, ContributionKokkos).
------------------------------------------------------------------------- */

#ifndef LMP_CONTRIBUTION_H
#define LMP_CONTRIBUTION_H

#include "pair_nvalchemi.h"

#include <vector>

#include "kernels/halo_exchange.hpp"
#include "potentials/atom_graph.hpp"

namespace LAMMPS_NS {

class ModelGraph;

// LAMMPS's order of the nine products (position, force); the first six are the symmetric virial's

inline constexpr int VIRIAL_FIRST[9] = {0, 1, 2, 0, 0, 1, 1, 2, 2};
inline constexpr int VIRIAL_SECOND[9] = {0, 1, 2, 1, 2, 2, 0, 0, 1};

// where LAMMPS wants the results; null: not wanted. Everything is added, never assigned. Per-atom
// arrays are those of the host, which a derived class may have elsewhere too.

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
  virtual ~Contribution() = default;

  // factors that turn eV and Angstrom into LAMMPS's units

  void set_units(double energy_per_ev, double length_per_angstrom);

  // Add one evaluation of the graph. Collective if `ghosts_go_home` is false or a record is wanted:
  // then the ghosts' part travels home through `exchange`, in one call.

  void add(const nvalchemi::Evaluation &evaluation, nvalchemi::HaloExchange &exchange, int nlocal,
           const ResultTargets &targets);

 protected:
  static constexpr int VATOM_AT = 3;    // columns of a row: force, virial, centroid virial

  virtual const ModelGraph &graph() const = 0;

  // called first: look up where this evaluation's numbers are

  virtual void begin(const nvalchemi::Evaluation &) {}
  virtual void add_atomic_energies(const ResultTargets &targets) = 0;
  virtual void add_virial(double virial[6]) = 0;

  // straight to LAMMPS's atoms, ghosts included

  virtual void scatter_to_atoms(const ResultTargets &targets) = 0;

  // to this style's rows (n_rows, width_), for a journey home of all quantities together

  virtual nvalchemi::RowBlock scatter_to_rows(const ResultTargets &targets) = 0;
  virtual void rows_to_atoms(const ResultTargets &targets) = 0;

  // the rows of scatter_to_rows() on the host, the owned ones at least

  virtual const double *rows_on_host() = 0;

  // of forces: from edges, from rows, or from both

  bool sees_rows() const { return evaluation_->gives_row_forces(); }
  bool sees_edges() const { return !sees_rows() || evaluation_->has_lattice_virial; }
  static bool wants_row_virials(const ResultTargets &targets)
  {
    return targets.vatom || (targets.record && targets.record_virials);
  }

  double energy_ = 1.0, force_ = 1.0;    // LAMMPS's units per eV, per eV/Angstrom
  const nvalchemi::Evaluation *evaluation_ = nullptr;
  int width_ = 3;    // of a row: force, then 6 and 9 virial components where wanted
  int cvatom_at_ = 3;

 private:
  void add_all_virial(double virial[6]);
  void fill_record(const ResultTargets &targets, int nlocal);
  void record_outputs(NvalchemiContribution &record, int nlocal) const;
};

}    // namespace LAMMPS_NS

#endif
