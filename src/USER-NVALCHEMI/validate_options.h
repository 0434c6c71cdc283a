// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Keywords of fix nvalchemi/validate
------------------------------------------------------------------------- */

#ifndef LMP_VALIDATE_OPTIONS_H
#define LMP_VALIDATE_OPTIONS_H

#include "sample_settings.h"

#include "potentials/validation.hpp"
#include "potentials/validator/validate_in_parts.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nvalchemi {

struct ValidateOptions {
  enum class Mode { Auto, Gathered, Sampled };    // Auto: gathered up to the limit

  std::int64_t every = 0;       // steps; 0: at each set-up only
  bool once = false;            // at the first set-up only
  bool on_rebalance = false;    // at set-ups and after sub-domains have changed
  ValidationTolerance tolerance;
  bool stops = true;             // a failure is an error, else a warning
  int instance = 0;              // of the pair style under hybrid, 0: the only one
  std::int64_t limit = 20000;    // largest number of atoms to gather
  Mode mode = Mode::Auto;
  SampleSettings sample;
  std::string report;               // file; empty: none. '*' stands for the step
  int world_size = 0;               // virtual ranks; 0: the real ones
  AutoFix autofix = AutoFix::No;    // Apply: the text says to rerun with the spec that was found
};

// parse "keyword value ..."; throws std::runtime_error

ValidateOptions parse_validate_options(const std::vector<std::string> &arguments);

// what the keywords ask for that a sampled comparison cannot do, and what to do instead; empty:
// nothing

std::string refused_by_sampling(const ValidateOptions &options);

// the report of a step, and the spec beside it: "check.json" -> "check.spec.json"

std::string report_file(const std::string &pattern, std::int64_t step);
std::string spec_file_beside(const std::string &report_file);

}    // namespace nvalchemi

#endif
