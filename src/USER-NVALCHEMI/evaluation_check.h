// SPDX-License-Identifier: GPL-2.0-only
#ifndef LMP_EVALUATION_CHECK_H
#define LMP_EVALUATION_CHECK_H

#include "model_graph.h"

#include "potentials/atom_graph.hpp"
#include "potentials/model_card.hpp"
#include "potentials/session.hpp"

namespace LAMMPS_NS {

class Atom;

// edges give a virial; so do rows whose images stand in their own place, and a model itself

bool gives_virial(const nvalchemi::ModelCard &card);

// throw std::runtime_error that names an atom if a force is not a finite number

void check_finite(const ModelGraph &graph, const nvalchemi::Evaluation &evaluation,
                  const Atom &atom);

// throw the same for the energy that the session found not to be finite

[[noreturn]] void energy_not_finite(const ModelGraph &graph, const nvalchemi::NotFiniteError &found,
                                    const Atom &atom);

// which quantities are wanted from a model

struct WantedQuantities {
  bool virial = false, peratom_virial = false, peratom_energy = false;
};

// throw std::runtime_error if the model cannot give one of them; the same on all ranks

void check_available(const nvalchemi::ModelCard &card, const WantedQuantities &wanted);

}    // namespace LAMMPS_NS

#endif
