// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_PLANNED_EXCHANGE_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_PLANNED_EXCHANGE_HPP

#include <cstdint>
#include <string>

namespace nvalchemi {

/// One collective of a distributed program.
struct PlannedExchange {
    std::string name;    ///< "halo_forward", "halo_correct", "system_sum"
    std::int64_t width;  ///< elements for each row (or in all)
    std::string source;  ///< where in the model its operand is made
    std::string module;
    std::int64_t overlaps = 0;  ///< calls of the model that run while it is under way
};

}  // namespace nvalchemi

#endif
