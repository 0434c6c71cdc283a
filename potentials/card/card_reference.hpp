// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_CARD_CARD_REFERENCE_HPP
#define NVALCHEMI_POTENTIALS_CARD_CARD_REFERENCE_HPP

#include "potentials/model_card.hpp"
#include "spec/json_cursor.hpp"

namespace nvalchemi {

/// Read the object "reference" of a card; its symbols must be among `species`. Throws SpecError.
ReferenceStructure read_card_reference(const JsonCursor& reference,
                                       const std::vector<std::string>& species);

}  // namespace nvalchemi

#endif
