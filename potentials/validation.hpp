// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATION_HPP
#define NVALCHEMI_POTENTIALS_VALIDATION_HPP

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "potentials/whole_system.hpp"

namespace nvalchemi {

/// What a decomposed run says about the same atoms in the same order, in eV and Angstrom.
struct DecomposedEvaluation {
    double energy = 0;
    std::vector<double> atomic_energies;  ///< (n,)
    std::vector<double> forces;           ///< (n, 3)
    double virial[6] = {0};               ///< -dE/dstrain: xx, yy, zz, xy, xz, yz
    std::vector<double> atomic_virials;   ///< (n, 6), half of each edge's to either end; or empty
    /// Further declared outputs: per node (n, width), of the system (ranks, width).
    ExtraOutputs extras;
};

/// Differences up to which two evaluations count as the same.
struct ValidationTolerance {
    /// Relative to the largest absolute value of a quantity; by default from the model's dtype.
    std::optional<double> relative;
    /// Energy, atomic energies, forces, stress in eV and Angstrom; replaces all else.
    std::optional<std::array<double, 4>> absolute;
};

/// One row of a comparison.
struct Deviation {
    std::string quantity;
    std::string unit;
    bool compared = true;   ///< false: the archive gives no reference for it
    double largest = 0;     ///< largest absolute value of the reference
    double difference = 0;  ///< largest absolute difference; NaN where a number is NaN
    double tolerance = 0;
    /// What rounding and the order of sums make, at most the default tolerance; 0: not known.
    double rounding = 0;
    std::int64_t worst = -1;  ///< row of the atom with the largest difference; -1: no atom
    int rank = -1;            ///< that owns it, or that has the value of the system; -1: not known

    bool passed() const { return !compared || difference <= tolerance; }
    /// Whether only a tolerance that asks for more than the precision gives makes it fail.
    bool is_rounding() const { return passed() || difference <= rounding; }
};

/// Energy, atomic energies, forces, stress (virial, unless periodic in three directions).
using Deviations = std::array<Deviation, 4>;

/// What a comparison of quantity `k` (in the order of Deviations) allows: see
/// compare_evaluations(). `largest`: largest absolute value of the reference; `terms`: size of what
/// it is summed from.
double allowed_difference(std::size_t k, double largest, double terms, double noise,
                          const std::string& dtype, const ValidationTolerance& tolerance);

/// What rounding and the order of sums make of a quantity: 256 epsilon of `dtype` times the larger
/// of `largest` and `terms`, or 10 times `noise`; never more than the default tolerance, so that a
/// difference which that rejects is not taken for rounding.
double rounding_of(double largest, double terms, double noise, const std::string& dtype);

/// Differences that rounding alone makes: two evaluations of one system in another edge order.
std::array<double, 4> measure_noise(const WholeSystem& system, const WholeEvaluation& first,
                                    const WholeEvaluation& second);

/// Compare a decomposed evaluation with the whole one. `selected` (n,): atoms whose energies and
/// forces count. The default tolerance of a quantity is the largest of `relative` times its largest
/// absolute value, 32 epsilon of `dtype` times the terms that it is summed from, and 10 times its
/// `noise`.
Deviations compare_evaluations(const WholeSystem& system, const WholeEvaluation& whole,
                               const DecomposedEvaluation& decomposed,
                               const std::vector<bool>& selected, const std::string& dtype,
                               const std::array<double, 4>& noise,
                               const ValidationTolerance& tolerance);

/// Difference of atomic virials that rounding alone makes.
double measure_atomic_virial_noise(const WholeEvaluation& first, const WholeEvaluation& second);

/// Compare atomic virials, where both evaluations have them. The tolerance follows from the same
/// rules; an absolute one is that of the virial of the whole system.
Deviation compare_atomic_virials(const WholeSystem& system, const WholeEvaluation& whole,
                                 const DecomposedEvaluation& decomposed,
                                 const std::vector<bool>& selected, const std::string& dtype,
                                 double noise, const ValidationTolerance& tolerance);

/// Differences of further outputs that rounding alone makes, by key.
std::map<std::string, double> measure_extra_noise(const WholeEvaluation& first,
                                                  const WholeEvaluation& second);

/// Compare each further output that the archive gives: per node for the selected atoms, of the
/// system on every rank. "output charges" is the name of the row. The tolerance follows from the
/// same rules, with terms of size 1; ValidationTolerance::absolute has no number for it.
std::vector<Deviation> compare_extras(const WholeEvaluation& whole,
                                      const DecomposedEvaluation& decomposed,
                                      const std::vector<bool>& selected, const std::string& dtype,
                                      const std::map<std::string, double>& noise,
                                      const ValidationTolerance& tolerance);

}  // namespace nvalchemi

#endif
