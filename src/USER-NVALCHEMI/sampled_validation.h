// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Validation without gathering the system: the exchange as a whole, the
   energies of some atoms of each stratum with their surroundings alone, the
   forces of fewer, and all forces along one random direction.
------------------------------------------------------------------------- */

#ifndef LMP_SAMPLED_VALIDATION_H
#define LMP_SAMPLED_VALIDATION_H

#include "rank_agreement.h"
#include "sample_settings.h"
#include "sampled_surroundings.h"
#include "sampled_verdict.h"

#include "potentials/validation.hpp"
#include "potentials/validator/sampled_choice.hpp"
#include "potentials/validator/sampled_cluster.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace LAMMPS_NS {

class SampledValidation {
 public:
  SampledValidation(class LAMMPS *lmp, class PairNvalchemi *pair,
                    const nvalchemi::SampleSettings &settings, int groupbit, int threads,
                    const nvalchemi::ValidationTolerance &tolerance);

  // Judge the latest recorded contribution. Collective; a check that fails on one rank ends all,
  // and the verdict says why. `first`: find out anew how far energies reach and how large rounding
  // is.

  SampledVerdict check(bool first);

  // the verdict where the run itself has failed, for `reason`; collective

  SampledVerdict stopped(const std::string &reason) const;

  // (nlocal, 3) run minus reference of the atoms whose forces were compared by the latest check, in
  // eV/Angstrom; zero for the others

  const std::vector<double> &force_errors() const { return force_errors_; }

 private:
  // what the archive says about a sampled atom, and what the run said

  struct Sample {
    std::vector<double> reference, found;
    double terms = 0.0;    // size of what the reference is summed from
    tagint tag = 0;
    std::int64_t row = 0;
  };
  using Rows = std::vector<std::int64_t>;
  using SampledQuantity = nvalchemi::SampledQuantity;

  nvalchemi::WholeSystem around(const SurroundingsCollector &, const Rows &, int hops,
                                std::int64_t most) const;
  nvalchemi::Cluster cut(const nvalchemi::WholeSystem &, std::int64_t centers, int hops) const;
  void add_energies(const Rows &, const nvalchemi::WholeSystem &, SampledQuantity &,
                    std::vector<Sample> &) const;
  void add_forces(const Rows &, const nvalchemi::WholeSystem &, SampledQuantity &,
                  std::vector<Sample> &);
  void find_reach(const SurroundingsCollector &, const nvalchemi::SampleChoice &);
  double change_beyond(const nvalchemi::WholeSystem &, double &scale);
  void compare(bigint step, bool first, SampledVerdict &);
  std::vector<Sample> compare_energies(const SurroundingsCollector &,
                                       const nvalchemi::SampleChoice &, SampledVerdict &);
  std::vector<Sample> compare_forces(const SurroundingsCollector &, const nvalchemi::SampleChoice &,
                                     SampledVerdict &);
  void judge(SampledQuantity &, int kind, const std::vector<Sample> &, double noise) const;
  void count_strata(const nvalchemi::SampleChoice &, const std::vector<Sample> &,
                    SampledVerdict &) const;
  void keep_force_errors(const std::vector<Sample> &);
  void gather_compared(const std::vector<Sample> &energies, const std::vector<Sample> &forces,
                       SampledVerdict &) const;
  void compare_slope(bigint step, SampledVerdict &);
  std::vector<double> energies_at(const double *const *x);
  void agree(const nvalchemi::RankOutcome &) const;
  double largest_of(double mine) const;
  std::int64_t sum_of(std::int64_t mine) const;

  class LAMMPS *lmp_;
  class PairNvalchemi *pair_;
  nvalchemi::SampleSettings settings_;
  int groupbit_, threads_;
  nvalchemi::ValidationTolerance tolerance_;
  MPI_Comm comm_;
  int me_ = 0;

  nvalchemi::Reach reach_;
  bool reach_known_ = false;
  std::string no_reach_;    // why nothing can be evaluated alone; empty if it can
  std::vector<double> force_errors_;
  double beyond_reach_ = -1.0, energy_noise_ = 0.0, force_noise_ = 0.0;
};

}    // namespace LAMMPS_NS

#endif
