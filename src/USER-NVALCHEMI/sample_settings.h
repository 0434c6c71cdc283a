// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Keywords of the sampled mode of fix nvalchemi/validate
------------------------------------------------------------------------- */

#ifndef LMP_SAMPLE_SETTINGS_H
#define LMP_SAMPLE_SETTINGS_H

#include <cstdint>
#include <string>

namespace nvalchemi {

struct SampleSettings {
  // atoms of each stratum: a fault in one atom in ten of it is seen with 95 % confidence

  std::int64_t count = 30;

  // atoms around those that are evaluated at once

  std::int64_t room = 20000;

  // atoms around those of a rank whose forces are evaluated

  std::int64_t force_room = 2000;
  std::uint64_t seed = 1;

  // take the value of a keyword of the fix; false if it is none of these. `expected` is filled if
  // the value is refused.

  bool set(const std::string &keyword, const std::string &value, std::string &expected);
};

}    // namespace nvalchemi

#endif
