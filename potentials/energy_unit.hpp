// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_ENERGY_UNIT_HPP
#define NVALCHEMI_POTENTIALS_ENERGY_UNIT_HPP

#include "potentials/model_card.hpp"

namespace nvalchemi {

/// Electron volts in one of the card's units of energy (eV, kcal/mol, Hartree).
inline double ev_per_energy_unit(const ModelCard& card) {
    constexpr double kcal_mol = 4184.0 / 6.02214076e23 / 1.602176634e-19;  // SI 2019
    constexpr double hartree = 27.211386245988;                            // CODATA 2018
    if (card.energy_unit == "kcal/mol") return kcal_mol;
    if (card.energy_unit == "Hartree") return hartree;
    return 1.0;
}

}  // namespace nvalchemi

#endif
