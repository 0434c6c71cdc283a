// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What a comparison with the undecomposed model found, and how it is told
------------------------------------------------------------------------- */

#ifndef LMP_VALIDATION_VERDICT_H
#define LMP_VALIDATION_VERDICT_H

#include "gathered_system.h"

#include <string>
#include <type_traits>

namespace LAMMPS_NS {

// of energy, atomic energies, forces and stress (virial unless periodic in three directions), in eV
// and Angstrom; rank 0 broadcasts its bytes

struct ValidationVerdict {
  double largest[4] = {0.0};       // absolute value of the reference
  double difference[4] = {0.0};    // -1: not compared, the archive gives no reference
  double tolerance[4] = {0.0};
  double seconds = 0.0;
  bigint natoms = 0;
  tagint tag[4] = {0};    // atom with the largest difference, 0: none
  int owner[4] = {0};     // its rank
  int compared[4] = {0};
  int has_volume = 0;    // 1: stress, 0: virial

  bool passed(int k) const { return !compared[k] || difference[k] <= tolerance[k]; }
  bool passed() const { return passed(0) && passed(1) && passed(2) && passed(3); }
};

static_assert(std::is_trivially_copyable_v<ValidationVerdict>);

ValidationVerdict make_verdict(const GatheredSystem &, const nvalchemi::Deviations &);

// the table of the log

std::string verdict_table(const ValidationVerdict &, const std::string &fix_id, bigint step,
                          int nprocs);

// what failed, where, by how much, and what to do

std::string describe_differences(const ValidationVerdict &);

}    // namespace LAMMPS_NS

#endif
