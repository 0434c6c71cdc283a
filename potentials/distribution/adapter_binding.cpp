// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/adapter_binding.hpp"

#include <algorithm>

#include "spec/json_value.hpp"
#include "spec/spec_error.hpp"

namespace nvalchemi {

namespace {

constexpr const char* DOCUMENT = "distribution spec";

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
    throw SpecError(DOCUMENT, pointer_of(index) + "/op",
                    "got operator " + in_quotes(adapter.op) +
                        ", expected one that is registered (load the library that registers it: "
                        "name it in the card's \"ops\" or with the keyword ops of pair_style; " +
                        operators_of_namespace(adapter.op) + ")");
}

void check_position(const std::string& pointer, int position, std::size_t count,
                    const std::string& what, const c10::FunctionSchema& schema) {
    if (position >= 0 && position < static_cast<int>(count)) return;
    std::string text = "got position " + std::to_string(position) + ", expected one of the " +
                       std::to_string(count) + " " + what + " of ";
    for (const char letter : toString(schema)) text += letter;
    throw SpecError(DOCUMENT, pointer, text + " (count them from 0)");
}

void check_storage(const MLIPSpec& spec, const std::string& pointer, const char* transform,
                   bool of_halo) {
    if (of_halo == spec.distribution.policy.has_halo()) return;
    throw SpecError(DOCUMENT, pointer,
                    std::string("got transform ") + in_quotes(transform) +
                        ", expected one for the storage of this policy (" +
                        (of_halo ? "it needs policy \"halo\" or \"refresh_halo\""
                                 : "it needs policy \"graph_parallel\"") +
                        ")");
}

std::string action_of(const OpAdapter& adapter) {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    for (const auto& [position, transform] : adapter.arg_transforms)
        add(std::string(transform_name(transform)) + " on argument " + std::to_string(position));
    for (const auto& [position, transform] : adapter.output_transforms)
        add(std::string(transform_name(transform.kind)) + " on output " + std::to_string(position));
    return text.empty() ? "declared without transforms" : text;
}

}  // namespace

const char* transform_name(ArgTransform transform) {
    switch (transform) {
        case ArgTransform::GatherInputs: return "gather_inputs";
        case ArgTransform::GatherInputsFull: return "gather_inputs_full";
        case ArgTransform::SliceOwned: break;
    }
    return "slice_owned";
}

const char* transform_name(OutputTransform::Kind kind) {
    switch (kind) {
        case OutputTransform::Kind::ScatterOutputs: return "scatter_outputs";
        case OutputTransform::Kind::AllReduceSum: return "all_reduce_sum";
        case OutputTransform::Kind::SliceOutputsOwned: break;
    }
    return "slice_outputs_owned";
}

OperatorAdapters::OperatorAdapters(const MLIPSpec& spec) : adapters_(spec.distribution.custom_ops) {
    for (std::size_t k = 0; k < adapters_.size(); ++k) {
        const auto& adapter = adapters_[k];
        const auto& schema = schema_of(adapter, k);
        for (const auto& [position, transform] : adapter.arg_transforms) {
            const auto pointer = pointer_of(k) + "/arg_transforms/" + std::to_string(position);
            check_position(pointer, position, schema.arguments().size(), "arguments", schema);
            check_storage(spec, pointer, transform_name(transform),
                          transform != ArgTransform::GatherInputsFull);
        }
        for (const auto& [position, transform] : adapter.output_transforms) {
            const auto pointer = pointer_of(k) + "/output_transforms/" + std::to_string(position);
            check_position(pointer, position, schema.returns().size(), "outputs", schema);
            check_storage(spec, pointer, transform_name(transform.kind),
                          transform.kind != OutputTransform::Kind::SliceOutputsOwned);
        }
        uses_.push_back({pointer_of(k), "operator " + adapter.op, action_of(adapter), {}});
    }
}

const OpAdapter* OperatorAdapters::find(const std::string& op) const {
    const auto found = std::find_if(adapters_.begin(), adapters_.end(),
                                    [&](const auto& adapter) { return adapter.op == op; });
    return found == adapters_.end() ? nullptr : &*found;
}

void OperatorAdapters::note_use(const OpAdapter& adapter, const std::string& source) {
    uses_[&adapter - adapters_.data()].places.push_back(source);
}

}  // namespace nvalchemi
