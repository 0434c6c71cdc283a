// SPDX-License-Identifier: GPL-2.0-only
// What the text of a refusal says about policies, outputs and helpers of a spec.
#include <algorithm>

#include "potentials/explain_spec.hpp"
#include "potentials/validator/diagnosis_rules.hpp"
#include "potentials/validator/refusal_text.hpp"
#include "spec/format_names.hpp"
#include "spec/presets.hpp"

namespace nvalchemi {

namespace {

using Found = std::optional<Diagnostic>;

Found sums_not_folded(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "sums over senders have to be folded")) return {};
    return refusal_finding(0.97, e, "Set policy \"halo\" with scatter_mode \"halo_correction\".",
                           {edited(e.attempt.spec, [](MLIPSpec& s) {
                               auto& policy = s.distribution.policy;
                               if (!policy.has_halo()) policy = {};
                               policy.scatter_mode = ScatterMode::HaloCorrection;
                           })});
}

Found stale_halo_rows(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "that have to be refreshed") &&
        !says(e, "and no value before it can be refreshed"))
        return {};
    const auto with_mode = [&](ScatterMode scatter, GatherMode gather) {
        return edited(e.attempt.spec, [&](MLIPSpec& s) {
            auto& policy = s.distribution.policy;
            if (!policy.has_halo()) policy = {};
            policy.scatter_mode = scatter;
            policy.gather_mode = gather;
        });
    };
    return refusal_finding(
        0.97, e, "Set policy \"halo\" with gather_mode \"halo_read\".",
        {with_mode(e.attempt.spec.distribution.policy.scatter_mode, GatherMode::HaloRead),
         with_mode(ScatterMode::HaloCorrection, GatherMode::HaloRead)});
}

Found reductions_forbidden(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "it needs a sum over the atoms of the whole system")) return {};
    return refusal_finding(
        0.97, e, "Set system_reductions true.",
        {edited(e.attempt.spec, [](MLIPSpec& s) { s.system_reductions = true; })});
}

/// Whether a model with folded rows forms distances from positions, and adds shifts of images.
bool takes_replicated_geometry(const ModelCard& card) {
    const bool has_shifts = card.find_input(InputRole::EdgeShifts) != nullptr ||
                            card.find_input(InputRole::EdgeCellShifts) != nullptr;
    return card.rows == RowMode::Folded && has_shifts &&
           card.find_input(InputRole::Positions) != nullptr &&
           card.find_input(InputRole::EdgeVectors) == nullptr;
}

Found geometry_not_replicated(const ModelCard& card, const AttemptEvidence& e) {
    const auto& spec = e.attempt.spec;
    const bool replicates =
        spec.distribution.policy.kind == PolicyKind::GraphParallel && spec.gp_replicate_geometry;
    const bool reads_senders =
        says(e, "it reads rows of senders from positions") || says(e, "that have to be refreshed");
    if (reads_senders && !replicates && takes_replicated_geometry(card))
        return refusal_finding(0.98, e,
                               "Set policy \"graph_parallel\" and gp_replicate_geometry true: the "
                               "model reads positions of senders and adds shifts of images.",
                               {edited(spec, [](MLIPSpec& s) {
                                   s.distribution.policy = {};
                                   s.distribution.policy.kind = PolicyKind::GraphParallel;
                                   s.gp_replicate_geometry = true;
                               })});
    if (!says(e, "/gp_replicate_geometry")) return {};
    return refusal_finding(
        0.97, e, "Set gp_replicate_geometry false: policy \"graph_parallel\" alone replicates it.",
        {edited(e.attempt.spec, [](MLIPSpec& s) { s.gp_replicate_geometry = false; })});
}

Found policy_not_supported(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "/core/policy/kind")) return {};
    return refusal_finding(0.97, e, "Set policy \"halo\".",
                           {edited(e.attempt.spec, [](MLIPSpec& s) {
                               s.distribution.policy = {};
                               s.gp_replicate_geometry = false;
                           })});
}

/// The spec without the sum over ranks of an output that the refusal names, for each that it names
/// after the word `before`.
std::vector<MLIPSpec> without_named_sum(const AttemptEvidence& e, const std::string& before) {
    std::vector<MLIPSpec> edits;
    for (const auto& name : e.attempt.spec.all_reduce_outputs)
        if (says(e, before + "\"" + name + "\""))
            edits.push_back(
                edited(e.attempt.spec, [&](MLIPSpec& s) { s.all_reduce_outputs.erase(name); }));
    return edits;
}

Found unknown_output(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "/all_reduce_outputs") || !says(e, "which is no output of the model")) return {};
    return refusal_finding(0.98, e,
                           "Write the name as the model card has it, or remove it from "
                           "all_reduce_outputs.",
                           without_named_sum(e, "got "));
}

Found double_reduction(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "/all_reduce_outputs")) return {};
    return refusal_finding(
        0.97, e,
        "Remove the output from all_reduce_outputs: it is summed over ranks already, or has rows.",
        without_named_sum(e, ""));
}

Found output_kind(const ModelCard& card, const AttemptEvidence& e) {
    if (!says(e, "/output_kinds")) return {};
    std::vector<MLIPSpec> edits;
    for (const auto& output : card.outputs) {
        if (!says(e, "\"" + output.key + "\"")) continue;
        const auto kind = says(e, "expected \"per_graph\"") ? OutputKind::PerGraph : output.kind;
        edits.push_back(
            edited(e.attempt.spec, [&](MLIPSpec& s) { s.output_kinds[output.key] = kind; }));
    }
    return refusal_finding(0.95, e, "Give the output the kind that the model card says.",
                           std::move(edits));
}

Found force_strategy(const ModelCard& card, const AttemptEvidence& e) {
    if (!says(e, "/compile/force_strategy")) return {};
    return refusal_finding(0.95, e, "Say who differentiates as the model card does.",
                           {edited(e.attempt.spec, [&](MLIPSpec& s) {
                               if (!s.compile) s.compile.emplace();
                               s.compile->force_strategy =
                                   card.forces == ForceSource::Model
                                       ? ForceStrategy::ModelInternal
                                       : ForceStrategy::FrameworkFromNodeEnergy;
                           })});
}

Found node_energy_key(const ModelCard& card, const AttemptEvidence& e) {
    if (!says(e, "/node_energy_key")) return {};
    const auto* energies = card.find_output(OutputRole::AtomicEnergies);
    return refusal_finding(
        0.95, e, "Name the output that holds the atoms' energies.",
        {edited(e.attempt.spec, [&](MLIPSpec& s) {
            s.node_energy_key = energies ? std::optional<std::string>(energies->key) : std::nullopt;
        })});
}

/// "package.module.function" as an adapter that sums its first argument over the system.
PythonAdapter summing_adapter(const std::string& function) {
    const auto dot = function.rfind('.');
    return {function.substr(0, dot), function.substr(dot + 1), "nvalchemi_lmp:system_sum"};
}

bool is_declared(const MLIPSpec& spec, const std::string& function) {
    const auto& helpers = spec.distribution.third_party_helpers;
    return std::any_of(helpers.begin(), helpers.end(),
                       [&](const auto& helper) { return target_of(helper) == function; });
}

/// A function of the model's author. The archive's list has the methods of its modules, too.
bool may_be_helper(const std::string& function) {
    const auto dot = function.rfind('.');
    if (dot == std::string::npos || function.rfind("torch.", 0) == 0) return false;
    return function.substr(dot + 1).rfind("forward", 0) != 0;
}

Found undeclared_helper(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "cannot distribute the model") && !says(e, "is not finite")) return {};
    if (says(e, "the spec declares ") || says(e, "declare it with an adapter")) return {};
    std::vector<MLIPSpec> edits;
    std::string names;
    for (const auto& function : e.free_functions) {
        if (!may_be_helper(function) || is_declared(e.attempt.spec, function)) continue;
        names += (names.empty() ? "" : ", ") + function;
        edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
            // an adapter that meant this function under a slightly different name gives way
            std::erase_if(s.distribution.third_party_helpers, [&](const auto& helper) {
                return !std::holds_alternative<ModuleForward>(helper) &&
                       nearest_name(target_of(helper), {function}) == function;
            });
            s.distribution.third_party_helpers.emplace_back(summing_adapter(function));
        }));
    }
    if (edits.empty()) return {};
    auto diagnostic =
        refusal_finding(0.6, e,
                        "If one of the archive's functions (" + names +
                            ") sums over the atoms of a system, declare it in "
                            "third_party_helpers with a replacement that sums over ranks.",
                        std::move(edits));
    // nothing else explains this refusal
    if (says(e, "depends on") || says(e, "data")) diagnostic.confidence = 0.8;
    return diagnostic;
}

/// Whether the archive has nothing of this name: a spec of another model brings many such.
bool is_of_another_model(const AttemptEvidence& e, const HelperAdapter& helper) {
    const auto& functions = e.free_functions;
    return std::find(functions.begin(), functions.end(), target_of(helper)) == functions.end();
}

/// The spec without all that names what neither the archive nor a library has.
MLIPSpec without_other_models(const AttemptEvidence& e) {
    return edited(e.attempt.spec, [&](MLIPSpec& s) {
        std::erase_if(s.distribution.third_party_helpers,
                      [&](const auto& helper) { return is_of_another_model(e, helper); });
        std::erase_if(s.distribution.custom_ops,
                      [](const auto& adapter) { return !is_registered_operator(adapter.op); });
    });
}

Found helper_not_called(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "/core/third_party_helpers/")) return {};
    std::vector<MLIPSpec> edits;
    auto& helpers = e.attempt.spec.distribution.third_party_helpers;
    for (std::size_t k = 0; k < helpers.size(); ++k) {
        if (!says(e, "/core/third_party_helpers/" + std::to_string(k))) continue;
        const auto near = nearest_name(target_of(helpers[k]), e.free_functions);
        if (!near.empty() && near != target_of(helpers[k]))
            edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
                auto& helper = s.distribution.third_party_helpers[k];
                const auto renamed = summing_adapter(near);
                if (auto* python = std::get_if<PythonAdapter>(&helper)) {
                    python->module_path = renamed.module_path;
                    python->attr_name = renamed.attr_name;
                } else if (auto* jit = std::get_if<JitAdapter>(&helper)) {
                    jit->module_path = renamed.module_path;
                    jit->attr_name = renamed.attr_name;
                }
            }));
        if (is_of_another_model(e, helpers[k])) edits.push_back(without_other_models(e));
        edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
            auto& list = s.distribution.third_party_helpers;
            list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
        }));
        edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
            auto& helper = s.distribution.third_party_helpers[k];
            const auto sum = std::string("nvalchemi_lmp:system_sum");
            if (auto* python = std::get_if<PythonAdapter>(&helper)) python->replacement = sum;
            if (auto* jit = std::get_if<JitAdapter>(&helper)) jit->replacement = sum;
        }));
    }
    return refusal_finding(
        0.97, e,
        "Name the function as the archive does, or remove the adapter: as it is, it "
        "replaces nothing and the archive's own code would bypass it.",
        std::move(edits));
}

Found dropped_in_place_result(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "operator that writes its argument") &&
        !says(e, "not have been used in the graph") && !says(e, "changes a tensor in place"))
        return {};
    return refusal_finding(
        0.85, e,
        "The model drops the result of an operator that works in place: use what it "
        "returns. No spec can mend that.",
        {});
}

Found severed_gradient(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "does not depend on its input") && !says(e, "does not have a grad_fn") &&
        !says(e, "does not require grad"))
        return {};
    return refusal_finding(0.85, e,
                           "A function cuts the gradient between energy and coordinates: declare a "
                           "replacement for it that torch can differentiate.",
                           {});
}

Found refused_otherwise(const ModelCard&, const AttemptEvidence& e) {
    if (e.attempt.message.empty()) return {};
    std::vector<MLIPSpec> edits;
    const auto& preset = *find_preset("SPEC_MPNN_HALO");
    edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
        s.distribution.policy = preset.distribution.policy;
        s.system_reductions = true;
    }));
    return refusal_finding(0.1, e,
                           "Read the refusal: it says where, what was found and what was expected.",
                           std::move(edits));
}

}  // namespace

const std::vector<DiagnosisRule>& refusal_rules() {
    static const std::vector<DiagnosisRule> rules{
        {"sums_not_folded", sums_not_folded},
        {"stale_halo_rows", stale_halo_rows},
        {"reductions_forbidden", reductions_forbidden},
        {"policy_not_supported", policy_not_supported},
        {"geometry_not_replicated", geometry_not_replicated},
        {"unknown_output", unknown_output},
        {"double_reduction", double_reduction},
        {"output_kind", output_kind},
        {"force_strategy", force_strategy},
        {"node_energy_key", node_energy_key},
        {"undeclared_helper", undeclared_helper},
        {"helper_not_called", helper_not_called},
        {"dropped_in_place_result", dropped_in_place_result},
        {"severed_gradient", severed_gradient},
        {"refused_otherwise", refused_otherwise},
    };
    return rules;
}

}  // namespace nvalchemi
