// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What rank 0 does with a gathered system: reference, comparison, report
------------------------------------------------------------------------- */

#ifndef LMP_RUN_JUDGE_H
#define LMP_RUN_JUDGE_H

#include "gathered_system.h"
#include "sampled_verdict.h"
#include "validate_options.h"
#include "validation_verdict.h"

#include "potentials/validator/decomposed_run.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace LAMMPS_NS {

// what is judged

struct JudgedRun {
  nvalchemi::DecomposedRun
      run;    // label, step, ranks, skin, plan, versions; failure, if it stopped
  bool at_setup = false;
};

struct Judgement {
  ValidationVerdict verdict;
  std::vector<nvalchemi::Deviation> further;    // rows of further outputs, atoms by their ids
  std::string failure;                          // why there is no verdict; empty: there is one
  std::string trouble;                          // why nothing was written; may be empty
  std::string text;                             // of the error or warning; empty if all is well
  std::string page;                             // for the log, beside the table; may be empty
  std::vector<double> force_errors;             // (n, 3) run minus reference, in the order of ids
};

// not collective: for rank 0 alone

class RunJudge {
 public:
  RunJudge(const nvalchemi::ValidateOptions &options) : options_(options) {}

  // throws std::runtime_error if the report cannot be written where it is to be

  void try_report() const;
  void use_threads(int threads) { threads_ = threads; }
  Judgement judge(class PairNvalchemi *, const GatheredSystem &, JudgedRun);

  // the same of sampled atoms

  Judgement judge(class PairNvalchemi *, const SampledVerdict &, JudgedRun);

 private:
  void compare(PairNvalchemi *, const GatheredSystem &, JudgedRun &, Judgement &);
  std::string report(PairNvalchemi *, const GatheredSystem &, const JudgedRun &, Judgement &);
  nvalchemi::ValidationRequest request(PairNvalchemi *, const GatheredSystem &,
                                       const nvalchemi::DecomposedRun &) const;
  bool is_reported(const JudgedRun &) const;
  std::string report(class PairNvalchemi *, const GatheredSystem &, const JudgedRun &,
                     std::string &page) const;
  std::string write(const nvalchemi::TraceReport &, bigint step, std::string &page) const;

  const nvalchemi::ValidateOptions &options_;
  int threads_ = 1;
  std::array<double, 4> noise_ = {};              // measured at set-up
  double virial_noise_ = 0.0;                     // of atomic virials
  std::map<std::string, double> output_noise_;    // of further outputs
  bool agreed_ = false;                           // in an earlier comparison
  bigint explained_step_ = -1;    // of the failure that was explained since the last set-up
};

}    // namespace LAMMPS_NS

#endif
