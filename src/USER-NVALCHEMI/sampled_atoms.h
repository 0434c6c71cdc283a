// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Which atoms of this rank are evaluated alone
------------------------------------------------------------------------- */

#ifndef LMP_SAMPLED_ATOMS_H
#define LMP_SAMPLED_ATOMS_H

#include "lmptype.h"

#include "potentials/validator/sampled_choice.hpp"

#include <cstdint>

namespace LAMMPS_NS {

// Draw `count` of the pair style's atoms in the group from each stratum of this rank. Strata: atoms with a neighbour
// that another rank owns, for each such rank; with a copy of an atom of this rank; and the others.
// The same for the same seed, step and atoms, in whatever order. Not collective.

nvalchemi::SampleChoice sample_atoms(class LAMMPS *, class PairNvalchemi *, int groupbit,
                                     std::uint64_t seed, bigint step, std::int64_t count);

}    // namespace LAMMPS_NS

#endif
