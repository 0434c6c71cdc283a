// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/companion.hpp"

#include <algorithm>

#include "potentials/input_layout.hpp"

namespace nvalchemi {

namespace {

constexpr int kAtoms = 12;

}  // namespace

WholeSystem companion_system(const ModelCard& card) {
    WholeSystem system;
    const auto species = static_cast<int>(card.species.size());
    for (int atom = 0; atom < kAtoms; ++atom) {
        // in cutoffs; two neighbours on each side
        const double place[3] = {0.4 * atom, 0.12 * (atom % 2), 0.07 * (atom % 3)};
        for (const double coordinate : place) system.positions.push_back(coordinate * card.cutoff);
        system.charges.push_back(atom % 3 == 0 ? 0.9 : -0.6);
        system.species.push_back(std::min(atom % 3 * (species / 2), species - 1));
    }
    system.atom_inputs = sample_atom_inputs(card, kAtoms);
    system.system_inputs = sample_system_inputs(card);
    for (int axis = 0; axis < 3; ++axis) {
        system.cell[4 * axis] = 7 * card.cutoff;
        system.periodic[axis] = false;
    }
    return system;
}

std::vector<int> companion_owners() { return {0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2}; }

}  // namespace nvalchemi
