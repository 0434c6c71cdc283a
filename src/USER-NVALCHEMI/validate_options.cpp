// SPDX-License-Identifier: GPL-2.0-only

#include "validate_options.h"

#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace nvalchemi {

namespace {

const std::string STYLE = "fix nvalchemi/validate";
constexpr const char *JSON_ENDING = ".json";
constexpr const char *KEYWORDS = "every, tolerance, absolute, on_failure, instance, limit, mode, "
                                 "sample, room, force_room, seed, report, world_size or autofix";

[[noreturn]] void refuse(const std::string &keyword, const std::string &got,
                         const std::string &expected)
{
  throw std::runtime_error(STYLE + " " + keyword + ": got " + got + ", expected " + expected);
}

std::int64_t whole_number(const std::string &keyword, const std::string &text, std::int64_t least,
                          std::int64_t most, const std::string &expected)
{
  char *end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || value < least || value > most) refuse(keyword, text, expected);
  return value;
}

// NaN fails the test that follows

double number(const std::string &text)
{
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end ? std::numeric_limits<double>::quiet_NaN() : value;
}

/* ---------------------------------------------------------------------- */

void set_every(const std::string &text, ValidateOptions &options)
{
  options.once = text == "once";
  options.on_rebalance = text == "rebalance";
  options.every = 0;
  if (options.once || options.on_rebalance) return;
  options.every = whole_number("every", text, 0, std::numeric_limits<std::int64_t>::max(),
                               "a whole number of steps, or 0 for set-up only, or once or "
                               "rebalance");
}

/* ---------------------------------------------------------------------- */

void set_absolute(const std::string *values, ValidateOptions &options)
{
  options.tolerance.absolute.emplace();
  for (int k = 0; k < 4; k++) {
    (*options.tolerance.absolute)[k] = number(values[k]);
    if (!((*options.tolerance.absolute)[k] >= 0.0))
      refuse("absolute", values[k],
             "numbers >= 0 for energy, atomic energies, forces and stress in eV and Angstrom");
  }
}

/* ---------------------------------------------------------------------- */

void set_report(const std::string &text, ValidateOptions &options)
{
  const std::string ending = JSON_ENDING;
  if (text.size() <= ending.size() ||
      text.compare(text.size() - ending.size(), ending.size(), ending) != 0)
    refuse("report", text, "the name of a file that ends in .json");
  options.report = text;
}

/* ---------------------------------------------------------------------- */

void set_mode(const std::string &text, ValidateOptions &options)
{
  using Mode = ValidateOptions::Mode;
  if (text != "auto" && text != "gathered" && text != "sampled")
    refuse("mode", text, "auto, gathered or sampled");
  options.mode = text == "auto" ? Mode::Auto : text == "gathered" ? Mode::Gathered : Mode::Sampled;
}

/* ---------------------------------------------------------------------- */

void set_option(const std::string &keyword, const std::string *value, ValidateOptions &options)
{
  std::string expected;
  if (options.sample.set(keyword, value[0], expected)) {
    if (!expected.empty()) refuse(keyword, value[0], expected);
  } else if (keyword == "mode") {
    set_mode(value[0], options);
  } else if (keyword == "every") {
    set_every(value[0], options);
  } else if (keyword == "tolerance") {
    options.tolerance.relative = number(value[0]);
    if (!(*options.tolerance.relative > 0.0))
      refuse(keyword, value[0], "a number > 0, relative to the largest value of each quantity");
  } else if (keyword == "absolute") {
    set_absolute(value, options);
  } else if (keyword == "on_failure") {
    if (value[0] != "error" && value[0] != "warn") refuse(keyword, value[0], "error or warn");
    options.stops = value[0] == "error";
  } else if (keyword == "instance") {
    options.instance = static_cast<int>(
        whole_number(keyword, value[0], 1, 1000000, "a number >= 1 among the styles nvalchemi"));
  } else if (keyword == "limit") {
    options.limit = whole_number(keyword, value[0], 1, std::numeric_limits<std::int64_t>::max(),
                                 "a whole number of atoms >= 1");
  } else if (keyword == "report") {
    set_report(value[0], options);
  } else if (keyword == "world_size") {
    options.world_size = static_cast<int>(
        whole_number(keyword, value[0], 1, 1024, "a number of virtual ranks from 1 to 1024"));
  } else {
    if (value[0] != "no" && value[0] != "report" && value[0] != "apply")
      refuse(keyword, value[0], "no, report or apply");
    options.autofix = value[0] == "no"       ? AutoFix::No
                      : value[0] == "report" ? AutoFix::Report
                                             : AutoFix::Apply;
  }
}

bool is_known(const std::string &keyword)
{
  for (const char *known :
       {"every", "tolerance", "absolute", "on_failure", "instance", "limit", "mode", "sample",
        "room", "force_room", "seed", "report", "world_size", "autofix"})
    if (keyword == known) return true;
  return false;
}

}    // namespace

/* ---------------------------------------------------------------------- */

ValidateOptions parse_validate_options(const std::vector<std::string> &arguments)
{
  ValidateOptions options;
  std::size_t at = 0;
  while (at < arguments.size()) {
    const std::string &keyword = arguments[at];
    if (!is_known(keyword))
      throw std::runtime_error(STYLE + ": got keyword '" + keyword + "', expected " + KEYWORDS);
    const std::size_t wanted = keyword == "absolute" ? 4 : 1;
    const std::size_t present = arguments.size() - at - 1;
    if (present < wanted)
      refuse(keyword, std::to_string(present) + (present == 1 ? " value" : " values"),
             std::to_string(wanted));
    set_option(keyword, &arguments[at + 1], options);
    at += 1 + wanted;
  }
  if (options.autofix != AutoFix::No && options.report.empty())
    refuse("autofix", "no file for the spec that is found", "keyword report with a file as well");
  return options;
}

/* ---------------------------------------------------------------------- */

std::string refused_by_sampling(const ValidateOptions &options)
{
  const bool world = options.world_size > 0, autofix = options.autofix != AutoFix::No;
  if (!world && !autofix) return "";
  return STYLE + ": got " + (world ? "world_size" : "") + (world && autofix ? " and " : "") +
         (autofix ? "autofix" : "") +
         ", expected neither where atoms are sampled, because no ranks are played in one process; "
         "the comparison goes on without. Cut a smaller cell of the same material and run "
         "nvalchemi-validate on it with --ranks and --autofix";
}

/* ---------------------------------------------------------------------- */

std::string report_file(const std::string &pattern, std::int64_t step)
{
  const std::size_t star = pattern.find('*');
  if (star == std::string::npos) return pattern;
  return pattern.substr(0, star) + std::to_string(step) + pattern.substr(star + 1);
}

/* ---------------------------------------------------------------------- */

std::string spec_file_beside(const std::string &report_file)
{
  return report_file.substr(0, report_file.size() - std::string(JSON_ENDING).size()) + ".spec.json";
}

}    // namespace nvalchemi
