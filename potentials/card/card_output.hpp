// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_CARD_CARD_OUTPUT_HPP
#define NVALCHEMI_POTENTIALS_CARD_CARD_OUTPUT_HPP

#include "potentials/model_card.hpp"
#include "spec/json_cursor.hpp"

namespace nvalchemi {

/// Read the object "outputs" of a card and check each role against its kind and shape. Every role
/// but "other" occurs at most once, "atomic_energies" exactly once. Throws SpecError.
std::vector<OutputSpec> read_card_outputs(const JsonCursor& outputs);

}  // namespace nvalchemi

#endif
