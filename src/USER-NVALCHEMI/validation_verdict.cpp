// SPDX-License-Identifier: GPL-2.0-only

#include "validation_verdict.h"

#include "fmt/format.h"

using namespace LAMMPS_NS;

namespace {

const char *quantity_name(int k, bool has_volume)
{
  const char *names[4] = {"energy", "atomic energies", "forces", has_volume ? "stress" : "virial"};
  return names[k];
}

const char *unit_name(int k, bool has_volume)
{
  const char *names[4] = {"eV", "eV", "eV/A", has_volume ? "eV/A^3" : "eV"};
  return names[k];
}

}    // namespace

/* ---------------------------------------------------------------------- */

ValidationVerdict LAMMPS_NS::make_verdict(const GatheredSystem &gathered,
                                          const nvalchemi::Deviations &deviations)
{
  ValidationVerdict verdict;
  for (int k = 0; k < 4; k++) {
    const auto &deviation = deviations[k];
    verdict.compared[k] = deviation.compared;
    verdict.largest[k] = deviation.largest;
    verdict.difference[k] = deviation.compared ? deviation.difference : -1.0;
    verdict.tolerance[k] = deviation.tolerance;
    if (deviation.worst < 0) continue;
    verdict.tag[k] = gathered.tags[deviation.worst];
    verdict.owner[k] = gathered.owners[deviation.worst];
  }
  const bool *periodic = gathered.system.periodic;
  verdict.has_volume = periodic[0] && periodic[1] && periodic[2];
  verdict.natoms = gathered.system.size();
  return verdict;
}

/* ---------------------------------------------------------------------- */

std::string LAMMPS_NS::verdict_table(const ValidationVerdict &verdict, const std::string &fix_id,
                                     bigint step, int nprocs)
{
  auto text =
      fmt::format("Validation by fix {} at step {}: {} atoms on {} rank{} against the "
                  "undecomposed model ({:.3g} s)\n"
                  "  {:<16}{:>8}{:>12}{:>13}{:>12}{:>10}{:>6}  verdict\n",
                  fix_id, step, verdict.natoms, nprocs, nprocs == 1 ? "" : "s", verdict.seconds,
                  "quantity", "unit", "largest", "difference", "tolerance", "atom id", "rank");
  for (int k = 0; k < 4; k++) {
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
  return text;
}

/* ---------------------------------------------------------------------- */

std::string LAMMPS_NS::describe_differences(const ValidationVerdict &verdict)
{
  std::string text = "the decomposed run differs from the undecomposed model:";
  for (int k = 0; k < 4; k++) {
    if (verdict.passed(k)) continue;
    text += fmt::format(" {} by {:.4g} {} (expected at most {:.4g}",
                        quantity_name(k, verdict.has_volume), verdict.difference[k],
                        unit_name(k, verdict.has_volume), verdict.tolerance[k]);
    if (verdict.tag[k])
      text += fmt::format("; largest at atom id {} on rank {}", verdict.tag[k], verdict.owner[k]);
    text += "),";
  }
  text.back() = ';';
  return text + " do not use these numbers: check the model's distribution spec, run on one rank, "
                "or give the difference that you accept with keyword tolerance or absolute";
}
