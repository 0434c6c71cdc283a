// SPDX-License-Identifier: GPL-2.0-only

#include "input_source.h"

#include <cmath>
#include <map>
#include <stdexcept>

namespace nvalchemi {

namespace {

[[noreturn]] void refuse(const std::string &input, const std::string &word)
{
  throw std::runtime_error("keyword input " + input + ": got '" + word +
                           "', expected a number, q, d_NAME, i_NAME, d2_NAME[i], i2_NAME[i], "
                           "v_NAME, c_ID or f_ID, the last three also with [i]");
}

/* ---------------------------------------------------------------------- */

bool is_number(const std::string &word, double &number)
{
  std::size_t used = 0;
  try {
    number = std::stod(word, &used);
  } catch (const std::exception &) {
    return false;
  }
  return used == word.size();
}

}    // namespace

/* ---------------------------------------------------------------------- */

InputSource parse_input_source(const std::string &input, const std::string &word)
{
  using Kind = InputSource::Kind;
  static const std::map<std::string, Kind> KINDS = {
      {"d", Kind::Property}, {"i", Kind::Property}, {"d2", Kind::Property}, {"i2", Kind::Property},
      {"v", Kind::Variable}, {"c", Kind::Compute},  {"f", Kind::Fix}};
  InputSource source;
  source.text = word;
  if (is_number(word, source.number)) {
    if (!std::isfinite(source.number)) refuse(input, word);
    return source;
  }
  if (word == "q") {
    source.kind = Kind::Charge;
    return source;
  }
  const std::size_t line = word.find('_');
  const auto kind = KINDS.find(word.substr(0, line));
  if (line == std::string::npos || kind == KINDS.end()) refuse(input, word);
  source.kind = kind->second;
  source.is_integer = word[0] == 'i';
  source.has_columns = line == 2;
  const std::size_t bracket = word.find('[');
  source.name = word.substr(line + 1, bracket == std::string::npos ? bracket : bracket - line - 1);
  if (source.name.empty()) refuse(input, word);
  if (bracket != std::string::npos) {
    const std::string digits = word.substr(bracket + 1, word.size() - bracket - 2);
    if (word.back() != ']' || digits.empty() || digits.size() > 6 ||
        digits.find_first_not_of("0123456789") != std::string::npos || std::stoi(digits) < 1)
      refuse(input, word);
    source.index = std::stoi(digits);
  }
  if (source.kind == Kind::Property && source.has_columns != (source.index > 0))
    refuse(input, word);
  return source;
}

}    // namespace nvalchemi
