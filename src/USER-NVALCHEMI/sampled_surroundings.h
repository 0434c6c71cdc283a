// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The atoms around a sampled atom, from the ranks that own them. LAMMPS's
   ghosts and lists have no part in it, and no rank holds more than the
   surroundings of one of its own atoms at a time.
------------------------------------------------------------------------- */

#ifndef LMP_SAMPLED_SURROUNDINGS_H
#define LMP_SAMPLED_SURROUNDINGS_H

#include "lmptype.h"

#include "potentials/lattice.hpp"
#include "potentials/whole_system.hpp"

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace LAMMPS_NS {

// whose surroundings a rank wants

struct Center {
  std::int64_t tag = 0;
  double x[3] = {0.0};      // Angstrom, where its owner has it
  double reach = -1.0;      // Angstrom; negative: none wanted
  std::int64_t most = 0;    // atoms that it has room for
};

struct SurroundingAtom {
  std::int64_t tag;
  int image[3];    // lattice translations from where its owner has it
  int species;
  double x[3];    // Angstrom, in that image
};

class SurroundingsCollector {
 public:
  // takes note of the pair style's atoms as they are now

  SurroundingsCollector(class LAMMPS *, class PairNvalchemi *);

  // the atoms and images within the reach of this rank's center, which comes first, then by id;
  // no periodic directions. Empty if none are wanted or if there are more than there is room for.
  // Collective; `found`: how many there are.

  nvalchemi::WholeSystem collect(const Center &mine, std::int64_t &found) const;

 private:
  std::vector<SurroundingAtom> atoms_near(const Center &center, std::int64_t &found) const;

  MPI_Comm comm_;
  nvalchemi::WholeSystem box_;    // without atoms
  nvalchemi::Lattice lattice_;
  std::vector<SurroundingAtom> owned_;
  double low_[3] = {0.0}, high_[3] = {0.0};    // of the owned atoms, in lattice vectors
};

}    // namespace LAMMPS_NS

#endif
