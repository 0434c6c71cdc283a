// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>

#include "potentials/validator/diagnosis_rules.hpp"
#include "potentials/validator/spec_repair.hpp"
#include "spec/presets.hpp"

namespace nvalchemi {

namespace {

using Edits = std::vector<MLIPSpec>;
using Kind = OutputTransform::Kind;

bool plans(const AttemptEvidence& evidence, const std::string& exchange) {
    return std::any_of(evidence.trace.planned.begin(), evidence.trace.planned.end(),
                       [&](const auto& planned) { return planned.name == exchange; });
}

Edits correction_to_local(const ModelCard&, const AttemptEvidence& e) {
    const auto& policy = e.attempt.spec.distribution.policy;
    if (!policy.has_halo() || policy.scatter_mode == ScatterMode::Local) return {};
    if (e.attempt.verdict != Verdict::Refused && !plans(e, "halo_correct")) return {};
    return {edited(e.attempt.spec,
                   [](MLIPSpec& s) { s.distribution.policy.scatter_mode = ScatterMode::Local; })};
}

Edits local_to_correction(const ModelCard&, const AttemptEvidence& e) {
    const auto& policy = e.attempt.spec.distribution.policy;
    const bool full = policy.has_halo() && policy.scatter_mode == ScatterMode::HaloCorrection &&
                      policy.gather_mode == GatherMode::HaloRead;
    if (full) return {};
    return {edited(e.attempt.spec, [](MLIPSpec& s) { s.distribution.policy = {}; })};
}

bool differs(const AttemptEvidence& e, const std::string& key) {
    return std::any_of(e.attempt.quantities.begin(), e.attempt.quantities.end(),
                       [&](const auto& quantity) {
                           return quantity.quantity == "output " + key && !quantity.passed();
                       });
}

Edits promote_to_all_reduce(const ModelCard& card, const AttemptEvidence& e) {
    Edits edits;
    for (const auto& output : card.outputs)
        if (output.kind == OutputKind::PerGraph && differs(e, output.key) &&
            e.attempt.spec.all_reduce_outputs.count(output.key) == 0)
            edits.push_back(edited(e.attempt.spec,
                                   [&](MLIPSpec& s) { s.all_reduce_outputs.insert(output.key); }));
    return edits;
}

Edits drop_all_reduce(const ModelCard&, const AttemptEvidence& e) {
    Edits edits;
    for (const auto& key : e.attempt.spec.all_reduce_outputs)
        edits.push_back(
            edited(e.attempt.spec, [&](MLIPSpec& s) { s.all_reduce_outputs.erase(key); }));
    return edits;
}

Edits drop_argument_transform(const ModelCard&, const AttemptEvidence& e) {
    Edits edits;
    for (const auto& adapter : e.attempt.spec.distribution.custom_ops)
        for (const auto& [position, transform] : adapter.arg_transforms)
            edits.push_back(edited(e.attempt.spec, [&, position = position](MLIPSpec& s) {
                require_adapter(s, adapter.op).arg_transforms.erase(position);
            }));
    return edits;
}

Edits drop_output_transform(const ModelCard&, const AttemptEvidence& e) {
    Edits edits;
    for (const auto& adapter : e.attempt.spec.distribution.custom_ops)
        for (const auto& [position, transform] : adapter.output_transforms)
            edits.push_back(edited(e.attempt.spec, [&, position = position](MLIPSpec& s) {
                require_adapter(s, adapter.op).output_transforms.erase(position);
            }));
    return edits;
}

Edits add_scatter_outputs(const ModelCard&, const AttemptEvidence& e) {
    Edits edits;
    for (const auto& call : e.foreign_calls) {
        const auto* adapter = adapter_of(e.attempt.spec, call.op);
        if (adapter != nullptr && !adapter->output_transforms.empty()) continue;
        edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
            require_adapter(s, call.op).output_transforms[0] = {Kind::ScatterOutputs, false};
        }));
    }
    return edits;
}

Edits drop_helper(const ModelCard&, const AttemptEvidence& e) {
    Edits edits;
    for (std::size_t k = 0; k < e.attempt.spec.distribution.third_party_helpers.size(); ++k)
        edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
            auto& helpers = s.distribution.third_party_helpers;
            helpers.erase(helpers.begin() + static_cast<std::ptrdiff_t>(k));
        }));
    return edits;
}

// --- edits of a spec that passed: it may do with less communication ---

Edits refresh_when_read(const ModelCard&, const AttemptEvidence& e) {
    const auto& policy = e.attempt.spec.distribution.policy;
    if (!policy.has_halo() || policy.gather_mode == GatherMode::HaloRead) return {};
    return {edited(e.attempt.spec,
                   [](MLIPSpec& s) { s.distribution.policy.gather_mode = GatherMode::HaloRead; })};
}

bool is_called(const AttemptEvidence& e, const std::string& op) {
    return std::any_of(e.calls.begin(), e.calls.end(),
                       [&](const auto& call) { return call.op == op; });
}

bool must_be_declared(const AttemptEvidence& e, const std::string& op) {
    return std::any_of(e.foreign_calls.begin(), e.foreign_calls.end(),
                       [&](const auto& call) { return call.op == op; });
}

/// An adapter of an operator whose effect is known may only hide it.
Edits drop_adapter(const ModelCard&, const AttemptEvidence& e) {
    Edits edits;
    const auto& adapters = e.attempt.spec.distribution.custom_ops;
    for (std::size_t k = 0; k < adapters.size(); ++k)
        if (is_called(e, adapters[k].op) && !must_be_declared(e, adapters[k].op))
            edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
                auto& ops = s.distribution.custom_ops;
                ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(k));
            }));
    return edits;
}

}  // namespace

const std::vector<EditRule>& edit_rules() {
    static const std::vector<EditRule> rules{
        {"local_to_halo_correction", 0.5, false, local_to_correction},
        {"halo_correction_to_local", 0.3, false, correction_to_local},
        {"promote_to_all_reduce", 0.5, false, promote_to_all_reduce},
        {"drop_extra_all_reduce", 0.4, false, drop_all_reduce},
        {"add_scatter_outputs", 0.25, false, add_scatter_outputs},
        {"drop_argument_transform", 0.3, false, drop_argument_transform},
        {"drop_output_transform", 0.3, false, drop_output_transform},
        {"drop_helper", 0.2, false, drop_helper},
        {"less_communication_with_halo_read", 0.55, true, refresh_when_read},
        {"less_communication_without_output_transform", 0.5, true, drop_output_transform},
        {"less_communication_without_adapter", 0.45, true, drop_adapter},
        {"less_communication_with_local_scatter", 0.4, true, correction_to_local},
        {"less_communication_without_helper", 0.3, true, drop_helper},
    };
    return rules;
}

}  // namespace nvalchemi
