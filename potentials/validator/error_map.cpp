// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "potentials/validator/partition_checks.hpp"

namespace nvalchemi {

namespace {

constexpr std::size_t kShown = 10;

/// Distance from each atom to the nearest one of another part among its neighbours; -1: none.
std::vector<double> face_distances(const VirtualParts& parts) {
    const auto& edges = parts.structure.edges;
    std::vector<double> distances(parts.owners.size(), -1.0);
    for (std::int64_t edge = 0; edge < edges.size(); ++edge) {
        const auto receiver = edges.receiver[edge];
        if (parts.owners[receiver] == parts.owners[edges.sender[edge]]) continue;
        const double* v = &edges.vector[3 * edge];
        const double length = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        if (distances[receiver] < 0 || length < distances[receiver]) distances[receiver] = length;
    }
    return distances;
}

double norm_of_difference(const double* left, const double* right) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis)
        square += (left[axis] - right[axis]) * (left[axis] - right[axis]);
    return std::sqrt(square);
}

/// A NaN counts as larger than any number.
void raise(double& largest, double value) {
    if (!(value <= largest) && !std::isnan(largest)) largest = value;
}

std::vector<double> lengths(const std::vector<double>& vectors) {
    const double origin[3] = {0, 0, 0};
    std::vector<double> result;
    for (std::size_t k = 0; k < vectors.size(); k += 3)
        result.push_back(norm_of_difference(&vectors[k], origin));
    return result;
}

bool same_numbers(std::vector<double> left, std::vector<double> right, double tolerance) {
    const auto has_nan = [](const std::vector<double>& values) {
        return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
    };
    if (has_nan(left) || has_nan(right)) return false;
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    for (std::size_t k = 0; k < left.size(); ++k)
        if (!(std::fabs(left[k] - right[k]) <= tolerance)) return false;
    return true;
}

std::optional<double> face_distance_of(const ErrorMap& map, std::size_t atom) {
    if (map.face_distances[atom] < 0) return {};
    return map.face_distances[atom];
}

void add_force_pairs(const WholeEvaluation& whole, const DecomposedEvaluation& found,
                     ErrorMap& map) {
    const std::size_t atoms = map.force_errors.size();
    std::set<std::size_t> shown;
    for (const auto& atom : map.worst) shown.insert(static_cast<std::size_t>(atom.atom));
    const std::size_t others = std::min(atoms, kForcePairs - kShown);
    for (std::size_t k = 0; k < others; ++k) shown.insert(k * atoms / others);
    for (const auto atom : shown) {
        ErrorMap::ForcePair pair;
        pair.atom = static_cast<std::int64_t>(atom);
        std::copy_n(&whole.forces[3 * atom], 3, pair.reference.begin());
        std::copy_n(&found.forces[3 * atom], 3, pair.decomposed.begin());
        pair.face_distance = face_distance_of(map, atom);
        map.force_pairs.push_back(pair);
    }
}

}  // namespace

ErrorMap map_errors(const WholeEvaluation& whole, const DecomposedEvaluation& found,
                    const PlacedAtoms& placed, double energy_tolerance, double force_tolerance) {
    ErrorMap map;
    map.face_distances = placed.face_distances;
    map.largest_of_rank.assign(static_cast<std::size_t>(placed.ranks), 0.0);
    const auto atoms = placed.owners.size();
    std::vector<double> energy_errors(atoms);
    for (std::size_t atom = 0; atom < atoms; ++atom) {
        const double force = norm_of_difference(&whole.forces[3 * atom], &found.forces[3 * atom]);
        energy_errors[atom] = std::fabs(whole.atomic_energies[atom] - found.atomic_energies[atom]);
        map.force_errors.push_back(force);
        raise(map.largest_of_rank[placed.owners[atom]], force);
        const double distance = map.face_distances[atom];
        const bool near = distance >= 0 && distance <= placed.reach;
        raise(near ? map.largest_near_face : map.largest_inside, force);
        const bool wrong =
            !(force <= 2 * force_tolerance) || !(energy_errors[atom] <= energy_tolerance);
        map.atoms_near_face += near;
        map.atoms_wrong += wrong;
        map.wrong_near_face += wrong && near;
    }
    std::vector<std::size_t> order(atoms);
    std::iota(order.begin(), order.end(), 0);
    const auto badness = [&](std::size_t atom) {
        const double sum = map.force_errors[atom] / std::max(force_tolerance, 1e-300) +
                           energy_errors[atom] / std::max(energy_tolerance, 1e-300);
        return std::isnan(sum) ? INFINITY : sum;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return badness(a) > badness(b); });
    for (std::size_t k = 0; k < std::min(kShown, atoms); ++k) {
        const auto atom = order[k];
        ErrorMap::Atom entry{static_cast<std::int64_t>(atom), placed.owners[atom],
                             map.force_errors[atom], energy_errors[atom],
                             face_distance_of(map, atom)};
        map.worst.push_back(entry);
    }
    add_force_pairs(whole, found, map);
    const bool energies_differ = std::any_of(energy_errors.begin(), energy_errors.end(),
                                             [&](double e) { return !(e <= energy_tolerance); });
    map.same_multiset =
        energies_differ
            ? same_numbers(whole.atomic_energies, found.atomic_energies, energy_tolerance)
            : map.atoms_wrong > 0 &&
                  same_numbers(lengths(whole.forces), lengths(found.forces), 2 * force_tolerance);
    return map;
}

ErrorMap map_errors(const WholeEvaluation& whole, const VirtualEvaluation& found,
                    const VirtualParts& parts, double energy_tolerance, double force_tolerance) {
    const PlacedAtoms placed{parts.owners, static_cast<int>(parts.parts.size()),
                             face_distances(parts), INFINITY};
    return map_errors(whole, found.sums, placed, energy_tolerance, force_tolerance);
}

}  // namespace nvalchemi
