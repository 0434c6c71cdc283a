// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/operator_rules.hpp"

#include <algorithm>
#include <unordered_set>

#include "kernels/kernel_operators.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

bool has_tag(const Call& call, at::Tag tag) {
    const auto handle = c10::Dispatcher::singleton().findSchema(
        {call.schema->name(), call.schema->overload_name()});
    return handle && handle->hasTag(tag);
}

/// Operators that act element by element but lack torch's tag, or broadcast like those that do.
bool acts_by_element(const Call& call) {
    static const std::unordered_set<std::string> known{
        "copy",         "fill",       "zero",       "masked_fill", "where",      "silu",
        "relu",         "relu6",      "gelu",       "elu",         "selu",       "celu",
        "softplus",     "softshrink", "leaky_relu", "hardtanh",    "hardswish",  "mish",
        "sinc",         "clamp",      "clamp_min",  "clamp_max",   "addcmul",    "addcdiv",
        "log_sigmoid",  "square",     "softsign",   "tanhshrink",  "nan_to_num", "float_power",
        "floor_divide", "remainder",  "fmod",       "__and",       "__or",       "__xor",
        "__iand",       "__ior",      "__ixor"};
    return has_tag(call, at::Tag::pointwise) || known.count(call.base) > 0;
}

bool is_random(const Call& call) {
    if (call.base == "dropout" || call.base == "feature_dropout" || call.base == "alpha_dropout")
        return call.flag("train", true);
    return has_tag(call, at::Tag::nondeterministic_seeded);
}

bool returns_tensors(const Call& call) {
    for (const auto& result : call.schema->returns())
        if (result.type()->isSubtypeOf(*c10::TensorType::get()) ||
            result.type()->str().find("Tensor") != std::string::npos)
            return true;
    return false;
}

std::string strip(const std::string& qualified) {
    auto base = qualified.substr(qualified.rfind("::") + 2);
    while (!base.empty() && base.back() == '_') base.pop_back();
    return base;
}

/// Changing a constant: on a copy, so that the model's own tensors stay as they are.
std::vector<AbstractPtr> change_fixed(TraceBuilder& builder, Call& call) {
    auto& target = *call.args[0];
    target.probe[0] = target.probe[1] = target.probe[0].toTensor().clone();
    builder.fold(call);
    return {call.args[0]};
}

std::vector<AbstractPtr> apply_foreign(TraceBuilder& builder, Call& call) {
    if (rules::sees_rows(builder, call)) {
        if (auto results = rules::try_row_wise(builder, call)) return *results;
        TraceBuilder::refuse(call,
                             "an operator of another library sees rows or edges, and what it does "
                             "with them is not known; declare it with an adapter in the "
                             "\"custom_ops\" of the distribution spec");
    }
    return builder.emit(call);
}

/// Traced models carry sizes as tensors: the count goes with them.
std::vector<AbstractPtr> number_to_tensor(TraceBuilder& builder, Call& call) {
    auto result = builder.emit(call)[0];
    auto facts = builder.facts(result);
    facts.count = call.args[0]->count;
    builder.set_facts(result, facts);
    result->from_count = call.args[0]->from_count;
    return {result};
}

std::vector<AbstractPtr> dispatch(TraceBuilder& builder, Call& call) {
    if (const auto* adapter = builder.operator_adapters().find(call.name))
        return rules::apply_adapted(builder, call, *adapter);
    if (call.name == "prim::NumToTensor") return number_to_tensor(builder, call);
    if (call.name.rfind("aten::", 0) != 0) return apply_foreign(builder, call);
    if (call.base == "grad") return rules::apply_gradient(builder, call);
    if (call.base == "where" && call.args.size() == 1) return rules::apply_gather(builder, call);
    if (rules::is_gather(call.base)) return rules::apply_gather(builder, call);
    if (rules::is_scatter(call.base)) return rules::apply_scatter(builder, call);
    if (rules::is_reduction(call.base)) return rules::apply_reduction(builder, call);
    if (rules::is_contraction(call.base)) return rules::apply_contraction(builder, call);
    if (rules::is_view(call.base)) return rules::apply_view(builder, call);
    if (rules::is_factory(call.base)) return rules::apply_factory(builder, call);
    if (call.base.find("dropout") != std::string::npos) return {call.args[0]};
    if (acts_by_element(call)) return rules::apply_pointwise(builder, call);
    if (!rules::sees_rows(builder, call)) return builder.emit(call);
    if (auto results = rules::try_row_wise(builder, call)) return *results;
    TraceBuilder::refuse(call,
                         "this version does not know what it does with rows or edges; rewrite it "
                         "with operators that act by element, gather, scatter or multiply "
                         "matrices");
}

}  // namespace

std::vector<AbstractPtr> apply_operator(TraceBuilder& builder, Call& call) {
    call.base = strip(call.name);
    const auto& arguments = call.schema->arguments();
    for (std::size_t k = 0; k < arguments.size(); ++k) {
        const auto* alias = arguments[k].alias_info();
        if (alias == nullptr || !alias->isWrite()) continue;
        if (k > 0) TraceBuilder::refuse(call, "it writes an argument other than its first");
        call.in_place = true;
    }
    if (call.name.rfind("nvalchemi_lmp::", 0) == 0 && !is_kernel_operator(call.name))
        return rules::apply_verb(builder, call);
    if (is_random(call))
        TraceBuilder::refuse(call,
                             "random numbers would differ between ranks; put the model into "
                             "evaluation mode before exporting it");
    if (call.in_place && call.args[0]->fixed && call.args[0]->probe[0].isTensor() &&
        builder.is_state(call.args[0]->probe[0].toTensor()))
        TraceBuilder::refuse(call,
                             "the model changes its own parameter or buffer, so that its result "
                             "depends on how often it was called; expected a model that leaves "
                             "them as they are");
    const bool all_fixed =
        std::all_of(call.args.begin(), call.args.end(),
                    [](const AbstractPtr& value) { return is_deeply_fixed(*value); });
    if (all_fixed && call.in_place) return change_fixed(builder, call);
    if (all_fixed && !rules::is_factory(call.base)) return builder.fold(call);
    if (!returns_tensors(call)) return rules::apply_number(builder, call);
    if (call.in_place && call.args[0]->fixed) builder.materialise(call.args[0], call);
    auto results = dispatch(builder, call);
    return call.in_place ? std::vector<AbstractPtr>{call.args[0]} : results;
}

namespace rules {

std::vector<AbstractPtr> tensor_arguments(const Call& call) {
    std::vector<AbstractPtr> tensors;
    for (const auto& argument : call.args) {
        if (argument->is_tensor()) tensors.push_back(argument);
        for (const auto& item : argument->items)
            if (item->is_tensor()) tensors.push_back(item);
    }
    return tensors;
}

bool sees_rows(TraceBuilder& builder, const Call& call) {
    const auto tensors = tensor_arguments(call);
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const auto& tensor) { return builder.facts(tensor).placed_dim() >= 0; });
}

std::vector<Dim> broadcast_dims(TraceBuilder& builder, const Call& call,
                                const std::vector<AbstractPtr>& tensors) {
    std::vector<Dim> result;
    for (const auto& tensor : tensors) {
        const auto dims = builder.facts(tensor).dims;
        if (dims.size() > result.size())
            result.insert(result.begin(), dims.size() - result.size(), Dim{});
        for (std::size_t k = 1; k <= dims.size(); ++k) {
            const auto& dim = dims[dims.size() - k];
            auto& target = result[result.size() - k];
            if (dim.space == SPACE_NONE) continue;
            if (target.space != SPACE_NONE && target != dim)
                TraceBuilder::refuse(call,
                                     "it combines two different sets of rows or edges "
                                     "element by element");
            target = dim;
        }
    }
    return result;
}

int normalised(const Call& call, std::int64_t dim, std::size_t rank) {
    const auto extent = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
    if (dim < -extent || dim >= extent) TraceBuilder::refuse(call, "dimension out of range");
    return static_cast<int>(dim < 0 ? dim + extent : dim);
}

void place(TraceBuilder& builder, const Call& call, const AbstractPtr& result,
           std::vector<Dim> dims, Content content) {
    if (result->fixed || !result->is_tensor()) return;
    int placed = 0;
    for (int probe = 0; probe < 2; ++probe) {
        const auto& tensor = result->probe[probe].toTensor();
        if (!tensor.defined()) return;
        if (static_cast<std::size_t>(tensor.dim()) != dims.size())
            TraceBuilder::refuse(call, "the analysis lost track of its dimensions");
        for (std::size_t k = 0; k < dims.size(); ++k) {
            if (dims[k].space == SPACE_NONE) continue;
            placed += probe == 0;
            if (tensor.size(k) != dims[k].factor * builder.extent(dims[k].space, probe))
                TraceBuilder::refuse(call, "the analysis lost track of rows or edges");
        }
    }
    if (placed > 1)
        TraceBuilder::refuse(call,
                             "its result has rows or edges along two dimensions (an "
                             "adjacency or all-pairs matrix); expected an edge list with "
                             "gathers and scatters");
    TensorFacts facts;
    facts.dims = std::move(dims);
    facts.content = content;
    builder.set_facts(result, facts);
}

void follow_positions(TraceBuilder& builder, const Call& call, const AbstractPtr& result) {
    if (result->fixed || !builder.facts(result).on_rows()) return;
    auto facts = builder.facts(result);
    for (const auto& tensor : tensor_arguments(call)) {
        const auto operand = builder.facts(tensor);
        facts.is_position |= operand.on_rows() && operand.is_position;
    }
    builder.set_facts(result, facts);
}

void require_data(TraceBuilder& builder, const Call& call) {
    for (const auto& argument : call.args)
        if (argument->is_count() || argument->from_count)
            TraceBuilder::refuse(call,
                                 "the number of rows or edges is used as data, but it "
                                 "differs between ranks");
    for (const auto& tensor : tensor_arguments(call)) {
        const auto facts = builder.facts(tensor);
        if (facts.count.space != SPACE_NONE)
            TraceBuilder::refuse(call,
                                 "the number of rows is used as data, but it differs "
                                 "between ranks");
        if (facts.content != Content::Data && facts.content != Content::System)
            TraceBuilder::refuse(call,
                                 "row numbers are used as data, but they differ between "
                                 "ranks");
    }
}

bool reads_any_row(const Call& call, Space space, Content content) {
    switch (content) {
        case Content::Receiver:
            if (space == SPACE_NODE || space == SPACE_OWNED) return false;
            break;
        case Content::Sender:
        case Content::AnyRow:
        case Content::EdgeIndex:
            if (space == SPACE_NODE) return true;
            break;
        case Content::RowNumbers:
        case Content::RowSelection:
            if (space == SPACE_NODE) return false;
            break;
        case Content::OwnedNumbers:
            if (space == SPACE_NODE || space == SPACE_OWNED) return false;
            break;
        case Content::EdgeSelection:
            if (is_edge_like(space)) return false;
            break;
        default: break;
    }
    if (is_edge_like(space))
        TraceBuilder::refuse(call,
                             "edges are addressed by something other than a selection of edges "
                             "(a reverse-edge, line-graph or triplet index): the edges of a halo "
                             "atom are on another rank");
    TraceBuilder::refuse(call,
                         "rows are addressed by an index that was not followed back to the "
                         "receivers or senders of edge_index");
}

}  // namespace rules

}  // namespace nvalchemi
