// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <sstream>
#include <unordered_set>

#include "potentials/distribution/operator_rules.hpp"

namespace nvalchemi::rules {

namespace {

/// Spaces that may appear in the result: of the tensors and of the sizes among the arguments.
std::vector<Space> available_spaces(TraceBuilder& builder, const Call& call) {
    std::vector<Space> spaces;
    const auto add = [&](Space space) {
        const auto merged = builder.merged_from(space);
        if (merged != SPACE_NONE) spaces.push_back(merged);
        if (space != SPACE_NONE && std::find(spaces.begin(), spaces.end(), space) == spaces.end())
            spaces.push_back(space);
    };
    for (const auto& tensor : tensor_arguments(call)) add(builder.facts(tensor).space());
    for (const auto& argument : call.args) {
        add(argument->count.space);
        for (const auto& item : argument->items) add(item->count.space);
    }
    return spaces;
}

std::int64_t multiple(std::int64_t size, std::int64_t extent) {
    return extent > 0 && size > 0 && size % extent == 0 ? size / extent : 0;
}

/// The placement of a dimension from its extent in both probes.
Dim matched(TraceBuilder& builder, const Call& call, const std::vector<Space>& spaces,
            std::int64_t first, std::int64_t second) {
    for (const auto space : spaces) {
        const auto a = builder.extent(space, 0), b = builder.extent(space, 1);
        if (a == b)
            TraceBuilder::refuse(call,
                                 "a selection of edges has the same size in two sample "
                                 "structures, so that the analysis cannot follow it");
        const auto factor = multiple(first, a);
        if (factor > 0 && factor == multiple(second, b)) return {space, factor};
    }
    if (first != second) TraceBuilder::refuse(call, "the size of its result depends on data");
    return {};
}

std::int64_t elements_before(const torch::Tensor& tensor, int dim) {
    std::int64_t product = 1;
    for (int k = 0; k < dim; ++k) product *= tensor.size(k);
    return product;
}

std::string shape_text(const AbstractPtr& tensor) {
    std::ostringstream text;
    text << tensor->probe[0].toTensor().sizes();
    return text.str();
}

/// Operators that read the same elements in a new shape, whatever dimension they were in.
bool reinterprets(const std::string& base) {
    return base == "view" || base == "reshape" || base == "flatten" || base == "unflatten" ||
           base == "view_as" || base == "reshape_as";
}

/// Rows may be merged with other dimensions only as the slowest of them. Edges may be merged behind
/// others: that makes a set of edges of its own, which can be opened again.
void follow_merges(TraceBuilder& builder, const Call& call, const AbstractPtr& input,
                   const AbstractPtr& output, std::vector<Dim>& dims) {
    const auto before = builder.facts(input);
    const int from = before.placed_dim();
    if (from < 0) return;
    const auto& first = output->probe[0].toTensor();
    for (std::size_t to = 0; to < dims.size(); ++to) {
        if (dims[to].space != before.dims[from].space) continue;
        const bool same_factor = dims[to].factor == before.dims[from].factor;
        if (same_factor && !reinterprets(call.base)) continue;
        if (elements_before(input->probe[0].toTensor(), from) ==
            elements_before(first, static_cast<int>(to)))
            continue;
        if (same_factor || !is_edge_like(dims[to].space))
            TraceBuilder::refuse(call, "rows or edges are merged behind another dimension: " +
                                           shape_text(input) + " becomes " + shape_text(output));
        dims[to] = {builder.merged_edge_space(dims[to].space, first.size(to),
                                              output->probe[1].toTensor().size(to)),
                    1};
    }
}

/// Content and its dimension after a change of shape.
void keep_content(TraceBuilder& builder, const AbstractPtr& input, const AbstractPtr& output) {
    const auto before = builder.facts(input);
    auto after = builder.facts(output);
    after.content = before.content;
    after.count = before.count;
    after.selects_from = before.selects_from;
    after.starts_stale = before.starts_stale;
    after.is_position = before.is_position && after.placed_dim() >= 0;
    if (before.content == Content::EdgeIndex) {
        after.index_dim = -1;
        after.receiver_at = before.receiver_at;
        const auto& tensor = output->probe[0].toTensor();
        for (std::size_t dim = 0; dim < after.dims.size(); ++dim)
            if (after.dims[dim].space == SPACE_NONE && tensor.size(dim) == 2)
                after.index_dim = static_cast<int>(dim);
        if (after.index_dim < 0) after.content = Content::AnyRow;
    }
    builder.set_facts(output, after);
}

Content row_content(const TensorFacts& edge_index, std::int64_t which) {
    return which == edge_index.receiver_at ? Content::Receiver : Content::Sender;
}

std::vector<AbstractPtr> reshape_like(TraceBuilder& builder, Call& call) {
    const auto input = call.args[0];
    const auto spaces = available_spaces(builder, call);
    if (call.in_place) call.effect.mutates = input->slot;
    auto result = builder.emit(call)[0];
    const auto& first = result->probe[0].toTensor();
    const auto& second = result->probe[1].toTensor();
    std::vector<Dim> dims;
    for (std::int64_t dim = 0; dim < first.dim(); ++dim)
        dims.push_back(matched(builder, call, spaces, first.size(dim), second.size(dim)));
    follow_merges(builder, call, input, result, dims);
    place(builder, call, result, dims);
    if (builder.facts(input).space() != SPACE_NONE && builder.facts(result).space() == SPACE_NONE)
        TraceBuilder::refuse(call, "the rows or edges of its argument disappear");
    keep_content(builder, input, result);
    if (call.base == "view" || call.base == "reshape") builder.settle_inferred_extents(result);
    return {result};
}

/// slice and narrow.
std::vector<AbstractPtr> apply_slice(TraceBuilder& builder, Call& call) {
    const auto input = call.arg("self");
    auto facts = builder.facts(input);
    const int dim = normalised(call, call.integer("dim", 0), facts.dims.size());
    const auto placed = facts.dims[dim];
    const bool narrow = call.base == "narrow";
    const auto end = call.arg(narrow ? "length" : "end");
    call.effect.partial_use = PartialUse::Passthrough;
    if (placed.space != SPACE_NONE) {
        const auto unbounded =
            end->is_none() || (end->fixed && end->probe[0].toInt() > (std::int64_t(1) << 60));
        const bool whole = unbounded || (end->is_count() && end->count == placed);
        const bool owned =
            end->is_count() && end->count == Dim{SPACE_OWNED, 1} && placed == Dim{SPACE_NODE, 1};
        if (call.integer("start", 0) != 0 || call.integer("step", 1) != 1 || !(whole || owned))
            TraceBuilder::refuse(call,
                                 "a part of the rows or edges is taken by position, but "
                                 "positions differ between ranks");
        if (owned) facts.dims[dim] = {SPACE_OWNED, 1};
        if (owned) call.effect.rows = Effect::Rows::Complete;
        if (owned && facts.content == Content::RowNumbers) facts.content = Content::OwnedNumbers;
    }
    auto result = builder.emit(call)[0];
    place(builder, call, result, facts.dims);
    auto known = builder.facts(result);
    known.content = facts.content;
    known.index_dim = facts.index_dim;
    known.receiver_at = facts.receiver_at;
    known.count = facts.count;
    known.selects_from = facts.selects_from;
    if (facts.content == Content::EdgeIndex && dim == facts.index_dim &&
        result->probe[0].toTensor().size(dim) != 2)
        known.content = result->probe[0].toTensor().size(dim) == 1
                            ? row_content(facts, call.integer("start", 0))
                            : Content::Data;
    builder.set_facts(result, known);
    return {result};
}

/// select, unbind, chunk, split: along a dimension that enumerates no rows.
void place_piece(TraceBuilder& builder, const Call& call, const AbstractPtr& piece,
                 const TensorFacts& facts, int dim, bool dropped, std::int64_t position) {
    auto dims = facts.dims;
    if (dropped) dims.erase(dims.begin() + dim);
    place(builder, call, piece, dims);
    auto known = builder.facts(piece);
    known.content = facts.content;
    known.count = facts.count;
    known.selects_from = facts.selects_from;
    known.index_dim = dropped && dim < facts.index_dim ? facts.index_dim - 1 : facts.index_dim;
    known.receiver_at = facts.receiver_at;
    const bool single = dropped || piece->probe[0].toTensor().size(dim) == 1;
    if (facts.content == Content::EdgeIndex && dim == facts.index_dim && single)
        known.content = row_content(facts, position);
    builder.set_facts(piece, known);
}

std::vector<AbstractPtr> apply_pieces(TraceBuilder& builder, Call& call) {
    const auto facts = builder.facts(call.args[0]);
    const int dim = normalised(call, call.integer("dim", 0), facts.dims.size());
    // any atom's system number: there is one system, number 0
    if (facts.content == Content::System && call.base == "select" && facts.dims.size() == 1)
        return {fixed_value(torch::zeros({}, call.args[0]->probe[0].toTensor().options()))};
    if (facts.dims[dim].space != SPACE_NONE)
        TraceBuilder::refuse(call,
                             "single rows or edges are picked by a fixed number, but which "
                             "atom has that number differs between ranks");
    call.effect.partial_use = PartialUse::Passthrough;
    const bool dropped = call.base == "select" || call.base == "unbind";
    auto results = builder.emit(call);
    if (call.base == "select") {
        auto position = call.integer("index", 0);
        if (position < 0) position += call.args[0]->probe[0].toTensor().size(dim);
        place_piece(builder, call, results[0], facts, dim, dropped, position);
        return results;
    }
    std::int64_t position = 0;
    for (const auto& piece : results[0]->items) {
        place_piece(builder, call, piece, facts, dim, dropped, position);
        position += dropped ? 1 : piece->probe[0].toTensor().size(dim);
    }
    return results;
}

Content joined_content(TraceBuilder& builder, const std::vector<AbstractPtr>& tensors) {
    auto content = builder.facts(tensors[0]).content;
    for (const auto& tensor : tensors) {
        const auto other = builder.facts(tensor).content;
        if (other == content) continue;
        if (other == Content::Data || content == Content::Data) return Content::Data;
        content = Content::AnyRow;
    }
    return content;
}

/// Receivers and senders put together again, in this order or the other, are an edge index.
void note_edge_index(TraceBuilder& builder, const std::vector<AbstractPtr>& rows, int dim,
                     const AbstractPtr& result) {
    if (rows.size() != 2 || result->probe[0].toTensor().size(dim) != 2) return;
    const auto first = builder.facts(rows[0]).content, second = builder.facts(rows[1]).content;
    const bool receivers_first = first == Content::Receiver && second == Content::Sender;
    if (!receivers_first && !(first == Content::Sender && second == Content::Receiver)) return;
    auto known = builder.facts(result);
    known.content = Content::EdgeIndex;
    known.index_dim = dim;
    known.receiver_at = receivers_first ? 0 : 1;
    builder.set_facts(result, known);
}

std::vector<AbstractPtr> apply_cat(TraceBuilder& builder, Call& call) {
    const auto tensors = tensor_arguments(call);
    const bool stack = call.base == "stack";
    const auto rank = builder.facts(tensors[0]).dims.size();
    const int dim = normalised(call, call.integer("dim", 0), rank + stack);
    call.effect.partial_use = PartialUse::Additive;
    auto dims = std::vector<Dim>(rank);
    bool along_rows = false;
    for (const auto& tensor : tensors) {
        const auto own = builder.facts(tensor).dims;
        for (std::size_t k = 0; k < rank && k < own.size(); ++k) {
            if (own[k].space == SPACE_NONE) continue;
            if (!stack && static_cast<int>(k) == dim) {
                along_rows = true;
                if (!is_edge_like(own[k].space))
                    TraceBuilder::refuse(call,
                                         "rows are appended to rows, but the owned and halo "
                                         "rows of a rank are fixed");
                continue;
            }
            if (dims[k].space != SPACE_NONE && dims[k] != own[k])
                TraceBuilder::refuse(call, "it joins two different sets of rows or edges");
            dims[k] = own[k];
        }
    }
    auto result = builder.emit(call)[0];
    if (along_rows)
        dims[dim] = {builder.new_edge_space(result->probe[0].toTensor().size(dim),
                                            result->probe[1].toTensor().size(dim)),
                     1};
    if (stack) dims.insert(dims.begin() + dim, Dim{});
    place(builder, call, result, dims, joined_content(builder, tensors));
    auto known = builder.facts(result);
    if (known.content == Content::EdgeIndex) known.content = Content::AnyRow;
    builder.set_facts(result, known);
    if (!along_rows) note_edge_index(builder, tensors, dim, result);
    return {result};
}

std::vector<AbstractPtr> apply_broadcast_list(TraceBuilder& builder, Call& call) {
    const auto tensors = call.args[0]->items;
    const auto dims = broadcast_dims(builder, call, tensors);
    call.effect.partial_use = PartialUse::Additive;
    auto results = builder.emit(call);
    for (std::size_t k = 0; k < results[0]->items.size(); ++k)
        place(builder, call, results[0]->items[k], dims, builder.facts(tensors[k]).content);
    return results;
}

/// squeeze drops whatever has extent 1, rows included: name the dimensions that it drops whatever
/// the number of rows. Returns the argument if it drops none.
AbstractPtr settle_squeezed_dims(TraceBuilder& builder, Call& call) {
    const auto facts = builder.facts(call.args[0]);
    const auto& sample = call.args[0]->probe[0].toTensor();
    std::vector<AbstractPtr> dropped;
    for (std::size_t dim = 0; dim < facts.dims.size(); ++dim) {
        if (facts.dims[dim].space != SPACE_NONE || sample.size(static_cast<std::int64_t>(dim)) != 1)
            continue;
        const auto asked = call.arg("dim");
        bool wanted = !asked;
        if (asked && asked->form == AbstractValue::Form::List) {
            for (const auto& item : asked->items)
                wanted |= normalised(call, item->probe[0].toInt(), facts.dims.size()) ==
                          static_cast<int>(dim);
        } else if (asked) {
            wanted = normalised(call, asked->probe[0].toInt(), facts.dims.size()) ==
                     static_cast<int>(dim);
        }
        if (wanted) dropped.push_back(fixed_value(static_cast<std::int64_t>(dim)));
    }
    if (dropped.empty()) return call.args[0];
    call.run = registered_operator("aten::squeeze", "dims");
    call.args = {call.args[0], list_value(std::move(dropped), c10::IntType::get())};
    return nullptr;
}

void refuse_repeated_rows(TraceBuilder& builder, Call& call) {
    const auto facts = builder.facts(call.args[0]);
    const int placed = facts.placed_dim();
    const auto counts = call.arg("repeats") ? call.arg("repeats") : call.arg("dims");
    if (call.base == "repeat_interleave") {
        const auto dim = call.arg("dim");
        if (placed < 0 && counts->fixed) return;
        if (counts->fixed && dim && !dim->is_none() &&
            normalised(call, dim->probe[0].toInt(), facts.dims.size()) != placed)
            return;
        TraceBuilder::refuse(call, "rows or edges are repeated");
    }
    const auto offset = counts->items.size() - facts.dims.size();
    if (placed >= 0 && !(counts->items[placed + offset]->fixed &&
                         counts->items[placed + offset]->probe[0].toInt() == 1))
        TraceBuilder::refuse(call, "rows or edges are repeated");
}

}  // namespace

bool is_view(const std::string& base) {
    static const std::unordered_set<std::string> known{"view",
                                                       "reshape",
                                                       "flatten",
                                                       "unsqueeze",
                                                       "squeeze",
                                                       "permute",
                                                       "transpose",
                                                       "t",
                                                       "expand",
                                                       "expand_as",
                                                       "contiguous",
                                                       "clone",
                                                       "to",
                                                       "type_as",
                                                       "detach",
                                                       "alias",
                                                       "movedim",
                                                       "moveaxis",
                                                       "swapaxes",
                                                       "swapdims",
                                                       "view_as",
                                                       "reshape_as",
                                                       "unflatten",
                                                       "narrow",
                                                       "slice",
                                                       "select",
                                                       "chunk",
                                                       "split",
                                                       "split_with_sizes",
                                                       "unbind",
                                                       "cat",
                                                       "concat",
                                                       "concatenate",
                                                       "stack",
                                                       "repeat",
                                                       "tile",
                                                       "repeat_interleave",
                                                       "broadcast_tensors",
                                                       "broadcast_to",
                                                       "requires_grad",
                                                       "numpy_T",
                                                       "mT",
                                                       "adjoint",
                                                       "atleast_1d",
                                                       "atleast_2d",
                                                       "_reshape_alias"};
    return known.count(base) > 0;
}

std::vector<AbstractPtr> apply_view(TraceBuilder& builder, Call& call) {
    static const std::unordered_set<std::string> pieces{"select", "chunk", "split",
                                                        "split_with_sizes", "unbind"};
    if (call.base == "slice" || call.base == "narrow") return apply_slice(builder, call);
    if (pieces.count(call.base) > 0) return apply_pieces(builder, call);
    if (call.base == "cat" || call.base == "concat" || call.base == "concatenate" ||
        call.base == "stack")
        return apply_cat(builder, call);
    if (call.base == "broadcast_tensors") return apply_broadcast_list(builder, call);
    if (call.base == "repeat" || call.base == "tile" || call.base == "repeat_interleave")
        refuse_repeated_rows(builder, call);
    if (call.base == "squeeze") {
        if (auto kept = settle_squeezed_dims(builder, call)) return {kept};
    }
    if (call.in_place && call.base != "requires_grad")
        TraceBuilder::refuse(call,
                             "it changes the shape of a tensor in place; use the form without "
                             "the trailing underscore");
    call.effect.partial_use = PartialUse::FirstOnly;
    return reshape_like(builder, call);
}

}  // namespace nvalchemi::rules
