// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_SPEC_AGAINST_CARD_HPP
#define NVALCHEMI_POTENTIALS_SPEC_AGAINST_CARD_HPP

#include "potentials/model_card.hpp"

namespace nvalchemi {

/// Compare the card's distribution spec with what the card says of the model: outputs and their
/// kinds, who differentiates, and whether the policy can be run. Throws SpecError naming both.
void check_spec_against_card(const ModelCard& card);

}  // namespace nvalchemi

#endif
