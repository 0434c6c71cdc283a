// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_SPEC_AGAINST_CARD_HPP
#define NVALCHEMI_POTENTIALS_SPEC_AGAINST_CARD_HPP

#include <set>
#include <string>

#include "potentials/model_card.hpp"

namespace nvalchemi {

/// Compare the card's distribution spec with what the card says of the model: outputs and their
/// kinds, who differentiates, and whether the policy can be run. Throws SpecError naming both.
/// A name of an output that nothing has is a warning of `reading`, but in all_reduce_outputs, where
/// it is one only if `reading` is lenient.
void check_spec_against_card(const ModelCard& card, const ReadOptions& reading = {});

/// Whether a name in a spec means this output. "energy", "forces", "stress", "virial",
/// "atomic_energies" and "charges" are the framework's names of the roles, whatever the model
/// calls them; other names are the model's keys.
bool means_output(const std::string& name, const OutputSpec& output);
/// Whether one of several names does.
bool mean_output(const std::set<std::string>& names, const OutputSpec& output);

}  // namespace nvalchemi

#endif
