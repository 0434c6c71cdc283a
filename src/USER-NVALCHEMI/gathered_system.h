// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   All atoms of a style on rank 0, for a comparison with the whole system
------------------------------------------------------------------------- */

#ifndef LMP_GATHERED_SYSTEM_H
#define LMP_GATHERED_SYSTEM_H

#include "lmptype.h"

#include "potentials/validation.hpp"
#include "potentials/validator/decomposed_run.hpp"

#include <vector>

namespace LAMMPS_NS {

// all atoms that a style sees, on rank 0 and in the order of their ids, in
// Angstrom and eV, with what the decomposed evaluation said about them

struct GatheredSystem {
  nvalchemi::RunAtoms atoms;
  nvalchemi::DecomposedEvaluation decomposed;    // empty without a record
  std::vector<bool> in_group;                    // (n,)
  std::vector<nvalchemi::RunPart> parts;         // (nprocs,); without a record only its widths

  // the way back: atoms of each rank, and rank after rank their places in the order of ids

  std::vector<int> counts;           // (nprocs,)
  std::vector<std::size_t> place;    // (n,)
};

// lattice vectors, in LAMMPS's unit times `length`, and periodic directions

void copy_box(class LAMMPS *, double length, nvalchemi::WholeSystem &);

// the charges that the model takes: LAMMPS's q, or what is given in its place, of atom i; `rows` are
// those of the latest evaluation

bool has_charges(class LAMMPS *, class PairNvalchemi *);
double charge_of(const class ModelGraph &rows, const double *q, int i);

// number of atoms of types that the style maps; collective

bigint count_mapped_atoms(class LAMMPS *, class PairNvalchemi *, int groupbit = 0);

// gather the atoms; with `has_record` also the latest recorded contribution of the style and the
// neighbours that its graph has. Collective, empty on other ranks than 0.

GatheredSystem gather_system(class LAMMPS *, class PairNvalchemi *, int groupbit, bool has_record);

// the sub-domains of all ranks and, with `has_record`, their rows; (nprocs,) on rank 0, empty on
// others. Collective.

std::vector<nvalchemi::RunPart> gather_parts(class LAMMPS *, class PairNvalchemi *,
                                             bool has_record);

// three numbers of each atom from rank 0, in the order of ids, to its rank: (nlocal, 3), zero for
// atoms of unmapped types. Collective.

std::vector<double> send_home(class LAMMPS *, class PairNvalchemi *, const GatheredSystem &,
                              const std::vector<double> &values);

}    // namespace LAMMPS_NS

#endif
