// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/diagnosis.hpp"

#include <algorithm>
#include <cstdio>

#include "potentials/validator/diagnosis_rules.hpp"
#include "potentials/validator/spec_patch.hpp"

namespace nvalchemi {

namespace {

// a diagnosis of at least this confidence explains what follows from it
constexpr double kExplains = 0.8;

void apply_rules(const std::vector<DiagnosisRule>& rules, const ModelCard& card,
                 const AttemptEvidence& evidence, std::vector<Diagnostic>& found) {
    for (const auto& rule : rules) {
        auto diagnostic = rule.recognise(card, evidence);
        if (!diagnostic) continue;
        diagnostic->symptom = rule.symptom;
        diagnostic->patch = "[]";
        if (!diagnostic->edits.empty())
            diagnostic->patch = make_spec_patch(evidence.attempt.spec, diagnostic->edits[0]);
        found.push_back(std::move(*diagnostic));
    }
}

std::string number_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

}  // namespace

OpAdapter* adapter_of(MLIPSpec& spec, const std::string& op) {
    auto& adapters = spec.distribution.custom_ops;
    const auto found = std::find_if(adapters.rbegin(), adapters.rend(),
                                    [&](const auto& adapter) { return adapter.op == op; });
    return found == adapters.rend() ? nullptr : &*found;
}

const OpAdapter* adapter_of(const MLIPSpec& spec, const std::string& op) {
    return adapter_of(const_cast<MLIPSpec&>(spec), op);
}

OpAdapter& require_adapter(MLIPSpec& spec, const std::string& op) {
    if (auto* adapter = adapter_of(spec, op)) return *adapter;
    spec.distribution.custom_ops.push_back({op, {}, {}});
    return spec.distribution.custom_ops.back();
}

bool is_below_rounding(const std::vector<Deviation>& quantities) {
    const auto passed = [](const Deviation& quantity) { return quantity.passed(); };
    const auto rounding = [](const Deviation& quantity) { return quantity.is_rounding(); };
    return !std::all_of(quantities.begin(), quantities.end(), passed) &&
           std::all_of(quantities.begin(), quantities.end(), rounding);
}

std::vector<Diagnostic> diagnose(const ModelCard& card, const AttemptEvidence& evidence) {
    std::vector<Diagnostic> found;
    if (evidence.attempt.verdict == Verdict::Refused)
        for (const auto* rules : {&adapter_refusal_rules(), &refusal_rules()})
            apply_rules(*rules, card, evidence, found);
    if (evidence.attempt.verdict == Verdict::Failed)
        apply_rules(divergence_rules(), card, evidence, found);
    // rounding explains everything else that the differences may look like
    if (!found.empty() && found[0].symptom == kBelowRounding)
        found.erase(found.begin() + 1, found.end());
    std::stable_sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
        return left.confidence > right.confidence;
    });
    return found;
}

std::vector<Diagnostic> for_people(std::vector<Diagnostic> found, const AttemptEvidence& evidence) {
    std::vector<Diagnostic> kept;
    for (auto& diagnostic : found) {
        const bool is_repeated = std::any_of(kept.begin(), kept.end(), [&](const auto& other) {
            return other.symptom == diagnostic.symptom;
        });
        const bool is_last_resort = diagnostic.symptom == "refused_otherwise" && found.size() > 1;
        if (!is_repeated && !is_last_resort) kept.push_back(diagnostic);
    }
    if (kept.empty() || !evidence.divergence || !evidence.divergence->found) return kept;
    const auto first = kept[0];
    // what no spec mends, and what is not certain, is no explanation of the first difference
    if (first.edits.empty() || first.confidence < kExplains) return kept;
    for (auto& later : kept) {
        const bool is_of_first_value =
            !later.evidence.empty() && later.evidence[0] == first.evidence[0];
        if (later.confidence >= first.confidence || is_of_first_value) continue;
        later.advice = "Probably a consequence of " + first.symptom +
                       ": mend that first, and look at this only if it is still there.";
        later.edits.clear();
        later.patch = "[]";
    }
    return kept;
}

std::vector<std::string> known_symptoms() {
    std::vector<std::string> names;
    for (const auto* rules : {&adapter_refusal_rules(), &refusal_rules(), &divergence_rules()})
        for (const auto& rule : *rules)
            if (std::find(names.begin(), names.end(), rule.symptom) == names.end())
                names.emplace_back(rule.symptom);
    names.emplace_back("non_conservative_forces");
    names.emplace_back("stress_is_no_slope");
    names.emplace_back("run_differs_from_parts");
    names.emplace_back("spec_text_refused");
    for (const char* name :
         {"energies_alone_differ", "energies_wrong_beside_ranks", "energies_wrong_everywhere",
          "backward_exchange", "forces_are_no_slopes"})
        names.emplace_back(name);
    return names;
}

std::vector<Diagnostic> diagnose_slopes(const FiniteDifferences& slopes) {
    std::vector<Diagnostic> found;
    const char* whose = slopes.model_gives_forces
                            ? "the model computes its forces itself, and they are its own: "
                            : "the forces are derivatives of the energy with respect to the "
                              "model's input, a part of which it detaches: ";
    if (!slopes.forces_are_slopes)
        found.push_back(
            {"non_conservative_forces",
             0.95,
             {std::string(whose) + "they differ from the slopes of the undecomposed energy by " +
              number_text(slopes.largest_force_difference) + " eV/A (tolerance " +
              number_text(slopes.force_tolerance) + ")"},
             "The decomposition is not to blame: ask the model's author whether its forces are "
             "meant to conserve energy.",
             {},
             "[]"});
    if (slopes.has_virial && !slopes.virial_is_slope)
        found.push_back({"stress_is_no_slope",
                         0.95,
                         {"the undecomposed model's virial differs from the slope of its energy "
                          "with strain by " +
                          number_text(slopes.largest_virial_difference) + " eV (tolerance " +
                          number_text(slopes.virial_tolerance) + ")"},
                         "The decomposition is not to blame: do not use this model's pressure.",
                         {},
                         "[]"});
    return found;
}

}  // namespace nvalchemi
