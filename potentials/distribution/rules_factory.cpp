// SPDX-License-Identifier: GPL-2.0-only
#include <unordered_set>

#include "potentials/distribution/operator_rules.hpp"

namespace nvalchemi::rules {

namespace {

bool has_size_argument(const Call& call) {
    return call.arg("size") && call.arg("size")->form == AbstractValue::Form::List;
}

std::vector<Dim> sizes_to_dims(const Call& call) {
    std::vector<Dim> dims;
    for (const auto& extent : call.arg("size")->items) {
        if (!extent->fixed && extent->count.space == SPACE_NONE)
            TraceBuilder::refuse(call,
                                 "the size of a new tensor depends on data (the largest "
                                 "index, for example), which differs between ranks; use the "
                                 "number of rows of an input");
        dims.push_back(extent->count);
    }
    return dims;
}

std::vector<AbstractPtr> apply_arange(TraceBuilder& builder, Call& call) {
    const auto end = call.arg("end");
    if (!end->is_count()) {
        if (!is_deeply_fixed(*end)) TraceBuilder::refuse(call, "its length depends on data");
        return builder.emit(call);
    }
    const auto start = call.arg("start");
    if (end->count.factor != 1 || (start && concrete(*start, 0).toInt() != 0))
        TraceBuilder::refuse(call, "it numbers a part of the rows or edges");
    const auto space = end->count.space;
    auto result = builder.emit(call)[0];
    place(builder, call, result, {{space, 1}},
          space == SPACE_NODE    ? Content::RowNumbers
          : space == SPACE_OWNED ? Content::OwnedNumbers
                                 : Content::EdgeSelection);
    auto known = builder.facts(result);
    known.selects_from = space;
    builder.set_facts(result, known);
    return {result};
}

}  // namespace

bool is_factory(const std::string& base) {
    static const std::unordered_set<std::string> known{
        "zeros",     "ones",       "full",      "empty",    "zeros_like",    "ones_like",
        "full_like", "empty_like", "new_zeros", "new_ones", "new_full",      "new_empty",
        "arange",    "eye",        "linspace",  "tensor",   "scalar_tensor", "as_tensor"};
    return known.count(base) > 0;
}

std::vector<AbstractPtr> apply_factory(TraceBuilder& builder, Call& call) {
    if (call.base == "arange") return apply_arange(builder, call);
    const auto fill = call.arg("fill_value");
    if (fill && (fill->is_count() || fill->from_count))
        TraceBuilder::refuse(call,
                             "the number of rows or edges is used as data, but it differs "
                             "between ranks");
    std::vector<Dim> dims;
    if (has_size_argument(call)) {
        dims = sizes_to_dims(call);
    } else if (call.base.size() > 5 && call.base.substr(call.base.size() - 5) == "_like") {
        dims = builder.facts(call.args[0]).dims;
    } else {
        for (const auto& argument : call.args)
            if (!is_deeply_fixed(*argument))
                TraceBuilder::refuse(call,
                                     "it makes a tensor from the number of rows or from "
                                     "data, which differ between ranks");
        return builder.emit(call);
    }
    call.effect.rows = Effect::Rows::Complete;
    call.effect.ignores_values = true;
    auto result = builder.emit(call)[0];
    place(builder, call, result, dims);
    return {result};
}

}  // namespace nvalchemi::rules
