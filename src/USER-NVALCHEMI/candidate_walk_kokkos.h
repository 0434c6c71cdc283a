// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The neighbours of a row's atom that can come within reach of the model
   before the next re-neighbouring
------------------------------------------------------------------------- */

#ifndef LMP_CANDIDATE_WALK_KOKKOS_H
#define LMP_CANDIDATE_WALK_KOKKOS_H

#include "kokkos_type.h"
#include "neigh_list.h"

namespace LAMMPS_NS {

template <class Rows, class Species, class Neighbors, class Counts, class Places, class Types>
struct CandidateWalk {
  Rows atom_of_row;
  Species species_of_type;
  Neighbors neighbors;
  Counts numneigh;
  Places x;
  Types type;
  double reach_squared;

  // call visit(j) for each of them, in the order of the list

  template <class Visit> KOKKOS_INLINE_FUNCTION void operator()(int row, const Visit &visit) const
  {
    const int i = atom_of_row(row);
    for (int k = 0; k < numneigh(i); ++k) {
      const int j = neighbors(i, k) & NEIGHMASK;
      if (species_of_type(type(j)) < 0) continue;
      const double dx = x(j, 0) - x(i, 0);
      const double dy = x(j, 1) - x(i, 1);
      const double dz = x(j, 2) - x(i, 2);

      // a position that is not a number stays in, to be found later

      if (!(dx * dx + dy * dy + dz * dz > reach_squared)) visit(j);
    }
  }
};

}    // namespace LAMMPS_NS

#endif
