// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_LATTICE_HPP
#define NVALCHEMI_POTENTIALS_LATTICE_HPP

#include <array>
#include <cstdint>

namespace nvalchemi {

using Vector3 = std::array<double, 3>;
using Integer3 = std::array<std::int64_t, 3>;

/// Three independent vectors; along non-periodic directions they only complete the basis.
struct Lattice {
    std::array<Vector3, 3> vectors;     ///< Angstrom
    std::array<Vector3, 3> reciprocal;  ///< reciprocal[k] . vectors[l] = (k == l)
    std::array<bool, 3> periodic;

    /// Coordinates of a point in units of the vectors.
    Vector3 fractional(const Vector3& point) const;
    /// The translation by `n` lattice vectors; exactly odd in `n`.
    Vector3 translation(const Integer3& n) const;
    /// Distance between the two lattice planes that bound the cell along direction k.
    double height(int k) const;
};

/// The lattice of a cell (rows are vectors). Along a non-periodic direction the given vector is
/// ignored and a unit vector normal to all others is used. Throws std::invalid_argument if the
/// periodic vectors are not finite or not independent.
Lattice make_lattice(const double cell[9], const bool periodic[3]);

/// A lattice with the same points, and for each of its vectors the integer coefficients in the
/// vectors of the original one. Its periodic vectors are short and nearly orthogonal.
struct ReducedLattice {
    Lattice lattice;
    std::array<Integer3, 3> coefficients;

    /// Translation in vectors of the original lattice.
    Integer3 to_original(const Integer3& n) const;
};

/// Subtract multiples of periodic vectors from each other until none gets shorter.
ReducedLattice reduce(const Lattice& lattice);

}  // namespace nvalchemi

#endif
