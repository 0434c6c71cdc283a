// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The atoms around sampled atoms, from the ranks that own them. LAMMPS's
   ghosts and lists have no part in it, and no rank holds more of them than
   it has room for.
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

// an atom whose surroundings a rank wants

struct Center {
  std::int64_t tag = 0;
  double x[3] = {0.0};    // Angstrom, where its owner has it
};

struct SurroundingAtom {
  std::int64_t tag;
  int image[3];    // lattice translations from where its owner has it
  int species;
  double x[3];            // Angstrom, in that image
  double charge;          // e; 0 where there is none
  std::int64_t inputs;    // first of its values in what comes with the atoms
};

class SurroundingsCollector {
 public:
  // takes note of the pair style's atoms as they are now

  SurroundingsCollector(class LAMMPS *, class PairNvalchemi *);

  // the atoms and images within `reach` (Angstrom) of any of this rank's centers, which come first
  // in their order, then by id; no periodic directions. Where that is more than the system has
  // atoms, the system itself, with its periodic directions. Empty if there are no centers, or if
  // there are more than `most` atoms. Collective.

  nvalchemi::WholeSystem collect(const std::vector<Center> &mine, double reach,
                                 std::int64_t most) const;

 private:
  // what a rank wants, without its centers

  struct Request {
    int centers = 0;
    double reach = 0.0;
    std::int64_t most = 0;
  };

  std::vector<SurroundingAtom> atoms_near(const Center *centers, const Request &request,
                                          std::int64_t &found) const;
  nvalchemi::WholeSystem in_order(std::vector<SurroundingAtom> atoms,
                                  const std::vector<double> &inputs,
                                  const std::vector<Center> &centers, bool whole) const;

  MPI_Comm comm_;
  nvalchemi::WholeSystem box_;    // without atoms
  nvalchemi::Lattice lattice_;
  std::vector<SurroundingAtom> owned_;
  std::vector<double> inputs_;    // (owned, columns_), what the user gives
  std::size_t columns_ = 0;
  std::int64_t natoms_ = 0;    // of all ranks
  bool has_charges_ = false;
  double low_[3] = {0.0}, high_[3] = {0.0};    // of the owned atoms, in lattice vectors
};

}    // namespace LAMMPS_NS

#endif
