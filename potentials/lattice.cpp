// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace nvalchemi {

namespace {

/// Volume over product of lengths below which vectors count as dependent.
constexpr double kSmallestSolidAngle = 1e-10;
/// Ratio of lengths above which the shorter vector drowns in the rounding of the longer one.
constexpr double kLargestLengthRatio = 1e9;

double dot(const Vector3& a, const Vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

double norm(const Vector3& a) { return std::sqrt(dot(a, a)); }

Vector3 cross(const Vector3& a, const Vector3& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

Vector3 scaled(const Vector3& a, double factor) {
    return {a[0] * factor, a[1] * factor, a[2] * factor};
}

/// A unit vector normal to `a`, built from the axis that `a` is most oblique to.
Vector3 unit_normal(const Vector3& a) {
    int axis = 0;
    for (int k = 1; k < 3; ++k) {
        if (std::abs(a[k]) < std::abs(a[axis])) axis = k;
    }
    Vector3 e{};
    e[axis] = 1;
    const Vector3 normal = cross(a, e);
    return scaled(normal, 1 / norm(normal));
}

/// Replace the vectors of non-periodic directions.
void complete_basis(std::array<Vector3, 3>& vectors, const std::array<bool, 3>& periodic) {
    const int count = periodic[0] + periodic[1] + periodic[2];
    if (count == 0) vectors = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    for (int k = 0; k < 3; ++k) {
        const int next = (k + 1) % 3, last = (k + 2) % 3;
        if (count == 2 && !periodic[k]) {
            const Vector3 normal = cross(vectors[next], vectors[last]);
            vectors[k] = scaled(normal, 1 / norm(normal));
        }
        if (count == 1 && periodic[k]) {
            vectors[next] = unit_normal(vectors[k]);
            const Vector3 normal = cross(vectors[k], vectors[next]);
            vectors[last] = scaled(normal, 1 / norm(normal));
        }
    }
}

Lattice with_reciprocal(const std::array<Vector3, 3>& vectors,
                        const std::array<bool, 3>& periodic) {
    Lattice lattice{vectors, {}, periodic};
    for (int k = 0; k < 3; ++k) {
        const Vector3 area = cross(vectors[(k + 1) % 3], vectors[(k + 2) % 3]);
        lattice.reciprocal[k] = scaled(area, 1 / dot(vectors[k], area));
    }
    return lattice;
}

/// False also for NaN and infinity.
bool are_independent(const std::array<Vector3, 3>& v) {
    const std::array<double, 3> length = {norm(v[0]), norm(v[1]), norm(v[2])};
    const auto [shortest, longest] = std::minmax_element(length.begin(), length.end());
    const double volume = std::abs(dot(v[0], cross(v[1], v[2])));
    return std::isfinite(volume) && *longest < kLargestLengthRatio * *shortest &&
           volume > kSmallestSolidAngle * length[0] * length[1] * length[2];
}

}  // namespace

Vector3 Lattice::fractional(const Vector3& point) const {
    return {dot(reciprocal[0], point), dot(reciprocal[1], point), dot(reciprocal[2], point)};
}

Vector3 Lattice::translation(const Integer3& n) const {
    Vector3 shift{};
    for (int k = 0; k < 3; ++k) {
        for (int c = 0; c < 3; ++c) shift[c] += static_cast<double>(n[k]) * vectors[k][c];
    }
    return shift;
}

double Lattice::height(int k) const { return 1 / norm(reciprocal[k]); }

Lattice make_lattice(const double cell[9], const bool periodic[3]) {
    std::array<Vector3, 3> vectors;
    for (int k = 0; k < 3; ++k) vectors[k] = {cell[3 * k], cell[3 * k + 1], cell[3 * k + 2]};
    const std::array<bool, 3> directions = {periodic[0], periodic[1], periodic[2]};
    complete_basis(vectors, directions);
    if (!are_independent(vectors)) {
        throw std::invalid_argument(
            "lattice: got periodic cell vectors that are not finite or not linearly independent, "
            "expected a cell with a volume (check the cell and its periodic directions)");
    }
    return with_reciprocal(vectors, directions);
}

Integer3 ReducedLattice::to_original(const Integer3& n) const {
    Integer3 original{};
    for (int k = 0; k < 3; ++k) {
        for (int l = 0; l < 3; ++l) original[l] += n[k] * coefficients[k][l];
    }
    return original;
}

ReducedLattice reduce(const Lattice& lattice) {
    std::array<Vector3, 3> vectors = lattice.vectors;
    std::array<Integer3, 3> coefficients = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    bool changed = true;
    while (changed) {
        changed = false;
        for (int k = 0; k < 3; ++k) {
            for (int l = 0; l < 3; ++l) {
                if (k == l || !lattice.periodic[k] || !lattice.periodic[l]) continue;
                const double ratio = dot(vectors[k], vectors[l]) / dot(vectors[l], vectors[l]);
                // At a half, both choices are as long: leave it, or the loop would not end.
                if (std::abs(ratio) < 0.5 + 1e-9) continue;
                const auto multiple = static_cast<std::int64_t>(std::llround(ratio));
                for (int c = 0; c < 3; ++c) {
                    vectors[k][c] -= static_cast<double>(multiple) * vectors[l][c];
                    coefficients[k][c] -= multiple * coefficients[l][c];
                }
                changed = true;
            }
        }
    }
    return {with_reciprocal(vectors, lattice.periodic), coefficients};
}

}  // namespace nvalchemi
