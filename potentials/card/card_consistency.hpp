// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_CARD_CARD_CONSISTENCY_HPP
#define NVALCHEMI_POTENTIALS_CARD_CARD_CONSISTENCY_HPP

#include "potentials/model_card.hpp"
#include "spec/json_cursor.hpp"

namespace nvalchemi {

/// Refuse a card whose parts contradict each other: who differentiates, in which rows, with which
/// inputs and outputs. `document` is the place of the card. Throws SpecError.
void check_card_consistency(const JsonCursor& document, const ModelCard& card);

}  // namespace nvalchemi

#endif
