// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/adapter_binding.hpp"

#include <algorithm>

#include "potentials/explain_spec.hpp"
#include "spec/json_value.hpp"
#include "spec/spec_error.hpp"

namespace nvalchemi {

namespace {

std::string pointer_of(std::size_t index) { return "/core/custom_ops/" + std::to_string(index); }

/// Names of the registered operators of a namespace, for a message.
std::string operators_of_namespace(const std::string& op) {
    const auto space = op.substr(0, op.find("::") + 2);
    std::vector<std::string> names;
    for (const auto& name : c10::Dispatcher::singleton().getAllOpNames())
        if (name.name.rfind(space, 0) == 0 && name.overload_name.empty())
            names.push_back(name.name);
    std::sort(names.begin(), names.end());
    if (names.empty()) return "nothing is registered in namespace " + in_quotes(space);
    if (names.size() > 8) names.resize(8);
    return "registered there: " + quoted_list(names);
}

const c10::FunctionSchema& schema_of(const OpAdapter& adapter, std::size_t index) {
    const auto handle = c10::Dispatcher::singleton().findSchema({adapter.op, ""});
    if (handle) return handle->schema();
    throw SpecError(SPEC_DOCUMENT, pointer_of(index) + "/op",
                    "got operator " + in_quotes(adapter.op) +
                        ", expected one that is registered (load the library that registers it: "
                        "name it in the card's \"ops\" or with the keyword ops of pair_style; " +
                        operators_of_namespace(adapter.op) + ")");
}

void check_position(const std::string& pointer, int position, std::size_t count,
                    const std::string& what, const c10::FunctionSchema& schema) {
    if (position < static_cast<int>(count)) return;
    throw SpecError(SPEC_DOCUMENT, pointer,
                    "got position " + std::to_string(position) + ", expected one of the " +
                        std::to_string(count) + " " + what + " of " + toString(schema) +
                        " (count them from 0)");
}

}  // namespace

OperatorAdapters::OperatorAdapters(const MLIPSpec& spec) : adapters_(spec.distribution.custom_ops) {
    for (std::size_t k = 0; k < adapters_.size(); ++k) {
        const auto& adapter = adapters_[k];
        const auto& schema = schema_of(adapter, k);
        // a lenient reader lets negative positions and other storages pass: without effect
        for (const auto& [position, transform] : adapter.arg_transforms)
            check_position(pointer_of(k) + "/arg_transforms/" + std::to_string(position), position,
                           schema.arguments().size(), "arguments", schema);
        for (const auto& [position, transform] : adapter.output_transforms)
            check_position(pointer_of(k) + "/output_transforms/" + std::to_string(position),
                           position, schema.returns().size(), "outputs", schema);
        uses_.push_back({pointer_of(k),
                         "operator " + adapter.op,
                         action_of(adapter, spec.distribution.policy),
                         {}});
    }
}

void check_operators(const MLIPSpec& spec) { const OperatorAdapters bound(spec); }

const OpAdapter* OperatorAdapters::find(const std::string& op) const {
    // of two for one operator, which a lenient reader lets pass, the last counts
    const auto found = std::find_if(adapters_.rbegin(), adapters_.rend(),
                                    [&](const auto& adapter) { return adapter.op == op; });
    return found == adapters_.rend() ? nullptr : &*found;
}

void OperatorAdapters::note_use(const OpAdapter& adapter, const std::string& source) {
    note_place(uses_[&adapter - adapters_.data()], source);
}

}  // namespace nvalchemi
