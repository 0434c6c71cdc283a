// SPDX-License-Identifier: GPL-2.0-only

#include "contribution.h"

#include "model_graph.h"

#include <algorithm>
#include <utility>

using namespace LAMMPS_NS;

/* ---------------------------------------------------------------------- */

void Contribution::set_units(double energy_per_ev, double length_per_angstrom)
{
  energy_ = energy_per_ev;
  force_ = energy_per_ev / length_per_angstrom;
}

/* ---------------------------------------------------------------------- */

void Contribution::add(const nvalchemi::Evaluation &evaluation, nvalchemi::HaloExchange &exchange,
                       int nlocal, const ResultTargets &targets)
{
  evaluation_ = &evaluation;
  begin(evaluation);
  if (targets.energy) *targets.energy += energy_ * evaluation.energy;
  if (targets.eatom) add_atomic_energies(targets);
  if (targets.virial) add_all_virial(targets.virial);

  if (targets.ghosts_go_home && !targets.record) {
    scatter_to_atoms(targets);
    return;
  }
  cvatom_at_ = VATOM_AT + (wants_row_virials(targets) ? 6 : 0);
  width_ = cvatom_at_ + (targets.cvatom ? 9 : 0);
  exchange.reverse(scatter_to_rows(targets));
  rows_to_atoms(targets);
  if (targets.record) fill_record(targets, nlocal);
}

/* ----------------------------------------------------------------------
   this rank's part: the model's own, or from edges, or from all rows
------------------------------------------------------------------------- */

void Contribution::add_all_virial(double virial[6])
{
  const double *const own =
      evaluation_->has_model_virial ? evaluation_->virial : evaluation_->lattice_virial;
  if (!evaluation_->has_model_virial) add_virial(virial);
  for (int k = 0; k < 6; ++k) virial[k] += energy_ * own[3 * VIRIAL_FIRST[k] + VIRIAL_SECOND[k]];
}

/* ---------------------------------------------------------------------- */

void Contribution::fill_record(const ResultTargets &targets, int nlocal)
{
  NvalchemiContribution &record = *targets.record;
  record.energy = energy_ * evaluation_->energy;
  record.atomic_energies.assign(nlocal, 0.0);
  record.forces.assign(3 * nlocal, 0.0);
  record.virials.assign(targets.record_virials ? 6 * nlocal : 0, 0.0);
  std::fill(record.virial, record.virial + 6, 0.0);
  add_all_virial(record.virial);

  record_outputs(record, nlocal);

  const ModelGraph &rows = graph();
  const double *const values = rows_on_host();
  const bool has_energies =
      evaluation_->atomic_energies.size() == static_cast<std::size_t>(rows.n_owned());
  for (std::int64_t row = 0; row < rows.n_owned(); ++row) {
    const int i = rows.atom_of_row(row);
    if (has_energies) record.atomic_energies[i] = energy_ * evaluation_->atomic_energies[row];
    for (int k = 0; k < 3; ++k) record.forces[3 * i + k] = values[row * width_ + k];
    if (targets.record_virials)
      std::copy_n(&values[row * width_ + VATOM_AT], 6, &record.virials[6 * i]);
  }
}

/* ---------------------------------------------------------------------- */

void Contribution::record_outputs(NvalchemiContribution &record, int nlocal) const
{
  record.outputs = evaluation_->extras;
  for (auto &[key, output] : record.outputs) {
    if (!output.per_node) continue;
    const auto rows = std::exchange(output.values, std::vector<double>(nlocal * output.width));
    for (std::int64_t row = 0; row < graph().n_owned(); ++row)
      std::copy_n(&rows[row * output.width], output.width,
                  &output.values[graph().atom_of_row(row) * output.width]);
  }
}
