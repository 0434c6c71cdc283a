// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_DIAGNOSIS_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_DIAGNOSIS_HPP

#include <string>
#include <vector>

#include "potentials/model_card.hpp"
#include "potentials/validator/attempt.hpp"
#include "potentials/validator/finite_differences.hpp"

namespace nvalchemi {

/// The symptom of a comparison that asks for more than the precision gives.
inline constexpr const char* kBelowRounding = "tolerance_below_rounding";

/// What may be wrong, why one thinks so, and what to do.
struct Diagnostic {
    std::string symptom;  ///< a stable name: "missing_scatter_outputs"
    double confidence = 0;
    std::vector<std::string> evidence;
    std::string advice;           ///< what a person should do, in one sentence
    std::vector<MLIPSpec> edits;  ///< specs that would mend it, the most likely first
    std::string patch;            ///< RFC 6902 of the first edit; "[]" without one
};

/// The findings of all rules, the most certain first.
std::vector<Diagnostic> diagnose(const ModelCard& card, const AttemptEvidence& evidence);

/// For people: without findings that say nothing beside others, and each symptom once. Where the
/// most certain one explains the first value that differs, those that rest on later values lose
/// their edits and say of what they are a consequence.
std::vector<Diagnostic> for_people(std::vector<Diagnostic> found, const AttemptEvidence& evidence);

/// Names of all symptoms that diagnose() knows.
std::vector<std::string> known_symptoms();

/// What finite differences say: nothing if forces are the slopes of the energy.
std::vector<Diagnostic> diagnose_slopes(const FiniteDifferences& slopes);

}  // namespace nvalchemi

#endif
