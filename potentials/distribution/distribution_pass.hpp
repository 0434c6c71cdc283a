// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_DISTRIBUTION_PASS_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_DISTRIBUTION_PASS_HPP

#include <string>
#include <vector>

#include "potentials/distribution/placement.hpp"
#include "potentials/distribution/planned_exchange.hpp"
#include "potentials/model_card.hpp"

namespace nvalchemi {

/// Insert the collectives that make `traced` right on one rank's part: a refresh of halo rows
/// before they are read by sender (one for each message layer, where it is narrowest), a fold of
/// sums over senders, sums of system values over ranks; thread the order token through them.
/// Throws ModelError for a read that cannot be made right, with operator and source line.
void distribute(TracedProgram& traced, const ModelCard& card);

std::vector<PlannedExchange> planned_exchanges(const TracedProgram& traced);

}  // namespace nvalchemi

#endif
