// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Whether the exchange of a run moves each row between the atoms that it
   should: ids of atoms are sent through it, both ways, all rows, from and
   to the memory where the rows of the model are; and whether each edge
   reads the row of the atom that it points to.
------------------------------------------------------------------------- */

#ifndef LMP_EXCHANGE_CHECK_H
#define LMP_EXCHANGE_CHECK_H

#include "potentials/validator/partition_checks.hpp"

#include <string>

namespace LAMMPS_NS {

// Collective; the result is that of all ranks together, on all ranks. A rank that throws ends the
// check on all ranks: `failure` is then its reason, else empty. No rank learns of more rows than
// its own and as many of others.

nvalchemi::PlanCheck check_exchange(class LAMMPS *, class PairNvalchemi *, std::string &failure);

}    // namespace LAMMPS_NS

#endif
