// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_CARD_CARD_INPUT_HPP
#define NVALCHEMI_POTENTIALS_CARD_CARD_INPUT_HPP

#include "potentials/model_card.hpp"
#include "spec/json_cursor.hpp"

namespace nvalchemi {

/// Read the object "inputs" of a card. Throws SpecError.
std::vector<InputSpec> read_card_inputs(const JsonCursor& inputs);

/// Read the array `forward.arguments`; here an entry may stand for the dictionary of all inputs.
/// Throws SpecError.
std::vector<InputSpec> read_card_arguments(const JsonCursor& arguments);

}  // namespace nvalchemi

#endif
