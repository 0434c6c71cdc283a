// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What a sampled validation found, and how it is told. The same on all
   ranks.
------------------------------------------------------------------------- */

#ifndef LMP_SAMPLED_VERDICT_H
#define LMP_SAMPLED_VERDICT_H

#include "validation_verdict.h"

#include "lmptype.h"

#include "potentials/validator/sampled_run.hpp"
#include "potentials/whole_system.hpp"

#include <string>

namespace LAMMPS_NS {

struct SampledVerdict : nvalchemi::SampledRun {
  nvalchemi::PlanCheck plan;
  std::string failure;    // why there are no numbers, or not all; empty if there are

  // on rank 0 alone: atoms whose energies and forces were both compared, with what the run said and
  // what the archive said, and the parts of the run; the system is but its box

  GatheredSystem compared;
  nvalchemi::WholeEvaluation reference;

  bool passed() const { return failure.empty() && plan.good && numbers_agree(); }

  // the same as four quantities; of the two checks of forces the one nearer to its tolerance

  ValidationVerdict figures() const;
};

// the report of the log

std::string sampled_report(const SampledVerdict &, const std::string &label, bigint step,
                           int nprocs);

// what failed, where, by how much, and what to do

std::string describe_sampled_differences(const SampledVerdict &);

// why nothing is proved where no energy and no force was compared, and what to do

std::string describe_undecided(const SampledVerdict &);

}    // namespace LAMMPS_NS

#endif
