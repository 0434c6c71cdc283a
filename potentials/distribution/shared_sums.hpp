// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_SHARED_SUMS_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_SHARED_SUMS_HPP

#include "potentials/distribution/placement.hpp"
#include "potentials/distribution/row_states.hpp"

namespace nvalchemi {

/// The value to sum over ranks so that `slot` becomes whole: `slot` itself, or what it is a piece
/// of where all other uses of that need the sum as well: one sum then serves all pieces.
Slot value_to_sum(const TracedProgram& traced, const StateReplay& replay, Slot slot);

/// The first instruction that reads `slot`.
std::size_t first_reader(const TracedProgram& traced, Slot slot);

}  // namespace nvalchemi

#endif
