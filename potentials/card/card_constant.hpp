// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_CARD_CARD_CONSTANT_HPP
#define NVALCHEMI_POTENTIALS_CARD_CARD_CONSTANT_HPP

#include "potentials/model_card.hpp"
#include "spec/json_cursor.hpp"

namespace nvalchemi {

/// Read a constant: a number, a boolean or a rectangular nested array of one kind of them; an
/// array of integers and other numbers counts as floating-point. Throws SpecError.
ConstantValue read_card_constant(const JsonCursor& value);

/// Refuse a declared shape that the numbers of the constant do not fill exactly. Throws SpecError.
void check_constant_shape(const JsonCursor& place, const std::vector<std::int64_t>& shape,
                          const ConstantValue& value);

}  // namespace nvalchemi

#endif
