// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_FINITE_DIFFERENCES_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_FINITE_DIFFERENCES_HPP

#include <string>
#include <vector>

#include "potentials/whole_system.hpp"

namespace nvalchemi {

/// Whether the archive's own forces and stress are the slopes of its own energy. Nothing here is
/// decomposed.
struct FiniteDifferences {
    struct Component {
        std::string quantity;  ///< "force of atom 3 along x", "virial xy"
        double own = 0, slope = 0;
    };
    std::vector<Component> components;
    double largest_force_difference = 0, force_tolerance = 0;
    bool has_virial = false;
    double largest_virial_difference = 0, virial_tolerance = 0;
    bool forces_are_slopes = true, virial_is_slope = true;
    /// The model computes its forces itself (card: forces "model").
    bool model_gives_forces = false;
};

/// Central 4-point differences over all components of `atoms` atoms spread over the system, and
/// over six strains if the model has a virial. Per-atom energies are subtracted before they are
/// summed. 12 evaluations an atom and 24 for the strains.
FiniteDifferences check_slopes(Session& session, const WholeSystem& system,
                               const WholeEvaluation& whole, int atoms);

}  // namespace nvalchemi

#endif
