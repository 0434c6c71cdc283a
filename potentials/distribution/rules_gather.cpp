// SPDX-License-Identifier: GPL-2.0-only
#include <unordered_set>

#include "potentials/distribution/operator_rules.hpp"

namespace nvalchemi::rules {

namespace {

/// Dimensions and content after reading `self` along one dimension by an index of `index_dims`.
std::vector<Dim> replaced(std::vector<Dim> dims, int dim, const std::vector<Dim>& index_dims) {
    dims.erase(dims.begin() + dim);
    dims.insert(dims.begin() + dim, index_dims.begin(), index_dims.end());
    return dims;
}

/// Note that `self` is read by rows of `content`; a tensor of owned rows is widened first.
void note_read(TraceBuilder& builder, Call& call, const std::string& self_name, int dim,
               const TensorFacts& index) {
    const auto content = index.content;
    auto self = call.arg(self_name);
    const auto facts = builder.facts(self);
    const auto placed = facts.dims[dim];
    if (placed.space == SPACE_NONE) {
        if (content != Content::Data && content != Content::System)
            TraceBuilder::refuse(call,
                                 "row numbers are used as data, but they differ between "
                                 "ranks");
        return;
    }
    const bool selection = content == Content::EdgeSelection || content == Content::RowSelection;
    if (selection && index.selects_from != placed.space)
        TraceBuilder::refuse(call,
                             "positions in one selection of edges or rows address another one");
    if (placed.factor != 1)
        TraceBuilder::refuse(call,
                             "rows that were merged with other dimensions are addressed by "
                             "an index");
    const bool by_sender = content == Content::Sender || content == Content::AnyRow;
    if (placed.space == SPACE_OWNED && by_sender && dim == 0) {
        self = builder.widen_owned(self, call);
        call.set_arg(self_name, self);
    } else if (!reads_any_row(call, placed.space, content)) {
        return;
    }
    call.effect.reads_any_row.push_back(self->slot);
}

Content kept_content(const TensorFacts& self, int dim) {
    if (self.content == Content::EdgeIndex && dim == self.index_dim) return Content::AnyRow;
    return self.content;
}

std::vector<AbstractPtr> apply_index_select(TraceBuilder& builder, Call& call) {
    const auto facts = builder.facts(call.arg("self"));
    const auto index = builder.facts(call.arg("index"));
    const int dim = normalised(call, call.integer("dim", 0), facts.dims.size());
    note_read(builder, call, "self", dim, index);
    auto result = builder.emit(call)[0];
    place(builder, call, result, replaced(builder.facts(call.arg("self")).dims, dim, index.dims),
          kept_content(facts, dim));
    auto known = builder.facts(result);
    known.index_dim = facts.index_dim;
    known.receiver_at = facts.receiver_at;
    builder.set_facts(result, known);
    return {result};
}

/// torch.gather: the result has the shape of the index.
std::vector<AbstractPtr> apply_take_along(TraceBuilder& builder, Call& call) {
    const std::string index_name = call.base == "gather" ? "index" : "indices";
    const auto index = builder.facts(call.arg(index_name));
    const auto facts = builder.facts(call.arg("self"));
    const int dim = normalised(call, call.integer("dim", 0), facts.dims.size());
    note_read(builder, call, "self", dim, index);
    if (facts.placed_dim() >= 0 && facts.placed_dim() != dim &&
        facts.placed_dim() != index.placed_dim())
        TraceBuilder::refuse(call, "rows of the source and of the index do not correspond");
    auto result = builder.emit(call)[0];
    place(builder, call, result, index.dims, facts.content);
    return {result};
}

std::vector<AbstractPtr> apply_embedding(TraceBuilder& builder, Call& call) {
    const auto index = builder.facts(call.arg("indices"));
    note_read(builder, call, "weight", 0, index);
    auto dims = index.dims;
    dims.push_back({});
    auto result = builder.emit(call)[0];
    place(builder, call, result, dims);
    return {result};
}

bool is_mask(const AbstractPtr& index) {
    return index->probe[0].toTensor().scalar_type() == torch::kBool;
}

bool can_be_selected(const std::vector<Dim>& dims) {
    return dims.size() == 1 && dims[0].factor == 1 &&
           (is_edge_like(dims[0].space) || dims[0].space == SPACE_NODE);
}

/// One new dimension for the entries that a mask over edges or rows selects.
Dim selected(TraceBuilder& builder, const Call& call, const AbstractPtr& mask) {
    if (!can_be_selected(builder.facts(mask).dims))
        TraceBuilder::refuse(call,
                             "a mask of several dimensions, or of a part of the rows, selects "
                             "entries. Multiply by the mask instead");
    return {builder.selected_space(mask), 1};
}

/// x[i, j, mask, ...]: adjacent index tensors replace the dimensions they stand at.
std::vector<AbstractPtr> apply_index(TraceBuilder& builder, Call& call) {
    const auto facts = builder.facts(call.arg("self"));
    const auto& indices = call.arg("indices")->items;
    std::vector<AbstractPtr> tensors;
    int first = -1, last = -1;
    std::vector<Dim> masked;
    for (std::size_t dim = 0; dim < indices.size(); ++dim) {
        if (!indices[dim]->is_tensor()) continue;
        if (first < 0) first = static_cast<int>(dim);
        if (last >= 0 && last != static_cast<int>(dim) - 1)
            TraceBuilder::refuse(call, "index tensors are not at adjacent dimensions");
        last = static_cast<int>(dim);
        if (is_mask(indices[dim])) {
            masked = {selected(builder, call, indices[dim])};
            continue;
        }
        note_read(builder, call, "self", static_cast<int>(dim), builder.facts(indices[dim]));
        tensors.push_back(indices[dim]);
    }
    if (!masked.empty() && (first != last || !tensors.empty()))
        TraceBuilder::refuse(call, "a mask is combined with other index tensors");
    auto dims = builder.facts(call.arg("self")).dims;
    const auto index_dims = masked.empty() ? broadcast_dims(builder, call, tensors) : masked;
    dims.erase(dims.begin() + first, dims.begin() + last + 1);
    dims.insert(dims.begin() + first, index_dims.begin(), index_dims.end());
    auto result = builder.emit(call)[0];
    place(builder, call, result, dims, kept_content(facts, first));
    auto known = builder.facts(result);
    known.index_dim = facts.index_dim;
    known.receiver_at = facts.receiver_at;
    builder.set_facts(result, known);
    return {result};
}

/// Positions of edges: nonzero of a mask, sorting permutations.
std::vector<AbstractPtr> apply_selection(TraceBuilder& builder, Call& call) {
    const auto facts = builder.facts(call.args[0]);
    const bool orders = call.base == "argsort";
    if (!can_be_selected(facts.dims) || (orders && !is_edge_like(facts.dims[0].space)))
        TraceBuilder::refuse(call, orders ? "it orders rows; expected a one-dimensional tensor "
                                            "over edges"
                                          : "it selects entries of several dimensions, or of a "
                                            "part of the rows; expected a one-dimensional mask");
    const auto content =
        is_edge_like(facts.dims[0].space) ? Content::EdgeSelection : Content::RowSelection;
    auto results = builder.emit(call);
    const auto note_base = [&](const AbstractPtr& positions) {
        auto known = builder.facts(positions);
        known.selects_from = facts.dims[0].space;
        builder.set_facts(positions, known);
    };
    if (call.base == "argsort") {
        // as many edges, but in an order of their own
        const auto& order = results[0];
        place(builder, call, order,
              {{builder.new_edge_space(order->probe[0].toTensor().size(0),
                                       order->probe[1].toTensor().size(0)),
                1}},
              Content::EdgeSelection);
        note_base(order);
        return results;
    }
    auto& first = results[0];
    if (first->form == AbstractValue::Form::List) first = first->items[0];
    std::vector<Dim> dims{{builder.selected_space(call.args[0]), 1}};
    if (call.base == "nonzero") dims.push_back({});
    place(builder, call, first, dims, content);
    note_base(first);
    if (call.base == "where" || call.base == "nonzero_numpy")
        return {list_value({first}, c10::TensorType::get())};
    return results;
}

std::vector<AbstractPtr> apply_masked_select(TraceBuilder& builder, Call& call) {
    const auto dims = selected(builder, call, call.arg("mask"));
    auto result = builder.emit(call)[0];
    place(builder, call, result, {dims}, builder.facts(call.arg("self")).content);
    return {result};
}

}  // namespace

bool is_gather(const std::string& base) {
    static const std::unordered_set<std::string> known{
        "index_select", "gather",  "take_along_dim", "embedding",    "index",
        "nonzero",      "argsort", "nonzero_numpy",  "masked_select"};
    return known.count(base) > 0;
}

std::vector<AbstractPtr> apply_gather(TraceBuilder& builder, Call& call) {
    if (call.base == "index_select") return apply_index_select(builder, call);
    if (call.base == "gather" || call.base == "take_along_dim")
        return apply_take_along(builder, call);
    if (call.base == "embedding") return apply_embedding(builder, call);
    if (call.base == "index") return apply_index(builder, call);
    if (call.base == "masked_select") return apply_masked_select(builder, call);
    return apply_selection(builder, call);
}

}  // namespace nvalchemi::rules
