// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_CARD_CARD_REFERENCE_HPP
#define NVALCHEMI_POTENTIALS_CARD_CARD_REFERENCE_HPP

#include "potentials/model_card.hpp"
#include "spec/json_cursor.hpp"

namespace nvalchemi {

/// Read the object "reference" of a card whose species and inputs are read already. Throws
/// SpecError.
ReferenceStructure read_card_reference(const JsonCursor& reference, const ModelCard& card);

}  // namespace nvalchemi

#endif
