// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_DIAGNOSIS_RULES_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_DIAGNOSIS_RULES_HPP

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "potentials/validator/diagnosis.hpp"

namespace nvalchemi {

/// One symptom class: looks at what an attempt showed and says what it recognises.
struct DiagnosisRule {
    const char* symptom;
    std::optional<Diagnostic> (*recognise)(const ModelCard& card, const AttemptEvidence& evidence);
};

/// Rules for specs that could not be loaded or run: they read the refusal. Of operator adapters:
const std::vector<DiagnosisRule>& adapter_refusal_rules();
/// Of all else:
const std::vector<DiagnosisRule>& refusal_rules();
/// Rules for specs that ran: they read differences, divergence and the checks of the partition.
const std::vector<DiagnosisRule>& divergence_rules();

/// Whether something differs, and all of it by no more than rounding.
bool is_below_rounding(const std::vector<Deviation>& quantities);

/// The spec after `change`.
template <typename Change>
MLIPSpec edited(MLIPSpec spec, Change change) {
    change(spec);
    return spec;
}

/// The adapter of `op`, or nullptr; the last counts.
OpAdapter* adapter_of(MLIPSpec& spec, const std::string& op);
const OpAdapter* adapter_of(const MLIPSpec& spec, const std::string& op);
/// The adapter of `op`, made if there is none.
OpAdapter& require_adapter(MLIPSpec& spec, const std::string& op);

}  // namespace nvalchemi

#endif
