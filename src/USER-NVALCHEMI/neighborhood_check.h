// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   A model must see every neighbour within its cutoff. LAMMPS has several
   ways of leaving some out of a list; they are refused by name.
------------------------------------------------------------------------- */

#ifndef LMP_NEIGHBORHOOD_CHECK_H
#define LMP_NEIGHBORHOOD_CHECK_H

#include <string>
#include <vector>

namespace LAMMPS_NS {

class LAMMPS;

// type pairs that LAMMPS asks this style about; under hybrid some can belong to another style

class ServedPairs {
 public:
  void reset(int ntypes);
  void add(int itype, int jtype);

  // first pair of mapped types that is not served, as "1-2"; empty if there is none

  std::string first_missing(const std::vector<int> &species_of_type) const;

 private:
  int ntypes_ = 0;
  std::vector<char> served_;    // (ntypes + 1, ntypes + 1)
};

// reason why lists can lack neighbours, empty if they are complete. Not the same on all ranks.

std::string missing_neighbors(LAMMPS *lmp, const ServedPairs &served,
                              const std::vector<int> &species_of_type);

}    // namespace LAMMPS_NS

#endif
