// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/reference_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "potentials/energy_unit.hpp"
#include "potentials/session.hpp"
#include "potentials/whole_system.hpp"

namespace nvalchemi {

namespace {

WholeSystem structure_of(const ModelCard& card) {
    const auto& reference = *card.reference;
    WholeSystem system;
    for (const auto& symbol : reference.symbols) {
        const auto found = std::find(card.species.begin(), card.species.end(), symbol);
        if (found == card.species.end())
            throw ModelError("model card of '" + card.name + "' /reference/symbols: got '" +
                             symbol + "', expected elements of \"species\"");
        system.species.push_back(found - card.species.begin());
    }
    system.positions = reference.positions;
    system.charges = reference.charges;
    system.atom_inputs = reference.atom_inputs;
    system.system_inputs = reference.system_inputs;
    std::copy(reference.cell, reference.cell + 9, system.cell);
    std::copy(reference.periodic, reference.periodic + 3, system.periodic);
    return system;
}

[[noreturn]] void refuse(const ModelCard& card, const std::string& quantity, double got,
                         double expected) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "got %.10g, expected %.10g", got, expected);
    throw ModelError("model card of '" + card.name + "' /reference: " + quantity + ": " + numbers +
                     " as the exporter computed it. The card does not fit the archive: check the "
                     "order of \"species\" and \"species_index\", \"units\" and the rows of "
                     "\"edges\", or export the model again");
}

}  // namespace

void check_reference(Session& session) {
    const auto& card = session.card();
    if (!card.reference) return;
    const auto& reference = *card.reference;
    const auto whole = evaluate_whole(session, structure_of(card));
    const double relative = session.precision() == "float64" ? 1e-7 : 1e-4;
    const double unit = ev_per_energy_unit(card);
    const double energy = reference.energy * unit;
    if (!(std::abs(whole.energy - energy) <= relative * std::max(1.0, std::abs(energy))))
        refuse(card, "energy (eV)", whole.energy, energy);
    double force_scale = 1.0;
    for (const double component : reference.forces)
        force_scale = std::max(force_scale, std::abs(component * unit));
    for (std::size_t k = 0; k < reference.forces.size() && k < whole.forces.size(); ++k)
        if (!(std::abs(whole.forces[k] - reference.forces[k] * unit) <= relative * force_scale))
            refuse(card, "force on atom " + std::to_string(k / 3 + 1) + " (eV/Angstrom)",
                   whole.forces[k], reference.forces[k] * unit);
}

}  // namespace nvalchemi
