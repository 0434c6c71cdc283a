// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/sampled_slope.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "potentials/validator/sampled_choice.hpp"

namespace nvalchemi {

namespace {

constexpr double kTwoPi = 6.283185307179586;
constexpr double kRoundingFactor = 100;

/// Uniform in (0, 1), never one of the ends.
double uniform(std::uint64_t bits) {
    return (static_cast<double>(bits >> 11) + 0.5) / 9007199254740992.0;
}

bool is_double(const std::string& dtype) { return dtype == "float64"; }

double step_of(const std::string& dtype) { return is_double(dtype) ? 1e-4 : 1e-2; }

}  // namespace

std::array<double, 3> random_direction(std::uint64_t seed, std::uint64_t step, std::uint64_t id) {
    std::array<double, 3> direction{};
    for (std::uint64_t axis = 0; axis < 3; ++axis) {
        // Box and Muller: the radius is at most sqrt(-2 log(2^-54)) = 8.7
        const double radius =
            std::sqrt(-2 * std::log(uniform(spread(seed, step, spread(2 * axis, 0, id)))));
        const double angle = kTwoPi * uniform(spread(seed, step, spread(2 * axis + 1, 0, id)));
        direction[axis] = radius * std::cos(angle);
    }
    return direction;
}

std::array<SlopePoint, 4> slope_points(const std::string& dtype) {
    const double h = step_of(dtype);
    return {
        {{h, 8 / (12 * h)}, {-h, -8 / (12 * h)}, {-2 * h, 1 / (12 * h)}, {2 * h, -1 / (12 * h)}}};
}

double slope_of(const std::array<SlopePoint, 4>& points,
                const std::array<std::vector<double>, 4>& energies) {
    double sum = 0;
    for (std::size_t atom = 0; atom < energies[0].size(); ++atom)
        sum += points[0].weight * (energies[0][atom] - energies[1][atom]) +
               points[2].weight * (energies[2][atom] - energies[3][atom]);
    return sum;
}

double slope_tolerance(const std::string& dtype, double force_norm, double energy_norm,
                       std::int64_t movable, const ValidationTolerance& tolerance) {
    if (tolerance.absolute)
        return (*tolerance.absolute)[2] * std::sqrt(3.0 * static_cast<double>(movable));
    const double epsilon = is_double(dtype) ? std::numeric_limits<double>::epsilon()
                                            : std::numeric_limits<float>::epsilon();
    const double relative = is_double(dtype) ? 1e-7 : 1e-3;
    return std::max({tolerance.relative.value_or(0.0) * force_norm, relative * force_norm,
                     kRoundingFactor * epsilon * std::max(1.0, energy_norm) / step_of(dtype)});
}

}  // namespace nvalchemi
