// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_REFERENCE_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_REFERENCE_HPP

#include <array>
#include <map>
#include <string>
#include <vector>

#include "potentials/validation.hpp"
#include "potentials/validator/virtual_parts.hpp"
#include "potentials/whole_system.hpp"

namespace nvalchemi {

/// What the archive as it is says, and how much of it is rounding.
struct Reference {
    WholeEvaluation whole;
    std::array<double, 4> noise{};
    std::map<std::string, double> extra_noise;  ///< of further outputs
    std::string dtype;
};

/// Evaluates the archive twice, the second time with its edges in another order. `session` may be
/// one with SessionOptions::distribute = false.
Reference make_reference(Session& session, const WholeSystem& system);

/// Energy, atomic energies, forces, stress or virial, and each further output. An output of the
/// whole system must be the same on every rank.
std::vector<Deviation> compare_with_reference(const WholeSystem& system, const Reference& reference,
                                              const VirtualEvaluation& found,
                                              const ValidationTolerance& tolerance);

}  // namespace nvalchemi

#endif
