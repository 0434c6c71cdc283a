// SPDX-License-Identifier: GPL-2.0-only

#include "evaluation_check.h"

#include "atom.h"

#include <cmath>
#include <stdexcept>
#include <string>

using namespace LAMMPS_NS;
using nvalchemi::ForceSource;
using nvalchemi::OutputRole;

namespace {

/* ---------------------------------------------------------------------- */

[[noreturn]] void not_finite(const std::string &quantity, const Atom &atom, int i)
{
  const std::string name =
      atom.tag_enable ? "atom " + std::to_string(atom.tag[i]) : "local atom " + std::to_string(i);
  throw std::runtime_error("the " + quantity + " of " + name + " (type " +
                           std::to_string(atom.type[i]) +
                           ") is not finite. Look for overlapping atoms, a wrong element "
                           "mapping or a configuration far from the training data");
}

}    // namespace

/* ---------------------------------------------------------------------- */

bool LAMMPS_NS::gives_virial(const nvalchemi::ModelCard &card)
{
  const bool strained_shifts = card.forces == ForceSource::Positions &&
                               card.find_input(nvalchemi::InputRole::EdgeShifts) != nullptr;
  return card.forces == ForceSource::EdgeVectors || card.rows == nvalchemi::RowMode::Raw ||
         strained_shifts || card.find_output(OutputRole::Virial) ||
         card.find_output(OutputRole::Stress);
}

/* ---------------------------------------------------------------------- */

void LAMMPS_NS::check_finite(const ModelGraph &graph, const nvalchemi::Evaluation &evaluation,
                             const Atom &atom)
{
  const std::int64_t row = graph.first_not_finite(evaluation);
  if (row >= 0) {
    graph.show_atoms();
    not_finite("force", atom, graph.atom_of_row(row));
  }
  if (!evaluation.has_model_virial) return;
  for (const double component : evaluation.virial)
    if (!std::isfinite(component))
      throw std::runtime_error("the virial that the model returns is not finite, although energies "
                               "and forces are. Look at how the model computes its stress");
}

/* ---------------------------------------------------------------------- */

void LAMMPS_NS::energy_not_finite(const ModelGraph &graph, const nvalchemi::NotFiniteError &found,
                                  const Atom &atom)
{
  graph.show_atoms();
  not_finite("energy", atom, graph.atom_of_row(found.row));
}

/* ---------------------------------------------------------------------- */

void LAMMPS_NS::check_available(const nvalchemi::ModelCard &card, const WantedQuantities &wanted)
{
  const std::string model = "model '" + card.name + "' ";
  if (wanted.virial && !gives_virial(card))
    throw std::runtime_error("the pressure is wanted, but " + model +
                             "returns forces of its own or takes positions in folded rows, and "
                             "returns no virial. Use a thermo_style without press and no barostat, "
                             "or export the model with edge vectors");
  if (wanted.peratom_virial && card.forces != ForceSource::EdgeVectors)
    throw std::runtime_error("per-atom virials are wanted, but " + model +
                             "is no function of edge vectors, which they are made from. Export "
                             "the model with edge vectors");
  const auto *const positions = card.find_input(nvalchemi::InputRole::Positions);
  if (wanted.peratom_virial && positions && positions->requires_grad)
    throw std::runtime_error("per-atom virials are wanted, but " + model +
                             "has a part that depends on positions and the cell, whose virial "
                             "belongs to no atom. Use the pressure of the whole system");
  if (wanted.peratom_energy && !card.find_output(OutputRole::AtomicEnergies))
    throw std::runtime_error("per-atom energies are wanted, but " + model +
                             "declares no output with role atomic_energies");
}
