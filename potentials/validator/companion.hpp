// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_COMPANION_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_COMPANION_HPP

#include <vector>

#include "potentials/model_card.hpp"
#include "potentials/whole_system.hpp"

namespace nvalchemi {

/// A zigzag chain of atoms without periodicity, longer than three cutoffs. In the parts of
/// companion_owners() no rank sees all of it, so that what a rank counts is not by chance a
/// multiple of the whole, as it can be in a structure that is small for its number of ranks.
WholeSystem companion_system(const ModelCard& card);

constexpr int kCompanionRanks = 4;
/// Unequal parts, the last of them empty.
std::vector<int> companion_owners();

}  // namespace nvalchemi

#endif
