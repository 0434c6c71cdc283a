// SPDX-License-Identifier: GPL-2.0-only

#include "pair_options.h"

#include <strings.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace nvalchemi {

namespace {

constexpr char KEYWORDS[] = "device, halo_comm, graphs, overlap, card, spec, lenient, ops, charge, "
                            "input, threads, selftest, exclusions, "
                            "centroid, verbose";

/* ---------------------------------------------------------------------- */

bool is_keyword(const std::string &word)
{
  const std::string known = std::string(", ") + KEYWORDS + ",";
  return known.find(", " + word + ",") != std::string::npos;
}

/* ----------------------------------------------------------------------
   "input NAME SOURCE ...": what follows the name up to the next keyword.
   Returns the place of the last word.
------------------------------------------------------------------------- */

std::size_t read_input(const std::vector<std::string> &arguments, std::size_t at,
                       std::vector<InputOption> &inputs)
{
  InputOption input;
  input.name = arguments[at];
  for (const InputOption &other : inputs)
    if (other.name == input.name)
      throw std::runtime_error("keyword input: got '" + input.name +
                               "' twice, expected all of its sources after one");
  for (; at + 1 < arguments.size() && !is_keyword(arguments[at + 1]); ++at)
    input.sources.push_back(parse_input_source(input.name, arguments[at + 1]));
  if (input.sources.empty())
    throw std::runtime_error("keyword input " + input.name +
                             ": got no source, expected one for each number that the model takes, "
                             "such as 0.5, v_NAME or c_ID");
  inputs.push_back(input);
  return at;
}

/* ---------------------------------------------------------------------- */

[[noreturn]] void refuse(const std::string &keyword, const std::string &got,
                         const std::string &expected)
{
  throw std::runtime_error("keyword " + keyword + ": got '" + got + "', expected " + expected);
}

/* ---------------------------------------------------------------------- */

bool choose(const std::string &keyword, const std::string &value, const std::string &when_true,
            const std::string &when_false, const std::string &expected = "")
{
  if (value == when_true) return true;
  if (value == when_false) return false;
  refuse(keyword, value, expected.empty() ? when_true + " or " + when_false : expected);
}

/* ---------------------------------------------------------------------- */

bool is_number(const std::string &text)
{
  return !text.empty() && text.size() < 7 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

/* ---------------------------------------------------------------------- */

std::string device(const std::string &value)
{
  const bool numbered = value.rfind("cuda:", 0) == 0 && is_number(value.substr(5));
  if (value == "auto" || value == "cpu" || value == "cuda" || numbered) return value;
  refuse("device", value, "auto, cpu, cuda or cuda:N");
}

/* ---------------------------------------------------------------------- */

GraphUse graphs(const std::string &value)
{
  if (value == "auto") return GraphUse::Auto;
  return choose("graphs", value, "yes", "no", "auto, yes or no") ? GraphUse::Yes : GraphUse::No;
}

/* ---------------------------------------------------------------------- */

double charge(const std::string &value)
{
  std::size_t used = 0;
  double number = 0.0;
  try {
    number = std::stod(value, &used);
  } catch (const std::exception &) {
    used = std::string::npos;
  }
  if (used != value.size() || !std::isfinite(number))
    refuse("charge", value, "the total charge of the system, a number in e");
  return number;
}

/* ---------------------------------------------------------------------- */

int threads(const std::string &value)
{
  if (!is_number(value) || std::stoi(value) < 1) refuse("threads", value, "a number from 1 on");
  return std::stoi(value);
}

/* ---------------------------------------------------------------------- */

int verbosity(const std::string &value)
{
  if (value == "0" || value == "quiet") return 0;
  if (value == "1" || value == "no") return 1;
  if (value == "2" || value == "yes") return 2;
  refuse("verbose", value, "0, 1 or 2 (or quiet, no, yes)");
}

/* ---------------------------------------------------------------------- */

std::string list(const std::vector<std::string> &words)
{
  std::string text;
  for (const std::string &word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}    // namespace

/* ---------------------------------------------------------------------- */

PairOptions parse_pair_options(const std::vector<std::string> &arguments)
{
  PairOptions options;
  for (std::size_t k = 0; k < arguments.size(); k += 2) {
    const std::string keyword = arguments[k];
    if (keyword.size() > 3 && keyword.compare(keyword.size() - 3, 3, ".pt") == 0)
      throw std::runtime_error("got '" + keyword +
                               "', expected keywords and values. The model's "
                               "archive belongs into 'pair_coeff * * " +
                               keyword + " El1 El2 ...'");
    if (k + 1 == arguments.size())
      throw std::runtime_error("keyword " + keyword +
                               ": got no value, expected one (keywords: " + KEYWORDS + ")");
    const std::string &value = arguments[k + 1];
    if (keyword == "device")
      options.device = device(value);
    else if (keyword == "halo_comm")
      options.halo_comm = parse_halo_comm(value);
    else if (keyword == "graphs")
      options.graphs = graphs(value);
    else if (keyword == "overlap")
      options.overlap = choose(keyword, value, "yes", "no");
    else if (keyword == "card")
      options.card_file = value;
    else if (keyword == "spec")
      options.spec = value;
    else if (keyword == "lenient")
      options.lenient_spec = choose(keyword, value, "yes", "no");
    else if (keyword == "ops")
      options.operator_libraries.push_back(value);
    else if (keyword == "charge")
      options.total_charge = charge(value);
    else if (keyword == "input")
      k = read_input(arguments, k + 1, options.inputs) - 1;
    else if (keyword == "threads")
      options.threads = threads(value);
    else if (keyword == "selftest")
      options.self_test = choose(keyword, value, "yes", "no");
    else if (keyword == "exclusions")
      options.allow_exclusions = choose(keyword, value, "allow", "refuse");
    else if (keyword == "centroid")
      options.centroid = choose(keyword, value, "yes", "no");
    else if (keyword == "verbose")
      options.verbose = verbosity(value);
    else
      throw std::runtime_error("got unknown keyword '" + keyword + "', expected one of " +
                               KEYWORDS);
  }
  for (const InputOption &input : options.inputs)
    if (input.name == "total_charge" && options.total_charge)
      throw std::runtime_error("keyword charge: got it beside 'input total_charge', expected one "
                               "of the two");
  return options;
}

/* ----------------------------------------------------------------------
   a known element that differs in upper and lower case only
------------------------------------------------------------------------- */

static std::string other_spelling(const std::string &symbol,
                                  const std::vector<std::string> &species)
{
  for (const std::string &known : species)
    if (known.size() == symbol.size() && strcasecmp(known.c_str(), symbol.c_str()) == 0)
      return ". Write " + known;
  return {};
}

/* ---------------------------------------------------------------------- */

std::vector<int> map_types(const std::vector<std::string> &symbols, int ntypes,
                           const std::vector<std::string> &species, bool under_hybrid)
{
  if (static_cast<int>(symbols.size()) != ntypes)
    throw std::runtime_error("pair_coeff: got " + std::to_string(symbols.size()) +
                             std::string(symbols.size() == 1 ? " element symbol, expected "
                                                             : " element symbols, expected ") +
                             std::to_string(ntypes) +
                             " (one for each atom type). Use 'pair_coeff * * FILE " +
                             "El1 El2 ...'");
  std::vector<int> species_of_type(ntypes + 1, -1);
  for (int type = 1; type <= ntypes; ++type) {
    const std::string &symbol = symbols[type - 1];
    if (symbol == "NULL") {
      if (!under_hybrid)
        throw std::runtime_error("pair_coeff: got NULL for atom type " + std::to_string(type) +
                                 ", expected an element. Types without this potential need "
                                 "'pair_style hybrid' or 'hybrid/overlay'");
      continue;
    }
    const auto found = std::find(species.begin(), species.end(), symbol);
    if (found == species.end())
      throw std::runtime_error("pair_coeff: got element '" + symbol + "' for atom type " +
                               std::to_string(type) + ", expected one that the model knows: " +
                               list(species) + other_spelling(symbol, species));
    species_of_type[type] = static_cast<int>(found - species.begin());
  }
  return species_of_type;
}

}    // namespace nvalchemi
