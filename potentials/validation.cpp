// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "potentials/whole_system.hpp"

namespace nvalchemi {

namespace {

constexpr int kVoigt[6] = {0, 4, 8, 1, 2, 5};  // in a row-major 3 x 3 matrix
constexpr double kTermFactor = 32;
constexpr double kRoundingFactor = 256;
constexpr double kNoiseFactor = 10;
constexpr double kMostNoise = 1e-4;  // relative: more is no rounding, but a dependence on order

double largest_magnitude(const std::vector<double>& values) {
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::fabs(value));
    return largest;
}

/// Keeps the largest difference; a NaN is larger than any number and stays.
void add_difference(Deviation& deviation, double difference, std::int64_t atom) {
    if (std::isnan(deviation.difference) || difference <= deviation.difference) return;
    deviation.difference = difference;
    deviation.worst = atom;
}

void add_rows(Deviation& deviation, const std::vector<double>& reference,
              const std::vector<double>& found, std::size_t width,
              const std::vector<bool>& selected) {
    for (std::size_t k = 0; k < reference.size(); ++k)
        if (selected[k / width])
            add_difference(deviation, std::fabs(found[k] - reference[k]),
                           static_cast<std::int64_t>(k / width));
}

/// What a decomposed run says of an output, with its shape checked: another shape, or nothing where
/// the archive gives numbers, is as wrong as NaN.
void add_extra(Deviation& deviation, const ExtraOutput& expected, const ExtraOutput& found,
               const std::vector<bool>& selected) {
    const auto size = expected.values.size();
    if (size == 0) return;
    const auto width = static_cast<std::size_t>(std::max<std::int64_t>(1, expected.width));
    const bool same_kind = found.per_node == expected.per_node && found.width == expected.width;
    const bool has_all = expected.per_node
                             ? found.values.size() == size
                             : !found.values.empty() && found.values.size() % size == 0;
    if (!same_kind || !has_all)
        return add_difference(deviation, std::numeric_limits<double>::quiet_NaN(), -1);
    if (expected.per_node)
        return add_rows(deviation, expected.values, found.values, width, selected);
    for (std::size_t k = 0; k < found.values.size(); ++k)
        add_difference(deviation, std::fabs(found.values[k] - expected.values[k % size]),
                       static_cast<std::int64_t>(k / size));
    deviation.rank = static_cast<int>(deviation.worst);
    deviation.worst = -1;
}

bool has_volume(const WholeSystem& system) {
    return system.periodic[0] && system.periodic[1] && system.periodic[2];
}

Deviation compare_virial(const WholeSystem& system, const WholeEvaluation& whole,
                         const double virial[6]) {
    const bool stress = has_volume(system);
    const double divisor = stress ? system.volume() : 1.0;
    Deviation deviation{.quantity = stress ? "stress" : "virial", .unit = stress ? "eV/A^3" : "eV"};
    deviation.compared = whole.has_virial;
    if (!deviation.compared) return deviation;
    for (int k = 0; k < 6; ++k) {
        const double reference = whole.virial[kVoigt[k]];
        deviation.largest = std::max(deviation.largest, std::fabs(reference) / divisor);
        add_difference(deviation, std::fabs(virial[k] - reference) / divisor, -1);
    }
    return deviation;
}

struct Precision {
    double epsilon, relative;
};

Precision precision_of(const std::string& dtype) {
    if (dtype == "float64") return {std::numeric_limits<double>::epsilon(), 1e-10};
    const double epsilon = std::numeric_limits<float>::epsilon();
    return {epsilon, kTermFactor * epsilon};
}

/// Sizes of the terms that each quantity is summed from: they stay where the sum cancels.
std::array<double, 4> term_sizes(const WholeSystem& system, const WholeEvaluation& whole) {
    const double atom = std::max(1.0, largest_magnitude(whole.atomic_energies));
    const double volume = has_volume(system) ? system.volume() : 1.0;
    return {atom * std::sqrt(static_cast<double>(std::max<std::int64_t>(1, system.size()))), atom,
            whole.force_terms, whole.virial_terms / volume};
}

}  // namespace

double allowed_difference(std::size_t k, double largest, double terms, double noise,
                          const std::string& dtype, const ValidationTolerance& tolerance) {
    if (tolerance.absolute) return (*tolerance.absolute)[k];
    const auto precision = precision_of(dtype);
    return std::max({tolerance.relative.value_or(precision.relative) * largest,
                     kTermFactor * precision.epsilon * std::max(terms, largest),
                     kNoiseFactor * std::min(noise, kMostNoise * largest)});
}

double rounding_of(double largest, double terms, double noise, const std::string& dtype) {
    const double rounding =
        std::max(kRoundingFactor * precision_of(dtype).epsilon * std::max(largest, terms),
                 kNoiseFactor * noise);
    return std::min(rounding, allowed_difference(0, largest, terms, noise, dtype, {}));
}

std::array<double, 4> measure_noise(const WholeSystem& system, const WholeEvaluation& first,
                                    const WholeEvaluation& second) {
    DecomposedEvaluation other;
    other.energy = second.energy;
    other.atomic_energies = second.atomic_energies;
    other.forces = second.forces;
    for (int k = 0; k < 6; ++k) other.virial[k] = second.virial[kVoigt[k]];
    const std::vector<bool> all(static_cast<std::size_t>(system.size()), true);
    const auto deviations =
        compare_evaluations(system, first, other, all, "float64", {0, 0, 0, 0}, {});
    std::array<double, 4> noise{};
    for (std::size_t k = 0; k < 4; ++k) noise[k] = deviations[k].difference;
    return noise;
}

Deviations compare_evaluations(const WholeSystem& system, const WholeEvaluation& whole,
                               const DecomposedEvaluation& decomposed,
                               const std::vector<bool>& selected, const std::string& dtype,
                               const std::array<double, 4>& noise,
                               const ValidationTolerance& tolerance) {
    Deviations deviations{{{.quantity = "energy", .unit = "eV"},
                           {.quantity = "atomic energies", .unit = "eV"},
                           {.quantity = "forces", .unit = "eV/A"},
                           compare_virial(system, whole, decomposed.virial)}};
    deviations[0].largest = std::fabs(whole.energy);
    add_difference(deviations[0], std::fabs(decomposed.energy - whole.energy), -1);
    deviations[1].largest = largest_magnitude(whole.atomic_energies);
    add_rows(deviations[1], whole.atomic_energies, decomposed.atomic_energies, 1, selected);
    deviations[2].largest = largest_magnitude(whole.forces);
    add_rows(deviations[2], whole.forces, decomposed.forces, 3, selected);

    const auto terms = term_sizes(system, whole);
    for (std::size_t k = 0; k < 4; ++k) {
        auto& deviation = deviations[k];
        deviation.tolerance =
            allowed_difference(k, deviation.largest, terms[k], noise[k], dtype, tolerance);
        deviation.rounding = rounding_of(deviation.largest, terms[k], noise[k], dtype);
    }
    return deviations;
}

double measure_atomic_virial_noise(const WholeEvaluation& first, const WholeEvaluation& second) {
    Deviation deviation;
    const std::vector<bool> all(first.atomic_virials.size() / 6, true);
    add_rows(deviation, first.atomic_virials, second.atomic_virials, 6, all);
    return deviation.difference;
}

Deviation compare_atomic_virials(const WholeSystem& system, const WholeEvaluation& whole,
                                 const DecomposedEvaluation& decomposed,
                                 const std::vector<bool>& selected, const std::string& dtype,
                                 double noise, const ValidationTolerance& tolerance) {
    Deviation deviation{.quantity = "atomic virials", .unit = "eV"};
    deviation.compared = !whole.atomic_virials.empty() &&
                         decomposed.atomic_virials.size() == whole.atomic_virials.size();
    if (!deviation.compared) return deviation;
    deviation.largest = largest_magnitude(whole.atomic_virials);
    add_rows(deviation, whole.atomic_virials, decomposed.atomic_virials, 6, selected);
    const auto precision = precision_of(dtype);
    deviation.tolerance =
        tolerance.absolute
            ? (*tolerance.absolute)[3] * (has_volume(system) ? system.volume() : 1.0)
            : std::max({tolerance.relative.value_or(precision.relative) * deviation.largest,
                        kTermFactor * precision.epsilon *
                            std::max(whole.atomic_virial_terms, deviation.largest),
                        kNoiseFactor * std::min(noise, kMostNoise * deviation.largest)});
    deviation.rounding = rounding_of(deviation.largest, whole.atomic_virial_terms, noise, dtype);
    return deviation;
}

std::map<std::string, double> measure_extra_noise(const WholeEvaluation& first,
                                                  const WholeEvaluation& second) {
    std::map<std::string, double> noise;
    for (const auto& [key, extra] : first.extras) {
        const auto other = second.extras.find(key);
        if (other == second.extras.end() || other->second.values.size() != extra.values.size())
            continue;
        Deviation deviation;
        add_rows(deviation, extra.values, other->second.values, 1,
                 std::vector<bool>(extra.values.size(), true));
        noise[key] = deviation.difference;
    }
    return noise;
}

std::vector<Deviation> compare_extras(const WholeEvaluation& whole,
                                      const DecomposedEvaluation& decomposed,
                                      const std::vector<bool>& selected, const std::string& dtype,
                                      const std::map<std::string, double>& noise,
                                      const ValidationTolerance& tolerance) {
    std::vector<Deviation> deviations;
    for (const auto& [key, expected] : whole.extras) {
        Deviation deviation{.quantity = "output " + key, .unit = "units of the model"};
        deviation.largest = largest_magnitude(expected.values);
        const auto found = decomposed.extras.find(key);
        add_extra(deviation, expected,
                  found == decomposed.extras.end() ? ExtraOutput() : found->second, selected);
        const auto measured = noise.find(key);
        const double own_noise = measured == noise.end() ? 0.0 : measured->second;
        deviation.tolerance = allowed_difference(0, deviation.largest, 1.0, own_noise, dtype,
                                                 {.relative = tolerance.relative, .absolute = {}});
        deviation.rounding = rounding_of(deviation.largest, 1.0, own_noise, dtype);
        deviations.push_back(std::move(deviation));
    }
    return deviations;
}

}  // namespace nvalchemi
