// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Where the ghosts of this rank are owned
------------------------------------------------------------------------- */

#ifndef LMP_GHOST_HOMES_H
#define LMP_GHOST_HOMES_H

#include "halo_plan.h"

#include <cstdint>
#include <vector>

namespace LAMMPS_NS {

class Comm;

class GhostHomes {
 public:
  // one forward communication of LAMMPS, collective: works with each comm style and layout and
  // without an atom map. `row_of_atom` (nlocal + nghost): rows of owned atoms, -1 for none.

  void ask(Comm &comm, const std::vector<std::int64_t> &row_of_atom, int nlocal);

  // homes of the given ghosts; throws std::runtime_error if an owner has no row for one

  std::vector<nvalchemi::GhostHome> of(const std::vector<int> &ghosts) const;

 private:
  std::vector<double> homes_;    // (nall, 2) rank and row, exact in a double
  std::vector<double *> pointers_;
};

}    // namespace LAMMPS_NS

#endif
