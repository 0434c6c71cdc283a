// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   All atoms of a style on rank 0, for a comparison with the whole system
------------------------------------------------------------------------- */

#ifndef LMP_GATHERED_SYSTEM_H
#define LMP_GATHERED_SYSTEM_H

#include "lmptype.h"

#include "potentials/validation.hpp"
#include "potentials/whole_system.hpp"

#include <vector>

namespace LAMMPS_NS {

// all atoms that a style sees, on rank 0 and in the order of their ids, in
// Angstrom and eV, with what the decomposed evaluation said about them

struct GatheredSystem {
  nvalchemi::WholeSystem system;
  nvalchemi::DecomposedEvaluation decomposed;
  std::vector<tagint> tags;      // (n,)
  std::vector<int> owners;       // (n,) rank
  std::vector<bool> in_group;    // (n,)
};

// lattice vectors, in LAMMPS's unit times `length`, and periodic directions

void copy_box(class LAMMPS *, double length, nvalchemi::WholeSystem &);

// number of atoms of types that the style maps; collective

bigint count_mapped_atoms(class LAMMPS *, class PairNvalchemi *, int groupbit = 0);

// gather the latest recorded contribution of the style; collective, empty on other ranks than 0

GatheredSystem gather_system(class LAMMPS *, class PairNvalchemi *, int groupbit);

}    // namespace LAMMPS_NS

#endif
