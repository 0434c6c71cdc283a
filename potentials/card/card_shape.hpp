// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_CARD_CARD_SHAPE_HPP
#define NVALCHEMI_POTENTIALS_CARD_CARD_SHAPE_HPP

#include <cstdint>
#include <vector>

#include "spec/json_cursor.hpp"

namespace nvalchemi {

/// Dimensions of a shape that depend on the system.
inline constexpr std::int64_t kRowsDimension = -1;
inline constexpr std::int64_t kEdgesDimension = -2;
inline constexpr std::int64_t kNeighborsDimension = -3;

/// Read a shape of the card format: "(rows,1)", "(1,3,3)", "(edges,3)", "()" for a scalar.
/// Throws SpecError.
std::vector<std::int64_t> read_card_shape(const JsonCursor& shape);

/// Product of the dimensions that do not depend on the system.
std::int64_t fixed_element_count(const std::vector<std::int64_t>& shape);

}  // namespace nvalchemi

#endif
