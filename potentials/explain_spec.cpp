// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/explain_spec.hpp"

#include <algorithm>

#include "potentials/builtin_replacements.hpp"
#include "potentials/internal_torch.hpp"
#include "spec/format_names.hpp"
#include "spec/json_value.hpp"

namespace nvalchemi {

std::string action_of(const OpAdapter& adapter, const StoragePolicy& policy) {
    std::string text;
    const auto add = [&](bool effective, const char* name, const char* what, int position) {
        if (!effective) return;
        text += text.empty() ? "" : ", ";
        text += std::string(name) + " on " + what + " " + std::to_string(position);
    };
    for (const auto& [position, transform] : adapter.arg_transforms)
        add(position >= 0 && stores_rows_for(policy.kind, needs_halo(transform)),
            name_of(transform), "argument", position);
    for (const auto& [position, transform] : adapter.output_transforms)
        add(position >= 0 && stores_rows_for(policy.kind, needs_halo(transform.kind)),
            name_of(transform.kind), "output", position);
    return text.empty() ? "declared without transforms" : text;
}

const std::string* replacement_of(const HelperAdapter& helper) {
    const std::optional<std::string>* name = nullptr;
    if (const auto* jit = std::get_if<JitAdapter>(&helper)) name = &jit->replacement;
    if (const auto* python = std::get_if<PythonAdapter>(&helper)) name = &python->replacement;
    if (const auto* method = std::get_if<MethodAdapter>(&helper)) name = &method->replacement;
    const bool can_bind =
        name != nullptr && *name &&
        (is_bindable_replacement(**name) || name->value().rfind("archive:", 0) == 0);
    return can_bind ? &**name : nullptr;
}

std::string action_of(const HelperAdapter& helper) {
    if (const auto* marker = std::get_if<ModuleForward>(&helper))
        return "marker " + in_quotes(marker->label) + ", without effect here";
    const auto* name = replacement_of(helper);
    if (name == nullptr) return "no replacement that can bind: the archive's own code runs";
    const auto* builtin = find_builtin_replacement(*name);
    if (builtin == nullptr) return *name + ": expected in the archive";
    switch (builtin->action) {
        case BuiltinReplacement::Action::KeepOriginal:
            return *name + ": the archive's own code runs: " + builtin->reason;
        case BuiltinReplacement::Action::SystemSum: return *name + ": built in: " + builtin->reason;
        case BuiltinReplacement::Action::GraphParallel: break;
    }
    return *name + ": for policy \"graph_parallel\" only, where the archive's own code runs: " +
           builtin->reason;
}

bool is_registered_operator(const std::string& op) {
    return c10::Dispatcher::singleton().findSchema({op, ""}).has_value();
}

OperatorPositions operator_positions(const std::string& op) {
    OperatorPositions positions;
    const auto handle = c10::Dispatcher::singleton().findSchema({op, ""});
    if (!handle) return positions;
    const auto& arguments = handle->schema().arguments();
    for (std::size_t k = 0; k < arguments.size(); ++k)
        if (arguments[k].type()->isSubtypeOf(*c10::TensorType::get()))
            positions.tensor_arguments.push_back(static_cast<int>(k));
    positions.outputs = static_cast<int>(handle->schema().returns().size());
    return positions;
}

std::vector<std::string> registered_operators(const std::string& name_space) {
    std::vector<std::string> names;
    for (const auto& name : c10::Dispatcher::singleton().getAllOpNames())
        if (name.name.rfind(name_space + "::", 0) == 0 && name.overload_name.empty())
            names.push_back(name.name);
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<AdapterUse> explain_adapters(const MLIPSpec& spec) {
    std::vector<AdapterUse> uses;
    const auto& distribution = spec.distribution;
    for (std::size_t k = 0; k < distribution.custom_ops.size(); ++k) {
        const auto& adapter = distribution.custom_ops[k];
        auto action = action_of(adapter, distribution.policy);
        if (!is_registered_operator(adapter.op))
            action += "; not registered here: it binds once a library that registers it is loaded";
        uses.push_back(
            {"/core/custom_ops/" + std::to_string(k), "operator " + adapter.op, action, {}});
    }
    for (std::size_t k = 0; k < distribution.third_party_helpers.size(); ++k) {
        const auto& helper = distribution.third_party_helpers[k];
        uses.push_back({"/core/third_party_helpers/" + std::to_string(k),
                        std::string(kind_of(helper)) + " " + target_of(helper),
                        action_of(helper),
                        {}});
    }
    return uses;
}

}  // namespace nvalchemi
