// SPDX-License-Identifier: GPL-2.0-only

#include "validation_verdict.h"

#include "fmt/format.h"

#include <algorithm>
#include <cmath>

using namespace LAMMPS_NS;

namespace {

constexpr std::size_t SHOWN = 3;    // atoms
constexpr std::size_t SHOWN_RANKS = 8;

const char *quantity_name(int k, bool has_volume)
{
  const char *names[] = {"energy", "atomic energies", "forces", has_volume ? "stress" : "virial",
                         "atomic virials"};
  return names[k];
}

const char *unit_name(int k, bool has_volume)
{
  const char *names[] = {"eV", "eV", "eV/A", has_volume ? "eV/A^3" : "eV", "eV"};
  return names[k];
}

// NaN counts as larger than any number

double larger_ratio(double worst, double ratio)
{
  return std::isnan(worst) || ratio <= worst ? worst : ratio;
}

/* ---------------------------------------------------------------------- */

std::string describe_numbers(const ValidationVerdict &verdict, const nvalchemi::DecomposedRun &run)
{
  std::string text = "the decomposed run differs from the undecomposed model:";
  for (int k = 0; k < ValidationVerdict::QUANTITIES; k++) {
    if (verdict.passed(k)) continue;
    text += fmt::format(" {} by {:.4g} {} (expected at most {:.4g}",
                        quantity_name(k, verdict.has_volume), verdict.difference[k],
                        unit_name(k, verdict.has_volume), verdict.tolerance[k]);
    if (verdict.tag[k])
      text += fmt::format("; largest at atom id {} on rank {}", verdict.tag[k], verdict.owner[k]);
    text += "),";
  }
  for (const auto &output : further_outputs(run)) {
    if (output.passed()) continue;
    text += fmt::format(" {} by {:.4g} (expected at most {:.4g}", output.quantity,
                        output.difference, output.tolerance);
    if (output.worst >= 0)
      text += fmt::format("; largest at atom id {}", output.worst);
    else if (output.rank >= 0)
      text += "; largest";
    if (output.rank >= 0) text += fmt::format(" on rank {}", output.rank);
    text += "),";
  }
  text.back() = ';';
  return text;
}

/* ---------------------------------------------------------------------- */

std::string describe_errors(const nvalchemi::ErrorMap &errors)
{
  std::string text = " worst atoms:";
  for (std::size_t k = 0; k < std::min(SHOWN, errors.worst.size()); k++) {
    const auto &atom = errors.worst[k];
    text += fmt::format("{} id {} on rank {} by {:.3g} eV/A", k > 0 ? "," : "", atom.atom,
                        atom.rank, atom.force_error);
    if (atom.face_distance) text += fmt::format(", {:.2f} A from a face", *atom.face_distance);
  }
  text += "; largest force error of rank";
  const auto &ranks = errors.largest_of_rank;
  for (std::size_t rank = 0; rank < std::min(SHOWN_RANKS, ranks.size()); rank++)
    text += fmt::format("{} {}: {:.3g}", rank > 0 ? "," : "", rank, ranks[rank]);
  return text + (ranks.size() > SHOWN_RANKS ? ", ...;" : ";");
}

/* ---------------------------------------------------------------------- */

std::string describe_neighbors(const nvalchemi::Completeness &found)
{
  std::string text =
      fmt::format(" {} atoms have other neighbours than they should ({} of {} edges seen)",
                  found.atoms_wrong, found.edges_seen, found.edges_expected);
  for (std::size_t k = 0; k < std::min(SHOWN, found.first.size()); k++)
    text += fmt::format("{} atom id {} on rank {} sees {} of {}", k > 0 ? "," : ":",
                        found.first[k].atom, found.first[k].rank, found.first[k].seen,
                        found.first[k].expected);
  if (found.atoms_owned_otherwise > 0)
    text += fmt::format("; {} ids occur more than once", found.atoms_owned_otherwise);
  return text + ";";
}

}    // namespace

/* ---------------------------------------------------------------------- */

bool ValidationVerdict::numbers_agree() const
{
  for (int k = 0; k < QUANTITIES; k++)
    if (!passed(k)) return false;
  return outputs_wrong == 0;
}

/* ---------------------------------------------------------------------- */

double ValidationVerdict::worst_ratio() const
{
  double worst = outputs > 0 ? output_ratio : -1.0;
  for (int k = 0; k < QUANTITIES; k++) {
    if (!compared[k]) continue;
    const double ratio = difference[k] == 0.0 ? 0.0 : difference[k] / tolerance[k];
    worst = larger_ratio(worst, ratio);
  }
  return worst;
}

/* ---------------------------------------------------------------------- */

void ComparisonTally::add(const ValidationVerdict &verdict)
{
  comparisons++;
  if (verdict.failed()) failed++;
  if (verdict.undecided) undecided++;
  worst = larger_ratio(worst, verdict.worst_ratio());
}

/* ---------------------------------------------------------------------- */

std::string LAMMPS_NS::describe_tally(const ComparisonTally &tally, const std::string &fix_id)
{
  const bigint count = tally.comparisons;
  auto text =
      fmt::format("nvalchemi: fix {}: {} comparison{}, ", fix_id, count, count == 1 ? "" : "s");
  if (tally.failed > 0)
    text += fmt::format("{} of {} failed", tally.failed, count);
  else if (tally.undecided == 0)
    text += count == 1 ? "passed" : "all passed";
  else
    text += "none failed";
  if (tally.undecided > 0)
    text += fmt::format(", {} proved the run neither right nor wrong", tally.undecided);
  if (tally.worst >= 0.0 || std::isnan(tally.worst))
    text += fmt::format(", worst {:.2g} of a tolerance", tally.worst);
  return text;
}

/* ---------------------------------------------------------------------- */

ValidationVerdict LAMMPS_NS::make_verdict(const GatheredSystem &gathered,
                                          const nvalchemi::DecomposedRun &run)
{
  ValidationVerdict verdict;
  const std::size_t named = ValidationVerdict::QUANTITIES;
  for (std::size_t k = 0; k < std::min(named, run.quantities.size()); k++) {
    const auto &deviation = run.quantities[k];
    verdict.compared[k] = deviation.compared;
    verdict.largest[k] = deviation.largest;
    verdict.difference[k] = deviation.compared ? deviation.difference : -1.0;
    verdict.tolerance[k] = deviation.tolerance;
    if (deviation.worst < 0) continue;
    verdict.tag[k] = static_cast<tagint>(gathered.atoms.ids[deviation.worst]);
    verdict.owner[k] = gathered.atoms.owners[deviation.worst];
  }
  for (const auto &output : further_outputs(run)) {
    verdict.outputs++;
    if (!output.passed()) verdict.outputs_wrong++;
    const double ratio = output.difference / output.tolerance;
    if (!(ratio <= verdict.output_ratio) && !std::isnan(verdict.output_ratio))
      verdict.output_ratio = ratio;
  }
  const bool *periodic = gathered.atoms.system.periodic;
  verdict.has_volume = periodic[0] && periodic[1] && periodic[2];
  verdict.natoms = gathered.atoms.system.size();
  verdict.complete = run.completeness.complete;
  verdict.atoms_wrong = run.completeness.atoms_wrong;
  verdict.exchange_good = run.plan.good;
  return verdict;
}

/* ---------------------------------------------------------------------- */

std::vector<nvalchemi::Deviation> LAMMPS_NS::further_outputs(const nvalchemi::DecomposedRun &run)
{
  const std::size_t named = ValidationVerdict::QUANTITIES;
  if (run.quantities.size() <= named) return {};
  return {run.quantities.begin() + named, run.quantities.end()};
}

/* ---------------------------------------------------------------------- */

std::string LAMMPS_NS::verdict_table(const ValidationVerdict &verdict,
                                     const std::vector<nvalchemi::Deviation> &further,
                                     const std::string &fix_id, bigint step, int nprocs)
{
  auto text =
      fmt::format("Validation by fix {} at step {}: {} atoms on {} rank{} against the "
                  "undecomposed model ({:.3g} s)\n"
                  "  {:<16}{:>8}{:>12}{:>13}{:>12}{:>10}{:>6}  verdict\n",
                  fix_id, step, verdict.natoms, nprocs, nprocs == 1 ? "" : "s", verdict.seconds,
                  "quantity", "unit", "largest", "difference", "tolerance", "atom id", "rank");
  for (int k = 0; k < ValidationVerdict::QUANTITIES; k++) {
    text += fmt::format("  {:<16}{:>8}", quantity_name(k, verdict.has_volume),
                        unit_name(k, verdict.has_volume));
    if (!verdict.compared[k]) {
      text += "  not compared: the archive gives no reference for it\n";
      continue;
    }
    text += fmt::format("{:>12.4e}{:>13.4e}{:>12.4e}{:>10}{:>6}  {}\n", verdict.largest[k],
                        verdict.difference[k], verdict.tolerance[k],
                        verdict.tag[k] ? std::to_string(verdict.tag[k]) : "-",
                        verdict.tag[k] ? std::to_string(verdict.owner[k]) : "-",
                        verdict.passed(k) ? "same" : "DIFFERENT");
  }
  for (const auto &output : further)
    text += fmt::format("  {:<23} {:>12.4e}{:>13.4e}{:>12.4e}{:>10}{:>6}  {}\n", output.quantity,
                        output.largest, output.difference, output.tolerance,
                        output.worst >= 0 ? std::to_string(output.worst) : "-",
                        output.rank >= 0 ? std::to_string(output.rank) : "-",
                        output.passed() ? "same" : "DIFFERENT");
  return text + fmt::format("  neighbours {}, exchange {}\n",
                            verdict.complete ? "complete" : "INCOMPLETE",
                            verdict.exchange_good ? "good" : "WRONG");
}

/* ---------------------------------------------------------------------- */

std::string LAMMPS_NS::describe_differences(const ValidationVerdict &verdict,
                                            const nvalchemi::DecomposedRun &run)
{
  std::string text;
  if (verdict.numbers_agree() && (!verdict.complete || !verdict.exchange_good))
    text = "the decomposed run is not sound, although its numbers are those of the undecomposed "
           "model:";
  else if (verdict.numbers_agree())
    text = "the decomposed run agrees with the undecomposed model, but the parts that were played "
           "in one process do not;";
  else
    text = describe_numbers(verdict, run) + (run.errors ? describe_errors(*run.errors) : "");
  if (!verdict.complete) text += describe_neighbors(run.completeness);
  if (!verdict.exchange_good) text += " the exchange is wrong: " + run.plan.first + ";";
  if (verdict.numbers_agree() && verdict.complete && verdict.exchange_good)
    return text + " this run is right, but the spec would be wrong on more ranks";
  return text + " do not use these numbers";
}
