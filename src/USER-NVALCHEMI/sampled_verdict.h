// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What a sampled validation found, and how it is told. The same on all
   ranks.
------------------------------------------------------------------------- */

#ifndef LMP_SAMPLED_VERDICT_H
#define LMP_SAMPLED_VERDICT_H

#include "validation_verdict.h"

#include "lmptype.h"

#include "potentials/validator/partition_checks.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace LAMMPS_NS {

// one quantity of sampled atoms, in eV and Angstrom

struct SampledQuantity {
  std::int64_t atoms = 0;      // compared
  std::int64_t skipped = 0;    // because their clusters have no room
  std::int64_t largest_cluster = 0;
  double largest = 0.0;       // absolute value of the reference
  double difference = 0.0;    // infinite where a number is not finite
  double tolerance = 0.0;
  tagint tag = 0;              // atom with the largest difference, 0: none
  int owner = 0;               // its rank
  std::string not_compared;    // why; empty if it was

  bool passed() const { return !not_compared.empty() || difference <= tolerance; }
};

// a stratum: atoms of a rank beside one other rank (or its own images), or beside none

struct StratumReached {
  int rank;
  int neighbor;    // nvalchemi::kInterior: none
  std::int64_t rows, sampled;
};

struct SampledVerdict {
  nvalchemi::PlanCheck plan;
  SampledQuantity energies, forces;

  // how far energies reach, and what one step more would change; negative: not tried

  int hops = 0;
  double cutoff = 0.0;
  double beyond_reach = -1.0;

  std::vector<StratumReached> strata;    // of all ranks, on rank 0 alone
  double stratum_bound = 1.0;            // on the fraction of wrong atoms, of the worst stratum

  // dE/dh along one random direction of all atoms

  double slope = 0.0, projected_forces = 0.0, slope_tolerance = 0.0;
  std::string no_slope;    // why there is none

  bigint natoms = 0;
  double seconds = 0.0;

  double slope_difference() const;
  bool slope_passed() const { return !no_slope.empty() || slope_difference() <= slope_tolerance; }
  bool passed() const
  {
    return plan.good && energies.passed() && forces.passed() && slope_passed();
  }

  // the same as four quantities; of the two checks of forces the one nearer to its tolerance

  ValidationVerdict figures() const;
};

// the report of the log

std::string sampled_report(const SampledVerdict &, const std::string &fix_id, bigint step,
                           int nprocs);

// what failed, where, by how much, and what to do

std::string describe_sampled_differences(const SampledVerdict &);

}    // namespace LAMMPS_NS

#endif
