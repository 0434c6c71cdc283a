// SPDX-License-Identifier: GPL-2.0-only

#include "sampled_verdict.h"

#include "fmt/format.h"

#include "potentials/validator/sampled_choice.hpp"

#include <algorithm>
#include <cmath>

using namespace LAMMPS_NS;
using nvalchemi::SampledQuantity;
using nvalchemi::StratumReached;

namespace {

constexpr std::size_t SHOWN_STRATA = 16;

const char *verdict_word(bool passed)
{
  return passed ? "same" : "DIFFERENT";
}

std::string place(const SampledQuantity &quantity)
{
  if (quantity.tag == 0) return "";
  return fmt::format("; largest at atom id {} on rank {}", quantity.tag, quantity.owner);
}

std::string quantity_line(const char *name, const char *unit, const SampledQuantity &quantity,
                          int steps)
{
  if (!quantity.not_compared.empty())
    return fmt::format("  {}: not compared: {}\n", name, quantity.not_compared);
  auto text =
      fmt::format("  {}: {} atoms, with the atoms within {} step{} of them and no others (at most "
                  "{} together): largest {:.4e} {}, difference {:.4e} (tolerance {:.4e}){}: {}\n",
                  name, quantity.atoms, steps, steps == 1 ? "" : "s", quantity.largest_cluster,
                  quantity.largest, unit, quantity.difference, quantity.tolerance, place(quantity),
                  verdict_word(quantity.passed()));
  if (quantity.skipped > 0)
    text += fmt::format("    {} more were drawn and left out for want of room\n", quantity.skipped);
  return text;
}

std::string name_of(const StratumReached &stratum)
{
  if (stratum.neighbor == nvalchemi::kInterior)
    return fmt::format("rank {} beside no other", stratum.rank);
  if (stratum.neighbor == stratum.rank)
    return fmt::format("rank {} beside its own images", stratum.rank);
  return fmt::format("rank {} beside rank {}", stratum.rank, stratum.neighbor);
}

// the worst first

std::string strata_lines(const SampledVerdict &verdict)
{
  const auto &energies = verdict.energies;
  if (!energies.not_compared.empty()) return "";
  const auto strata = nvalchemi::worst_first(verdict.strata);
  auto text = fmt::format(
      "    if none differs, fewer than 3/K = {:.2g} of all atoms do, and fewer than {:.2g} of any "
      "stratum (95 % confidence); {} strata:\n",
      verdict.bound(), verdict.stratum_bound, strata.size());
  for (std::size_t k = 0; k < std::min(SHOWN_STRATA, strata.size()); k++) {
    text += fmt::format("    {}: K = {} of {} atoms; ", name_of(strata[k]), strata[k].sampled,
                        strata[k].rows);
    text += strata[k].bound() == 0.0 ? "a fault in any of them would be seen\n"
                                     : fmt::format("a fault in {:.3g} % of them would be seen\n",
                                                   100.0 * strata[k].bound());
  }
  if (strata.size() > SHOWN_STRATA)
    text += fmt::format("    {} more, none worse than these\n", strata.size() - SHOWN_STRATA);
  text += fmt::format("    one step is {:g} Angstrom at most", verdict.cutoff);
  if (verdict.beyond_reach >= 0.0)
    text += fmt::format("; one step more changes an energy by {:.4e} eV", verdict.beyond_reach);
  return text + "\n";
}

}    // namespace

/* ---------------------------------------------------------------------- */

ValidationVerdict SampledVerdict::figures() const
{
  ValidationVerdict verdict;
  verdict.difference[0] = verdict.difference[3] = -1.0;
  verdict.natoms = energies.atoms;
  verdict.seconds = seconds;
  verdict.exchange_good = plan.good ? 1 : 0;
  verdict.undecided = passed() && !has_reference() ? 1 : 0;
  const auto copy = [&](int k, const SampledQuantity &quantity) {
    verdict.compared[k] = quantity.not_compared.empty();
    verdict.difference[k] = verdict.compared[k] ? quantity.difference : -1.0;
    verdict.largest[k] = quantity.largest;
    verdict.tolerance[k] = quantity.tolerance;
    verdict.tag[k] = quantity.tag;
    verdict.owner[k] = quantity.owner;
  };
  copy(1, energies);
  copy(2, forces);
  const double ratio = verdict.compared[2] ? forces.difference / forces.tolerance : -1.0;
  if (no_slope.empty() && !(slope_difference() / slope_tolerance <= ratio)) {
    SampledQuantity along;
    along.largest = std::fabs(projected_forces);
    along.difference = slope_difference();
    along.tolerance = slope_tolerance;
    copy(2, along);
  }
  return verdict;
}

/* ---------------------------------------------------------------------- */

std::string LAMMPS_NS::sampled_report(const SampledVerdict &verdict, const std::string &label,
                                      bigint step, int nprocs)
{
  auto text =
      fmt::format("Validation by {} at step {}: {} atoms on {} rank{}, sampled "
                  "({:.3g} s)\n",
                  label, step, verdict.natoms, nprocs, nprocs == 1 ? "" : "s", verdict.seconds);
  text +=
      fmt::format("  exchanges: all {} halo rows of all ranks, by atom id, forward "
                  "and back: {} wrong: {}\n",
                  verdict.plan.halo_rows, verdict.plan.wrong(), verdict_word(verdict.plan.good));
  if (!verdict.plan.good) text += "    first: " + verdict.plan.first + "\n";
  text += quantity_line("atomic energies", "eV", verdict.energies, verdict.hops);
  text += strata_lines(verdict);
  text += quantity_line("forces", "eV/A", verdict.forces, 2 * verdict.hops);
  if (verdict.no_slope.empty())
    text += fmt::format("  all forces along one random direction, against the slope of the "
                        "decomposed energy: {:.8e} and {:.8e} eV/A, difference {:.4e} (tolerance "
                        "{:.4e}): {}\n",
                        verdict.projected_forces, verdict.slope, verdict.slope_difference(),
                        verdict.slope_tolerance, verdict_word(verdict.slope_passed()));
  else
    text += "  all forces along one random direction: not compared: " + verdict.no_slope + "\n";
  text += "  ";
  for (const auto &quantity : nvalchemi::unchecked_by_samples()) text += quantity + ", ";
  text.replace(text.size() - 2, 2, ": taken from the run, not checked\n");
  text +=
      "  not seen: wrong energies of atoms outside of the sample whose forces are their slopes; "
      "forces that are wrong by less than the tolerance along that direction\n";
  return text;
}

/* ---------------------------------------------------------------------- */

std::string LAMMPS_NS::describe_sampled_differences(const SampledVerdict &verdict)
{
  std::string text = "the decomposed run differs from the undecomposed model where it was sampled:";
  if (!verdict.plan.good)
    text += fmt::format(" exchanges between ranks deliver {} wrong rows (first: {}),",
                        verdict.plan.wrong(), verdict.plan.first);
  const auto add = [&](const char *name, const char *unit, const SampledQuantity &quantity) {
    if (quantity.passed()) return;
    text += fmt::format(" {} by {:.4g} {} (expected at most {:.4g}{}),", name, quantity.difference,
                        unit, quantity.tolerance, place(quantity));
  };
  add("atomic energies", "eV", verdict.energies);
  add("forces", "eV/A", verdict.forces);
  if (!verdict.slope_passed())
    text += fmt::format(" all forces along a random direction differ from the slope of the energy "
                        "by {:.4g} eV/A (expected at most {:.4g}; so they do, decomposed or not, "
                        "where a model's forces are not the slope of its energy),",
                        verdict.slope_difference(), verdict.slope_tolerance);
  text.back() = ';';
  return text + " do not use these numbers, or give the difference that you accept with keyword "
                "tolerance or absolute";
}

/* ---------------------------------------------------------------------- */

std::string LAMMPS_NS::describe_undecided(const SampledVerdict &verdict)
{
  return fmt::format(
      "this comparison proves the run neither right nor wrong: no energies of atoms were compared "
      "({}) and no single forces ({}), and exchanges and slope are right for a wrong spec, too. "
      "Compare a smaller cell of the same material with mode gathered, or run nvalchemi-validate "
      "on it",
      verdict.energies.not_compared, verdict.forces.not_compared);
}
