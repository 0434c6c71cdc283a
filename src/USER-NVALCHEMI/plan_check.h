// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Proof of a halo plan without a model: what an exchange must deliver is
   known, so send it and look. Every row of every rank is looked at.

     forward of ids:        each halo row gets the id of its own atom
     forward of positions:  up to lattice translations, its atom's place
     reverse of ones:       each owner gets one for each copy of its row,
                            and the copies are zero afterwards
     reverse of ids:        and each of them came from its own copies
     reverse, then forward: owner and copies hold one sum
------------------------------------------------------------------------- */

#ifndef LMP_PLAN_CHECK_H
#define LMP_PLAN_CHECK_H

#include <cstdint>
#include <string>

namespace LAMMPS_NS {

struct PlanVerdict {
  std::int64_t halo_rows = 0;    // of all ranks
  std::int64_t wrong = 0;        // rows of all ranks that got something else
  std::string first;             // what the lowest rank with a wrong row saw; empty if none

  bool passed() const { return wrong == 0; }
};

// Send known numbers through the exchange of the pair style, as an evaluation does. Collective;
// throws std::runtime_error on every rank if the exchange itself fails.

PlanVerdict check_plan(class LAMMPS *, class PairNvalchemi *);

}    // namespace LAMMPS_NS

#endif
