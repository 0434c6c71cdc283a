// SPDX-License-Identifier: GPL-2.0-only

#ifdef FIX_CLASS
// clang-format off
FixStyle(nvalchemi/validate,FixNvalchemiValidate);
// clang-format on
#else

#ifndef LMP_FIX_NVALCHEMI_VALIDATE_H
#define LMP_FIX_NVALCHEMI_VALIDATE_H

#include "fix.h"

#include "sampled_validation.h"
#include "validation_verdict.h"

#include "potentials/validation.hpp"

#include <array>
#include <memory>
#include <string>

namespace LAMMPS_NS {

// compares what pair style nvalchemi adds under the decomposition with the
// undecomposed model, evaluated on rank 0 for all atoms at once

class FixNvalchemiValidate : public Fix {
 public:
  FixNvalchemiValidate(class LAMMPS *, int, char **);
  ~FixNvalchemiValidate() override;

  int setmask() override;
  void init() override;
  void setup_pre_force(int) override;
  void setup(int) override;
  void min_setup(int) override;
  void pre_force(int) override;
  void post_force(int) override;
  void min_pre_force(int) override;
  void min_post_force(int) override;
  double compute_vector(int) override;

 private:
  // elements of the global vector, from 0

  enum Figure {
    DIFFERENCE = 0,     // energy, atomic energies, forces, stress
    TOLERANCE = 4,      // the same
    PASSED = 8,         // 1 or 0
    WORST_RATIO = 9,    // largest difference / tolerance of all comparisons so far
    ATOMS = 10,
    SECONDS = 11,
    COMPARISONS = 12,
    FIGURES = 13
  };

  enum Action { STOP, WARN };
  enum Mode { AUTO, GATHERED, SAMPLED };    // AUTO: gathered up to the limit

  int every;       // 0: only at set-up
  int instance;    // of the pair style under hybrid, 0: the only one
  bigint limit;    // largest number of atoms to gather
  Action action;
  Mode mode;
  SampleSettings sample;
  std::unique_ptr<SampledValidation> sampler;    // null: the comparison to come is gathered
  nvalchemi::ValidationTolerance tolerance;
  int threads;    // of the reference evaluation on rank 0

  class PairNvalchemi *pair;
  std::array<double, 4> noise;    // on rank 0, measured at set-up
  std::array<double, FIGURES> figures;
  bigint compared_step;    // step of the latest comparison
  bool due;                // the evaluation to come is compared

  void parse_options(int, char **);
  void set_option(const std::string &, char **);
  void refuse(const std::string &keyword, const char *got, const char *expected) const;
  void find_pair();
  int count_instances(const char *style) const;
  bool is_due() const;
  void prepare();
  void compare(bool at_setup);
  void compare_sampled(bool at_setup);
  void check_contribution() const;
  ValidationVerdict judge_on_root(bool at_setup, std::string &failure);
  void share(ValidationVerdict &, std::string &failure);
  void store(const ValidationVerdict &);
};

}    // namespace LAMMPS_NS

#endif
#endif
