// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What a comparison with the undecomposed model found, and how it is told
------------------------------------------------------------------------- */

#ifndef LMP_VALIDATION_VERDICT_H
#define LMP_VALIDATION_VERDICT_H

#include "gathered_system.h"

#include <string>
#include <type_traits>
#include <vector>

namespace LAMMPS_NS {

// of energy, atomic energies, forces, stress (virial unless periodic in three directions) and
// atomic virials, in eV and Angstrom; rank 0 broadcasts its bytes

struct ValidationVerdict {
  static constexpr int QUANTITIES = 5;

  double largest[QUANTITIES] = {0.0};       // absolute value of the reference
  double difference[QUANTITIES] = {0.0};    // -1: not compared, there is no reference
  double tolerance[QUANTITIES] = {0.0};
  double seconds = 0.0;
  bigint natoms = 0;
  bigint atoms_wrong = 0;          // with other neighbours than they have
  tagint tag[QUANTITIES] = {0};    // atom with the largest difference, 0: none
  int owner[QUANTITIES] = {0};     // its rank
  int compared[QUANTITIES] = {0};
  int has_volume = 0;    // 1: stress, 0: virial
  int complete = 1;      // every atom has its neighbours, once
  int exchange_good = 1;
  int parts_failed = 0;    // parts that were played in one process differ
  int undecided = 0;       // nothing differs, but no energy and no force was compared

  // of the further outputs that the model declares: how many, how many differ, and the largest
  // difference divided by its tolerance (-1: none was compared)

  int outputs = 0, outputs_wrong = 0;
  double output_ratio = -1.0;

  bool passed(int k) const { return !compared[k] || difference[k] <= tolerance[k]; }
  bool numbers_agree() const;
  bool failed() const { return !numbers_agree() || !complete || !exchange_good || parts_failed; }
  bool passed() const { return !failed() && !undecided; }

  // largest difference divided by its tolerance, NaN if one is; -1: nothing was compared

  double worst_ratio() const;
};

static_assert(std::is_trivially_copyable_v<ValidationVerdict>);

// the run's quantities still name atoms by their place among the gathered ones

ValidationVerdict make_verdict(const GatheredSystem &, const nvalchemi::DecomposedRun &);

// the comparisons of a run

struct ComparisonTally {
  bigint comparisons = 0, failed = 0, undecided = 0;
  double worst = -1.0;    // of worst_ratio()

  void add(const ValidationVerdict &);
};

// one line without an end

std::string describe_tally(const ComparisonTally &, const std::string &fix_id);

// the table of the log; `further`: the rows of further outputs

std::string verdict_table(const ValidationVerdict &,
                          const std::vector<nvalchemi::Deviation> &further,
                          const std::string &fix_id, bigint step, int nprocs);

// the rows of a run that follow the quantities above

std::vector<nvalchemi::Deviation> further_outputs(const nvalchemi::DecomposedRun &);

// what failed, where and by how much

std::string describe_differences(const ValidationVerdict &, const nvalchemi::DecomposedRun &);

}    // namespace LAMMPS_NS

#endif
