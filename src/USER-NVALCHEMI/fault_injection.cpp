// SPDX-License-Identifier: GPL-2.0-only

#include "fault_injection.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace nvalchemi {

namespace {

constexpr std::pair<Fault, const char *> NAMES[] = {
    {Fault::DropForward, "drop_forward"},  {Fault::NoZeroReverse, "no_zero_reverse"},
    {Fault::SkipReverse, "skip_reverse"},  {Fault::CorrectTwice, "correct_twice"},
    {Fault::SwapEdges, "swap_edges"},      {Fault::WrongOwner, "wrong_owner"},
    {Fault::SwapRows, "swap_rows"},        {Fault::RoundRows, "round_rows"},
    {Fault::SkipSum, "skip_sum"},          {Fault::DropLater, "drop_later_forward"},
    {Fault::MixOutputs, "mix_outputs"},    {Fault::SwapEnergies, "swap_energies"},
    {Fault::FailInCheck, "fail_in_check"}, {Fault::WrongLayout, "wrong_layout"},
    {Fault::DieInLoad, "die_in_load"},     {Fault::DieInRows, "die_in_rows"},
    {Fault::DieInModel, "die_in_model"},   {Fault::DieInExchange, "die_in_exchange"},
    {Fault::DieInCheck, "die_in_check"},
};

}    // namespace

/* ---------------------------------------------------------------------- */

Fault fault_from_environment()
{
  const char *value = std::getenv("NVALCHEMI_FAULT");
  if (!value || !*value) return Fault::None;
  std::string known;
  for (const auto &[fault, name] : NAMES) {
    if (std::string(value) == name) return fault;
    known += std::string(known.empty() ? "" : ", ") + name;
  }
  throw std::runtime_error("environment variable NVALCHEMI_FAULT: got '" + std::string(value) +
                           "', expected one of " + known + ". Unset it for a correct run");
}

/* ---------------------------------------------------------------------- */

std::string fault_name(Fault fault)
{
  for (const auto &[candidate, name] : NAMES)
    if (candidate == fault) return name;
  return "none";
}

/* ---------------------------------------------------------------------- */

void plant_in(Evaluation &evaluation, Fault fault)
{
  auto &energies = evaluation.atomic_energies;
  if (fault == Fault::SwapEnergies)
    for (std::size_t row = 1; row < energies.size(); row += 20)
      std::swap(energies[row - 1], energies[row]);
  if (fault != Fault::MixOutputs) return;
  for (auto &[key, output] : evaluation.extras) {
    auto &values = output.values;
    if (!output.per_node)
      for (double &value : values) value += 1.0;
    else if (!values.empty())
      std::rotate(values.begin(), values.begin() + output.width, values.end());
  }
}

/* ---------------------------------------------------------------------- */

void die_if(Fault planted, Fault here, int time)
{
  static int met = 0;
  if (planted == here && ++met == time) std::raise(SIGKILL);
}

}    // namespace nvalchemi
