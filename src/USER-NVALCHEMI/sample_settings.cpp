// SPDX-License-Identifier: GPL-2.0-only

#include "sample_settings.h"

#include <cstdlib>

namespace nvalchemi {

namespace {

bool read_count(const std::string &text, std::int64_t least, std::int64_t &value)
{
  char *end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || number < least) return false;
  value = number;
  return true;
}

}    // namespace

/* ---------------------------------------------------------------------- */

bool SampleSettings::set(const std::string &keyword, const std::string &value,
                         std::string &expected)
{
  std::int64_t number = 0;
  if (keyword == "sample") {
    if (!read_count(value, 1, count)) expected = "a whole number of atoms of each stratum >= 1";
  } else if (keyword == "room") {
    if (!read_count(value, 1, room)) expected = "a whole number of atoms around one >= 1";
  } else if (keyword == "force_room") {
    if (!read_count(value, 0, force_room))
      expected = "a whole number of atoms around those whose forces are evaluated >= 0";
  } else if (keyword == "seed") {
    if (!read_count(value, 1, number)) expected = "a whole number >= 1";
    seed = static_cast<std::uint64_t>(number);
  } else {
    return false;
  }
  return true;
}

}    // namespace nvalchemi
