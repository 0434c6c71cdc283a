// SPDX-License-Identifier: GPL-2.0-only
// What the text of a refusal says about the operator adapters of a spec.
#include <algorithm>
#include <cstdlib>

#include "potentials/explain_spec.hpp"
#include "potentials/validator/diagnosis_rules.hpp"
#include "potentials/validator/refusal_text.hpp"

namespace nvalchemi {

namespace {

using Found = std::optional<Diagnostic>;
using Kind = OutputTransform::Kind;

MLIPSpec without_argument_transform(const MLIPSpec& spec, const RefusedPlace& place) {
    return edited(spec, [&](MLIPSpec& s) {
        if (auto* adapter = adapter_of(s, place.op)) adapter->arg_transforms.erase(place.position);
    });
}

MLIPSpec without_output_transform(const MLIPSpec& spec, const RefusedPlace& place) {
    return edited(spec, [&](MLIPSpec& s) {
        if (auto* adapter = adapter_of(s, place.op))
            adapter->output_transforms.erase(place.position);
    });
}

MLIPSpec with_output_transform(const MLIPSpec& spec, const RefusedPlace& place, Kind kind) {
    return edited(spec, [&](MLIPSpec& s) {
        require_adapter(s, place.op).output_transforms[place.position] = {kind, false};
    });
}

Found double_padding(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "double padding")) return {};
    const auto place = place_of(e, "argument");
    return refusal_finding(0.98, e,
                           "Remove gather_inputs from argument " + std::to_string(place.position) +
                               " of " + place.op + ": it has halo rows already.",
                           {without_argument_transform(e.attempt.spec, place)});
}

Found argument_without_rows(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "which has no rows of atoms along its first") &&
        !says(e, "which is no tensor of rows (n_rows, *)"))
        return {};
    const auto place = place_of(e, "argument");
    return refusal_finding(0.95, e,
                           "Remove the transform of argument " + std::to_string(place.position) +
                               " of " + place.op + ": it has no rows of atoms.",
                           {without_argument_transform(e.attempt.spec, place)});
}

Found wrong_output_transform(const ModelCard&, const AttemptEvidence& e) {
    const bool rows = says(e, "which has rows or edges; expected a value of the whole");
    const bool none = says(e, "which has no halo rows; expected (n_rows, *)");
    if (!rows && !none) return {};
    const auto place = place_of(e, "output");
    const auto without = without_output_transform(e.attempt.spec, place);
    const auto swapped = with_output_transform(e.attempt.spec, place,
                                               rows ? Kind::ScatterOutputs : Kind::AllReduceSum);
    return refusal_finding(
        0.9, e,
        "Output " + std::to_string(place.position) + " of " + place.op +
            (rows ? " has rows of atoms: declare scatter_outputs if halo rows hold "
                    "parts of sums, else nothing."
                  : " belongs to the whole system: declare all_reduce_sum, or nothing."),
        {without, swapped});
}

/// What an adapter of an unknown operator may have to say, the cheapest first.
std::vector<MLIPSpec> possible_adapters(const MLIPSpec& spec, const std::string& op) {
    const auto positions = operator_positions(op);
    std::vector<MLIPSpec> edits;
    const auto add = [&](auto change) {
        edits.push_back(edited(spec, [&](MLIPSpec& s) {
            auto& adapter = require_adapter(s, op);
            adapter = {op, {}, {}};
            change(adapter);
        }));
    };
    add([](OpAdapter&) {});
    if (positions.outputs > 0)
        add([](OpAdapter& a) { a.output_transforms[0] = {Kind::ScatterOutputs, false}; });
    if (positions.outputs > 0 && !positions.tensor_arguments.empty())
        add([&](OpAdapter& a) {
            a.arg_transforms[positions.tensor_arguments[0]] = ArgTransform::SliceOwned;
            a.output_transforms[0] = {Kind::AllReduceSum, false};
        });
    return edits;
}

Found undeclared_operator(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "declare it with an adapter in the")) return {};
    const auto op = word_after(e, "operator ");
    return refusal_finding(
        0.95, e,
        "Declare an adapter for " + op +
            " in custom_ops, with what its halo rows need (none, scatter_outputs, or "
            "slice_owned and all_reduce_sum).",
        possible_adapters(e.attempt.spec, op));
}

/// An operator has one adapter: keep the first or the last that the spec gives it.
Found duplicate_adapter(const ModelCard&, const AttemptEvidence& e) {
    const auto& adapters = e.attempt.spec.distribution.custom_ops;
    const auto is_of = [](const std::string& op) {
        return [&op](const auto& adapter) { return adapter.op == op; };
    };
    const auto twice = std::find_if(adapters.begin(), adapters.end(), [&](const auto& adapter) {
        return std::count_if(adapters.begin(), adapters.end(), is_of(adapter.op)) > 1;
    });
    if (twice == adapters.end() || !says(e, "a second time with other transforms")) return {};
    const auto op = twice->op;
    const auto with_only = [&](const OpAdapter& kept) {
        return edited(e.attempt.spec, [&](MLIPSpec& s) {
            auto& ops = s.distribution.custom_ops;
            const auto first = std::find_if(ops.begin(), ops.end(), is_of(op));
            *first = kept;
            ops.erase(std::remove_if(std::next(first), ops.end(), is_of(op)), ops.end());
        });
    };
    std::vector<MLIPSpec> edits;
    for (const auto& adapter : adapters)
        if (adapter.op == op) edits.push_back(with_only(adapter));
    return refusal_finding(0.97, e, "Keep the right one of the adapters of " + op + ".",
                           std::move(edits));
}

Found operator_not_found(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, ", expected one that is registered (load the library")) return {};
    const auto& adapters = e.attempt.spec.distribution.custom_ops;
    const auto unknown = std::find_if(adapters.begin(), adapters.end(), [](const auto& adapter) {
        return !is_registered_operator(adapter.op);
    });
    if (unknown == adapters.end()) return {};
    const auto at = static_cast<std::size_t>(unknown - adapters.begin());
    const auto name_space = unknown->op.substr(0, unknown->op.find("::"));
    const auto near = nearest_name(unknown->op, registered_operators(name_space));
    std::vector<MLIPSpec> edits;
    if (!near.empty() && adapter_of(e.attempt.spec, near) == nullptr)
        edits.push_back(
            edited(e.attempt.spec, [&](MLIPSpec& s) { s.distribution.custom_ops[at].op = near; }));
    edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
        auto& ops = s.distribution.custom_ops;
        ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(at));
    }));
    return refusal_finding(
        0.95, e,
        near.empty() ? "Load the library that registers " + unknown->op + ", or remove its adapter."
                     : "Did you mean " + near + "?",
        std::move(edits));
}

Found position_out_of_range(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "got position ")) return {};
    const auto position = std::atoi(word_after(e, "got position ").c_str());
    const bool argument = says(e, "/arg_transforms/");
    std::vector<MLIPSpec> edits;
    for (std::size_t k = 0; k < e.attempt.spec.distribution.custom_ops.size(); ++k) {
        if (!says(e, "/core/custom_ops/" + std::to_string(k) + "/")) continue;
        const auto positions = operator_positions(e.attempt.spec.distribution.custom_ops[k].op);
        if (argument) {
            for (const int better : positions.tensor_arguments)
                edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
                    auto& map = s.distribution.custom_ops[k].arg_transforms;
                    map[better] = map.at(position);
                    map.erase(position);
                }));
        } else if (positions.outputs > 0) {
            edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
                auto& map = s.distribution.custom_ops[k].output_transforms;
                map[0] = map.at(position);
                map.erase(position);
            }));
        }
        edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
            auto& adapter = s.distribution.custom_ops[k];
            if (argument)
                adapter.arg_transforms.erase(position);
            else
                adapter.output_transforms.erase(position);
        }));
    }
    return refusal_finding(0.95, e, "Count arguments and outputs of the operator from 0.",
                           std::move(edits));
}

Found not_finite(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "is not finite")) return {};
    std::vector<MLIPSpec> edits;
    for (const auto& adapter : e.attempt.spec.distribution.custom_ops)
        for (const auto& [position, transform] : adapter.arg_transforms)
            edits.push_back(without_argument_transform(e.attempt.spec, {adapter.op, position}));
    return refusal_finding(
        0.7, e,
        "Decomposed features are NaN or infinite where the undecomposed ones are not: "
        "look for an argument that is padded twice or a halo row that is never filled.",
        std::move(edits));
}

/// Drops the transforms of one operator that have no effect under the policy.
void drop_idle_transforms(OpAdapter& adapter, bool has_halo) {
    std::erase_if(adapter.arg_transforms, [&](const auto& entry) {
        return (entry.second == ArgTransform::GatherInputsFull) == has_halo;
    });
    std::erase_if(adapter.output_transforms, [&](const auto& entry) {
        return (entry.second.kind == Kind::SliceOutputsOwned) == has_halo;
    });
}

/// Transforms for a halo under a policy without one, or the other way round.
Found transform_of_other_policy(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "\" needs policy ")) return {};
    const bool needs_halo = says(e, "needs policy \"halo\"");
    const auto& policy = e.attempt.spec.distribution.policy;
    std::vector<MLIPSpec> edits;
    if (needs_halo)
        edits.push_back(edited(e.attempt.spec, [](MLIPSpec& s) {
            s.distribution.policy = {};
            s.gp_replicate_geometry = false;
        }));
    const auto with_first_output = [&](std::optional<Kind> kind) {
        edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
            for (auto& adapter : s.distribution.custom_ops) {
                const auto outputs = adapter.output_transforms.size();
                drop_idle_transforms(adapter, policy.has_halo());
                if (kind && adapter.output_transforms.size() < outputs)
                    adapter.output_transforms[0] = {*kind, false};
            }
        }));
    };
    with_first_output({});
    if (!needs_halo)
        for (const auto kind : {Kind::ScatterOutputs, Kind::AllReduceSum}) with_first_output(kind);
    return refusal_finding(
        0.96, e,
        needs_halo ? "Set policy \"halo\", which these transforms are for."
                   : "Remove the transforms of policy \"graph_parallel\", or declare those that do "
                     "the same with a halo: nothing, scatter_outputs, or all_reduce_sum.",
        std::move(edits));
}

/// An operator that got too few rows for the indices it is given, whatever it says of that.
Found rows_missing(const ModelCard&, const AttemptEvidence& e) {
    if (!says(e, "out of range") && !says(e, "out of bounds") && !says(e, "must match the size") &&
        !says(e, "failed on a sample structure") &&
        !says(e, "combines two different sets of rows or edges"))
        return {};
    const auto op = word_after(e, "operator ");
    std::vector<MLIPSpec> edits;
    const auto* adapter = adapter_of(e.attempt.spec, op);
    // an operator that goes on with the rows of one that was given too few has no adapter itself
    for (const auto& any : e.attempt.spec.distribution.custom_ops)
        for (const auto& [position, transform] : any.arg_transforms)
            if (transform == ArgTransform::SliceOwned && (adapter == nullptr || any.op == op))
                edits.push_back(without_argument_transform(e.attempt.spec, {any.op, position}));
    if (adapter == nullptr && edits.empty()) return {};
    for (const int position : operator_positions(op).tensor_arguments)
        if (adapter != nullptr && adapter->arg_transforms.count(position) == 0)
            edits.push_back(edited(e.attempt.spec, [&, position = position](MLIPSpec& s) {
                require_adapter(s, op).arg_transforms[position] = ArgTransform::GatherInputs;
            }));
    return refusal_finding(
        0.85, e,
        op + " gets fewer rows than its indices address: remove slice_owned, or declare "
             "gather_inputs on the argument that has owned rows only.",
        std::move(edits));
}

}  // namespace

const std::vector<DiagnosisRule>& adapter_refusal_rules() {
    static const std::vector<DiagnosisRule> rules{
        {"double_padding", double_padding},
        {"argument_without_rows", argument_without_rows},
        {"wrong_output_transform", wrong_output_transform},
        {"undeclared_operator", undeclared_operator},
        {"duplicate_adapter", duplicate_adapter},
        {"operator_not_found", operator_not_found},
        {"position_out_of_range", position_out_of_range},
        {"transform_of_other_policy", transform_of_other_policy},
        {"not_finite", not_finite},
        {"rows_missing", rows_missing},
    };
    return rules;
}

}  // namespace nvalchemi
