// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_SAMPLED_SLOPE_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_SAMPLED_SLOPE_HPP

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "potentials/validation.hpp"

namespace nvalchemi {

/// Three numbers from the standard normal distribution, the same for the same arguments.
std::array<double, 3> random_direction(std::uint64_t seed, std::uint64_t step, std::uint64_t id);

/// The largest component that random_direction() can return.
constexpr double kLongestDirection = 9.0;

/// One place at which the energies of all atoms are evaluated, and its weight in the slope.
struct SlopePoint {
    double step;    ///< Angstrom for a displacement of 1
    double weight;  ///< 1/Angstrom
};

/// Central 4-point rule; the points come in pairs of opposite weight.
std::array<SlopePoint, 4> slope_points(const std::string& dtype);

/// Sum over atoms of dE/dh from their energies at the points, (n,) each: differences are taken atom
/// by atom, so that large energies cancel before they are summed.
double slope_of(const std::array<SlopePoint, 4>& points,
                const std::array<std::vector<double>, 4>& energies);

/// How far a slope may lie from the projected forces. `force_norm`: root of the sum of F^2 of the
/// atoms that move; `energy_norm`: of all energies squared; `movable`: number of atoms that move.
double slope_tolerance(const std::string& dtype, double force_norm, double energy_norm,
                       std::int64_t movable, const ValidationTolerance& tolerance);

}  // namespace nvalchemi

#endif
