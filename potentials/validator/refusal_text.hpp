// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_REFUSAL_TEXT_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_REFUSAL_TEXT_HPP

#include <string>
#include <vector>

#include "potentials/validator/attempt.hpp"
#include "potentials/validator/diagnosis.hpp"

namespace nvalchemi {

/// Whether the refusal of an attempt has this part.
bool says(const AttemptEvidence& evidence, const std::string& part);

/// The word that follows `lead` in the refusal, up to a blank or punctuation; "" if there is none.
std::string word_after(const AttemptEvidence& evidence, const std::string& lead);

/// A position of an operator, as refusals name it: "on argument 3 of demo::push".
struct RefusedPlace {
    std::string op;
    int position = -1;
};

/// `what` is "argument" or "output".
RefusedPlace place_of(const AttemptEvidence& evidence, const std::string& what);

/// A diagnostic whose evidence is the refusal itself.
Diagnostic refusal_finding(double confidence, const AttemptEvidence& evidence,
                           const std::string& advice, std::vector<MLIPSpec> edits);

/// The candidate that differs from `name` in the fewest letters, "" if none is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace nvalchemi

#endif
