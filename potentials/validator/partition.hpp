// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_PARTITION_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_PARTITION_HPP

#include <vector>

#include "potentials/whole_system.hpp"

namespace nvalchemi {

/// A rank for each atom: the cell is cut in two across its longest direction again and again. The
/// parts are unequal on purpose: equal halves of a crystal hide faults.
std::vector<int> bisect(const WholeSystem& system, int ranks);

/// Position of an atom in units of the lattice vectors; in [0, 1) along periodic directions.
std::vector<double> wrapped_fractions(const WholeSystem& system);

/// Distance between the planes that bound the cell along each direction, in Angstrom.
std::vector<double> cell_heights(const WholeSystem& system);

}  // namespace nvalchemi

#endif
