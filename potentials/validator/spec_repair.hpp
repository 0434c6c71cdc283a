// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_SPEC_REPAIR_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_SPEC_REPAIR_HPP

#include <string>
#include <vector>

#include "potentials/validator/diagnosis.hpp"
#include "potentials/validator/spec_trial.hpp"

namespace nvalchemi {

/// One way to change a spec that failed, or to make one that passed communicate less.
struct EditRule {
    const char* name;
    double confidence;     ///< against the confidence of diagnoses
    bool only_after_pass;  ///< it looks for less communication
    std::vector<MLIPSpec> (*propose)(const ModelCard& card, const AttemptEvidence& evidence);
};

const std::vector<EditRule>& edit_rules();

struct Repair {
    std::vector<AttemptEvidence> tried;  ///< in the order of trial; the first is the given spec's
    std::size_t best = 0;                ///< index in `tried`
};

/// Try edits of the spec, those of the best attempt and of the most certain diagnosis first, until
/// one passes; then edits of that one which may communicate less. At most `max_attempts` specs,
/// the given one included. Of those that pass, the one that sends the fewest bytes is the best
/// (on the structure, then on companion_system()), then the first; if none passes, the one with the
/// smallest differences of those that a strict reader takes.
Repair repair_spec(SpecTrial& trial, AttemptEvidence first, int max_attempts);

}  // namespace nvalchemi

#endif
