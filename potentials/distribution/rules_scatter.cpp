// SPDX-License-Identifier: GPL-2.0-only
#include <unordered_set>

#include "potentials/distribution/operator_rules.hpp"

namespace nvalchemi::rules {

namespace {

/// A scatter along one dimension: target, index and source by the operator's argument names.
struct Scatter {
    int dim = 0;
    std::string index_name;   ///< "index", or empty for index_put
    AbstractPtr index;        ///< the index tensor over rows or edges
    std::string source_name;  ///< "src", "source" or "values"; empty if the source is a number
    bool sums = false;        ///< contributions are added
};

Scatter describe_scatter(TraceBuilder& builder, const Call& call) {
    Scatter scatter;
    const auto rank = builder.facts(call.arg("self")).dims.size();
    if (call.base == "index_put") {
        const auto& indices = call.arg("indices")->items;
        int tensors = 0;
        for (std::size_t dim = 0; dim < indices.size(); ++dim) {
            if (!indices[dim]->is_tensor()) continue;
            ++tensors;
            scatter.dim = static_cast<int>(dim);
            scatter.index = indices[dim];
        }
        if (tensors != 1)
            TraceBuilder::refuse(call, "it writes by " + std::to_string(tensors) +
                                           " index tensors (an adjacency matrix, for example); "
                                           "expected one index along the rows");
        scatter.source_name = "values";
        scatter.sums = call.flag("accumulate", false);
        return scatter;
    }
    scatter.dim = normalised(call, call.integer("dim", 0), rank);
    scatter.index_name = "index";
    scatter.index = call.arg("index");
    for (const auto* name : {"src", "source"})
        if (call.has_schema_arg(name)) scatter.source_name = name;
    scatter.sums = call.base == "index_add" || call.base == "scatter_add";
    if (const auto reduce = call.arg("reduce");
        reduce && reduce->fixed && reduce->probe[0].isString())
        scatter.sums =
            reduce->probe[0].toStringRef() == "sum" || reduce->probe[0].toStringRef() == "add";
    return scatter;
}

/// Keep the owned rows of the index and of the source: each row is counted on one rank.
void slice_contributions(TraceBuilder& builder, Call& call, Scatter& scatter) {
    const auto slice = [&](const std::string& name) {
        const auto tensor = call.arg(name);
        if (!tensor || !tensor->is_tensor()) return;
        const int placed = builder.facts(tensor).placed_dim();
        if (placed >= 0 && builder.facts(tensor).dims[placed] == Dim{SPACE_NODE, 1})
            call.set_arg(name, builder.slice_owned(tensor, placed, call));
    };
    if (scatter.index_name.empty())
        TraceBuilder::refuse(call, "rows are summed into systems by index_put; use index_add");
    slice(scatter.index_name);
    slice(scatter.source_name);
}

[[noreturn]] void refuse_subset(const Call& call) {
    TraceBuilder::refuse(call,
                         "selected rows, halo rows among them, are summed into a system value; "
                         "write them back to all rows first, or multiply by the mask instead");
}

/// Sums into a target that is not placed: per system, per species.
void into_system(TraceBuilder& builder, Call& call, Scatter& scatter, Space source) {
    if (!scatter.sums)
        TraceBuilder::refuse(call,
                             "rows or edges are reduced to a per-system value by something "
                             "other than a sum");
    if (is_row_subset(source)) refuse_subset(call);
    if (source == SPACE_NODE) slice_contributions(builder, call, scatter);
    call.effect.makes_partial = source != SPACE_NONE;
    call.effect.partial_use = PartialUse::Passthrough;
}

/// acc.scatter(systems, x) becomes acc + zeros.scatter(systems, x): what the target holds already
/// counts once, what is summed into it is one part on each rank.
std::vector<AbstractPtr> add_to_system(TraceBuilder& builder, Call& call) {
    if (!call.flag("include_self", true))
        TraceBuilder::refuse(call,
                             "rows are summed into systems without the target's own value; "
                             "expected include_self=True");
    const auto target = call.args[0];
    const auto dims = builder.facts(target).dims;
    const auto none = fixed_value(c10::IValue());
    Call zeros = call;
    zeros.name = "aten::zeros_like";
    zeros.run = registered_operator("aten::zeros_like", "");
    zeros.args = {target, none, none, none, none, none};
    zeros.effect = {};
    zeros.effect.ignores_values = true;
    zeros.in_place = false;
    Call sum = call;
    sum.name = "aten::" + call.base;
    sum.run = registered_operator(sum.name, call.schema->overload_name());
    sum.in_place = false;
    sum.args[0] = builder.emit(zeros)[0];
    place(builder, sum, sum.args[0], dims);
    auto increment = builder.emit(sum)[0];
    place(builder, sum, increment, dims);
    Call add = call;
    add.name = call.in_place ? "aten::add_" : "aten::add";
    add.run = registered_operator(add.name, "Tensor");
    add.args = {target, increment, fixed_value(std::int64_t(1))};
    add.effect = {};
    add.effect.partial_use = PartialUse::Additive;
    if (call.in_place) add.effect.mutates = target->slot;
    auto results = builder.emit(add);
    place(builder, add, results[0], dims);
    return results;
}

void into_rows(const Call& call, Effect& effect, const Scatter& scatter, Space source,
               Content content, bool writes_edges) {
    if (content == Content::RowNumbers && source == SPACE_NODE) return;
    // each row is written by itself
    if (content == Content::RowSelection && is_row_subset(source)) return;
    if (!is_edge_like(source))
        TraceBuilder::refuse(call, "rows are written by an index that is not over edges");
    if (content == Content::Receiver) {
        const bool overwrites = call.base == "index_put" || call.base == "index_copy" ||
                                (call.base == "scatter" && !call.has_schema_arg("reduce"));
        if (overwrites && !scatter.sums && writes_edges)
            TraceBuilder::refuse(call,
                                 "of several edges of a receiver the last one is kept, which "
                                 "depends on their order; expected a sum, mean or maximum");
        effect.rows = Effect::Rows::Stale;
        return;
    }
    if (content == Content::Sender) {
        if (!scatter.sums)
            TraceBuilder::refuse(call,
                                 "edges are reduced per sender by something other than a "
                                 "sum: the contributions are on several ranks");
        if (!call.flag("include_self", true))
            TraceBuilder::refuse(call,
                                 "edges are summed per sender without the target's own "
                                 "value; expected include_self=True");
        if (scatter.dim != 0)
            TraceBuilder::refuse(call,
                                 "edges are summed per sender along a dimension other than "
                                 "the first");
        effect.corrects = true;
        return;
    }
    TraceBuilder::refuse(call,
                         "rows are written by an index that is neither the receivers nor the "
                         "senders of edge_index (self loops, flipped or symmetrised edges)");
}

void into_edges(const Call& call, Content content, bool mask) {
    if (mask || content == Content::EdgeSelection) return;
    TraceBuilder::refuse(call, "edges are written by an index that is no selection of edges");
}

/// The k-th entry of the index must belong to the k-th row or edge of the source.
void require_same_set(TraceBuilder& builder, const Call& call, const Scatter& scatter, bool mask) {
    const auto source = scatter.source_name.empty() ? nullptr : call.arg(scatter.source_name);
    if (!source || !source->is_tensor() || mask) return;
    const auto written = builder.facts(source).space(),
               named = builder.facts(scatter.index).space();
    if (written != SPACE_NONE && named != SPACE_NONE && written != named)
        TraceBuilder::refuse(call,
                             "what is written and its index are over two different sets of rows "
                             "or edges, or the same in another order");
}

std::vector<AbstractPtr> apply_bincount(TraceBuilder& builder, Call& call) {
    const auto facts = builder.facts(call.arg("self"));
    const auto minimum = call.arg("minlength");
    if (facts.content != Content::Receiver || !minimum || !minimum->is_count() ||
        minimum->count != Dim{SPACE_NODE, 1})
        TraceBuilder::refuse(call,
                             "expected a count per receiver with minlength equal to the "
                             "number of rows");
    call.effect.rows = Effect::Rows::Stale;
    // without edges torch returns integers, whatever the weights
    if (const auto weights = call.arg("weights"); weights && weights->is_tensor()) {
        const bool single = weights->probe[0].toTensor().scalar_type() == torch::kFloat32;
        call.run = [run = call.run,
                    type = single ? torch::kFloat32 : torch::kFloat64](torch::jit::Stack& stack) {
            run(stack);
            stack.back() = stack.back().toTensor().to(type);
        };
    }
    auto result = builder.emit(call)[0];
    place(builder, call, result, {{SPACE_NODE, 1}});
    return {result};
}

}  // namespace

bool is_scatter(const std::string& base) {
    static const std::unordered_set<std::string> known{
        "index_add", "scatter_add",     "scatter_reduce", "scatter",
        "index_put", "index_copy",      "index_fill",     "index_reduce",
        "bincount",  "_index_put_impl", "masked_scatter"};
    return known.count(base) > 0;
}

std::vector<AbstractPtr> apply_scatter(TraceBuilder& builder, Call& call) {
    if (call.base == "bincount") return apply_bincount(builder, call);
    if (call.base == "_index_put_impl" || call.base == "masked_scatter")
        TraceBuilder::refuse(call, "it is not supported; use index_put");
    auto scatter = describe_scatter(builder, call);
    const auto self = builder.facts(call.arg("self"));
    const auto index = builder.facts(scatter.index);
    const auto target = self.dims.empty() ? Dim{} : self.dims[scatter.dim];
    const bool mask = scatter.index->probe[0].toTensor().scalar_type() == torch::kBool;
    require_same_set(builder, call, scatter, mask);
    if (target.factor != 1)
        TraceBuilder::refuse(call, "rows that were merged with other dimensions are written");
    if (target.space == SPACE_NONE) {
        if (self.placed_dim() >= 0) {
            if (index.placed_dim() >= 0 && index.space() != self.space())
                TraceBuilder::refuse(call, "rows of the target and of the index do not correspond");
        } else {
            into_system(builder, call, scatter, index.space());
            if (!builder.holds_zeros(call.args[0])) return add_to_system(builder, call);
        }
    } else if (mask) {
        const auto source = call.arg(scatter.source_name);
        const auto written = source ? builder.facts(source).space() : SPACE_NONE;
        if (index.dims.size() != 1 || index.dims[0] != target ||
            (written != SPACE_NONE && written != builder.selected_space(scatter.index)))
            TraceBuilder::refuse(call, "a mask of other rows or edges is written");
    } else if (target.space == SPACE_NODE) {
        const auto written = scatter.source_name.empty() ? nullptr : call.arg(scatter.source_name);
        const bool writes_edges =
            written && written->is_tensor() && is_edge_like(builder.facts(written).space());
        into_rows(call, call.effect, scatter, index.space(), index.content, writes_edges);
    } else if (target.space == SPACE_OWNED) {
        if (index.content != Content::Receiver && index.content != Content::OwnedNumbers)
            TraceBuilder::refuse(call,
                                 "owned rows are written by an index other than the "
                                 "receivers of edge_index");
        call.effect.rows = Effect::Rows::Complete;
    } else if (is_row_subset(target.space)) {
        TraceBuilder::refuse(call, "selected rows are written by an index; write to all rows");
    } else {
        into_edges(call, index.content, mask);
    }
    if (call.in_place) call.effect.mutates = call.args[0]->slot;
    auto results = builder.emit(call);
    place(builder, call, results[0], self.dims);
    return results;
}

}  // namespace nvalchemi::rules
