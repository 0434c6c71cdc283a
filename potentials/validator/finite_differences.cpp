// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/finite_differences.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

constexpr const char* kAxes[3] = {"x", "y", "z"};
constexpr int kStrains[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

double difference_of_energies(const WholeEvaluation& left, const WholeEvaluation& right) {
    double sum = 0;
    for (std::size_t atom = 0; atom < left.atomic_energies.size(); ++atom)
        sum += left.atomic_energies[atom] - right.atomic_energies[atom];
    return sum;
}

class Slopes {
  public:
    Slopes(Session& session, const WholeSystem& system)
        : session_(session),
          system_(system),
          step_(session.precision() == "float64" ? 1e-4 : 1e-2) {}

    /// dE/dh at 0 of the system that `change(system, h)` makes.
    double slope(const std::function<void(WholeSystem&, double)>& change) const {
        const auto at = [&](double h) {
            auto moved = system_;
            change(moved, h);
            return evaluate_whole(session_, moved);
        };
        const auto plus = at(step_), minus = at(-step_);
        const auto far_plus = at(2 * step_), far_minus = at(-2 * step_);
        return (8 * difference_of_energies(plus, minus) -
                difference_of_energies(far_plus, far_minus)) /
               (12 * step_);
    }

    /// What rounding of the energies makes of a slope.
    double rounding(double energy_terms) const {
        const double epsilon = session_.precision() == "float64" ? 2.3e-16 : 1.2e-7;
        return 100 * epsilon * energy_terms / step_;
    }

  private:
    Session& session_;
    const WholeSystem& system_;
    double step_;
};

void strain(WholeSystem& system, int a, int b, double h) {
    // x -> x + h (e_a (x) e_b + e_b (x) e_a) / 2 x
    const auto apply = [&](double* x) {
        const double before[3] = {x[0], x[1], x[2]};
        x[a] += 0.5 * h * before[b];
        x[b] += 0.5 * h * before[a];
    };
    if (!system.setup_cell) std::copy_n(system.cell, 9, system.setup_cell.emplace().begin());
    for (int k = 0; k < 3; ++k) apply(&system.cell[3 * k]);
    for (std::int64_t atom = 0; atom < system.size(); ++atom) apply(&system.positions[3 * atom]);
}

double energy_terms(const WholeEvaluation& whole) {
    double sum = 0;
    for (const double energy : whole.atomic_energies) sum += energy * energy;
    return std::sqrt(sum);
}

}  // namespace

FiniteDifferences check_slopes(Session& session, const WholeSystem& system,
                               const WholeEvaluation& whole, int atoms) {
    FiniteDifferences result;
    result.model_gives_forces = session.card().forces == ForceSource::Model;
    const Slopes slopes(session, system);
    double largest = 0;
    for (const double force : whole.forces) largest = std::max(largest, std::fabs(force));
    const double relative = session.precision() == "float64" ? 1e-6 : 1e-2;
    result.force_tolerance =
        std::max(relative * largest, slopes.rounding(std::max(1.0, energy_terms(whole))));
    const auto count = std::min<std::int64_t>(atoms, system.size());
    for (std::int64_t k = 0; k < count; ++k)
        for (int axis = 0; axis < 3; ++axis) {
            const auto atom = k * system.size() / count;
            const auto place = static_cast<std::size_t>(3 * atom + axis);
            const double slope =
                -slopes.slope([&](WholeSystem& moved, double h) { moved.positions[place] += h; });
            result.components.push_back(
                {"force of atom " + std::to_string(atom) + " along " + kAxes[axis],
                 whole.forces[place], slope});
            const double difference = std::fabs(slope - whole.forces[place]);
            if (!(difference <= result.largest_force_difference))
                result.largest_force_difference = difference;
        }
    result.forces_are_slopes = result.largest_force_difference <= result.force_tolerance;
    result.has_virial =
        whole.has_virial && system.periodic[0] && system.periodic[1] && system.periodic[2];
    if (!result.has_virial || count == 0) return result;
    double largest_virial = 0;
    for (const double component : whole.virial)
        largest_virial = std::max(largest_virial, std::fabs(component));
    result.virial_tolerance =
        std::max(relative * largest_virial, slopes.rounding(std::max(1.0, energy_terms(whole))));
    for (const auto& [a, b] : kStrains) {
        const double own = 0.5 * (whole.virial[3 * a + b] + whole.virial[3 * b + a]);
        const double slope = -slopes.slope(
            [&, a = a, b = b](WholeSystem& moved, double h) { strain(moved, a, b, h); });
        result.components.push_back({std::string("virial ") + kAxes[a] + kAxes[b], own, slope});
        const double difference = std::fabs(slope - own);
        if (!(difference <= result.largest_virial_difference))
            result.largest_virial_difference = difference;
    }
    result.virial_is_slope = result.largest_virial_difference <= result.virial_tolerance;
    return result;
}

}  // namespace nvalchemi
