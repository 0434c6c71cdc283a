// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <unordered_set>

#include "potentials/distribution/operator_rules.hpp"

namespace nvalchemi::rules {

namespace {

bool is_metadata(const std::string& name) {
    static const std::unordered_set<std::string> known{"prim::dtype",
                                                       "prim::device",
                                                       "prim::layout",
                                                       "prim::is_cuda",
                                                       "prim::is_cpu",
                                                       "aten::dim",
                                                       "aten::is_floating_point",
                                                       "aten::is_complex",
                                                       "aten::is_cuda",
                                                       "aten::dtype",
                                                       "prim::requires_grad",
                                                       "aten::ndimension",
                                                       "prim::is_quantized",
                                                       "aten::is_contiguous"};
    return known.count(name) > 0;
}

AbstractPtr emit_count(TraceBuilder& builder, Call& call, Dim count) {
    auto result = builder.emit(call)[0];
    result->count = count;
    return result;
}

/// Extent of one dimension: a constant, or a multiple of the extent of a space.
AbstractPtr extent_of(TraceBuilder& builder, const Call& caller, const AbstractPtr& tensor,
                      int dim) {
    const auto facts = builder.facts(tensor);
    if (tensor->fixed || facts.dims.at(dim).space == SPACE_NONE)
        return fixed_value(tensor->probe[0].toTensor().size(dim));
    Call call = caller;
    call.name = "aten::size";
    call.run = registered_operator("aten::size", "int");
    call.args = {tensor, fixed_value(std::int64_t(dim))};
    return emit_count(builder, call, facts.dims[dim]);
}

std::vector<AbstractPtr> apply_size(TraceBuilder& builder, Call& call) {
    const auto rank = builder.facts(call.args[0]).dims.size();
    if (call.args.size() > 1)
        return {
            extent_of(builder, call, call.args[0], normalised(call, call.integer("dim", 0), rank))};
    std::vector<AbstractPtr> extents;
    for (std::size_t dim = 0; dim < rank; ++dim)
        extents.push_back(extent_of(builder, call, call.args[0], static_cast<int>(dim)));
    return {list_value(std::move(extents), c10::IntType::get())};
}

std::vector<AbstractPtr> apply_numel(TraceBuilder& builder, Call& call) {
    const auto facts = builder.facts(call.args[0]);
    const int placed = facts.placed_dim();
    if (placed < 0) return builder.fold(call);
    const auto& sample = call.args[0]->probe[0].toTensor();
    std::int64_t factor = facts.dims[placed].factor;
    for (std::int64_t dim = 0; dim < sample.dim(); ++dim)
        if (dim != placed) factor *= sample.size(dim);
    return {emit_count(builder, call, {facts.dims[placed].space, factor})};
}

/// The number inside a tensor.
std::vector<AbstractPtr> apply_item(TraceBuilder& builder, Call& call) {
    const auto facts = builder.facts(call.args[0]);
    if (facts.count.space != SPACE_NONE) return {emit_count(builder, call, facts.count)};
    if (facts.placed_dim() >= 0)
        TraceBuilder::refuse(call,
                             "a number is taken from rows or edges, which differ between "
                             "ranks");
    return builder.emit(call);
}

/// The multiple of a space that an integer is; {NONE, value} for a constant.
std::optional<Dim> multiple_of(const AbstractValue& value) {
    if (value.fixed && value.probe[0].isInt()) return Dim{SPACE_NONE, value.probe[0].toInt()};
    if (value.is_count()) return value.count;
    return std::nullopt;
}

/// Exact arithmetic on numbers of rows; empty if the result is no multiple of one extent.
std::optional<Dim> combined(const std::string& base, const Dim& a, const Dim& b) {
    const bool counted_a = a.space != SPACE_NONE, counted_b = b.space != SPACE_NONE;
    if (base == "mul" && !(counted_a && counted_b))
        return Dim{counted_a ? a.space : b.space, a.factor * b.factor};
    if ((base == "add" || base == "sub") && counted_a && (a.space == b.space || b.factor == 0))
        return Dim{a.space, base == "add" ? a.factor + b.factor : a.factor - b.factor};
    if (base == "add" && counted_b && a.factor == 0) return b;
    if (base == "floordiv" && counted_a && !counted_b && b.factor > 0 && a.factor % b.factor == 0)
        return Dim{a.space, a.factor / b.factor};
    return std::nullopt;
}

std::optional<bool> compared(const std::string& base, const Dim& a, const Dim& b) {
    if (a.space != b.space) return std::nullopt;
    if (a.space != SPACE_NONE && a.factor != b.factor) return std::nullopt;
    const bool equal = a.factor == b.factor;
    if (base == "eq" || (equal && (base == "ge" || base == "le"))) return equal;
    if (base == "ne") return !equal;
    if (equal && (base == "gt" || base == "lt")) return false;
    return std::nullopt;
}

/// Whether a comparison of a number of rows or edges holds for every number above zero; nothing if
/// that depends on the number.
std::optional<bool> compared_with_none(const std::string& base, const Dim& a, const Dim& b) {
    const bool left = a.space != SPACE_NONE;
    if (left == (b.space != SPACE_NONE)) return std::nullopt;
    const auto bound = left ? b.factor : a.factor;
    const bool above = base == (left ? "gt" : "lt");
    const bool below = base == (left ? "lt" : "gt");
    const bool at_least = base == (left ? "ge" : "le");
    const bool at_most = base == (left ? "le" : "ge");
    if (bound <= 0 && (above || at_least || base == "ne")) return true;
    if (bound <= 0 && (below || at_most || base == "eq")) return false;
    const auto& count = left ? a : b;
    if (bound <= count.factor && at_least) return true;
    if (bound <= count.factor && below) return false;
    return std::nullopt;
}

/// Whether a rank that has none of a set must compute what the whole system, which has some, does.
bool may_be_taken_for_some(TraceBuilder& builder, const Call& call, Space space) {
    if (space == SPACE_NODE || space == SPACE_OWNED) return true;
    if (space == SPACE_EDGE) {
        builder.require_edges(call);
        return true;
    }
    if (!builder.is_selected_by_species(space)) return false;
    builder.vary_composition();
    return true;
}

std::vector<AbstractPtr> apply_arithmetic(TraceBuilder& builder, Call& call) {
    if (call.args.size() == 2) {
        const auto a = multiple_of(*call.args[0]), b = multiple_of(*call.args[1]);
        if (a && b) {
            if (const auto verdict = compared(call.base, *a, *b)) return {fixed_value(*verdict)};
            if (const auto verdict = compared_with_none(call.base, *a, *b)) {
                const auto space = a->space != SPACE_NONE ? a->space : b->space;
                if (may_be_taken_for_some(builder, call, space)) return {fixed_value(*verdict)};
            }
            if (const auto value = combined(call.base, *a, *b)) {
                if (value->factor == 0) return {fixed_value(std::int64_t(0))};
                return {emit_count(builder, call, *value)};
            }
        }
    }
    if ((call.base == "Int" || call.base == "Float") && call.args[0]->is_count())
        return {emit_count(builder, call, call.args[0]->count)};
    const bool from_count = std::any_of(call.args.begin(), call.args.end(), [](const auto& value) {
        return value->is_count() || value->from_count;
    });
    auto results = builder.emit(call);
    for (const auto& result : results) result->from_count = from_count;
    return results;
}

}  // namespace

std::vector<AbstractPtr> apply_number(TraceBuilder& builder, Call& call) {
    if (is_metadata(call.name)) return builder.fold(call);
    const bool of_tensor = !call.args.empty() && call.args[0]->is_tensor();
    if (call.base == "size" && of_tensor) return apply_size(builder, call);
    if (call.base == "len" && of_tensor) {
        return {extent_of(builder, call, call.args[0], 0)};
    }
    if (call.base == "numel" && of_tensor) return apply_numel(builder, call);
    if (of_tensor) return apply_item(builder, call);
    return apply_arithmetic(builder, call);
}

}  // namespace nvalchemi::rules
