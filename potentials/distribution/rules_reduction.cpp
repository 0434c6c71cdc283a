// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <unordered_set>

#include "potentials/distribution/operator_rules.hpp"

namespace nvalchemi::rules {

namespace {

/// Reductions that keep the dimension they work along.
bool keeps_dims(const std::string& base) {
    static const std::unordered_set<std::string> known{
        "softmax", "log_softmax", "_softmax",  "cumsum", "cumprod",      "sort",   "topk",
        "flip",    "roll",        "normalize", "cross",  "linalg_cross", "renorm", "logcumsumexp"};
    return known.count(base) > 0;
}

/// The dimensions that are reduced: the `dim` argument, all without one.
std::vector<int> reduced_dims(const Call& call, std::size_t rank) {
    std::vector<int> dims;
    AbstractPtr argument = call.arg("dim");
    if (!argument) argument = call.arg("dims");
    const bool given = argument && !argument->is_none() &&
                       !(argument->form == AbstractValue::Form::List && argument->items.empty());
    if (!given) {
        if (call.base == "sort" || call.base == "topk" || call.base == "linalg_cross" ||
            call.base == "cross")
            return {static_cast<int>(rank) - 1};
        for (std::size_t dim = 0; dim < rank; ++dim) dims.push_back(static_cast<int>(dim));
        return dims;
    }
    if (argument->form == AbstractValue::Form::List) {
        for (const auto& item : argument->items)
            dims.push_back(normalised(call, item->probe[0].toInt(), rank));
    } else {
        dims.push_back(normalised(call, argument->probe[0].toInt(), rank));
    }
    return dims;
}

/// torch.cross without a dimension takes the first of extent 3, which could be the rows.
void settle_cross_dim(Call& call) {
    const auto given = call.arg("dim");
    if (given && !given->is_none()) return;
    const auto& sample = call.args[0]->probe[0].toTensor();
    for (std::int64_t dim = 0; dim < sample.dim(); ++dim)
        if (sample.size(dim) == 3) return call.set_arg("dim", fixed_value(dim));
}

[[noreturn]] void refuse_rows(const Call& call, Space space) {
    const std::string what = space == SPACE_EDGE || space >= FIRST_DERIVED ? "edges" : "rows";
    TraceBuilder::refuse(call, "it reduces or mixes all " + what +
                                   ", but a rank sees its own part only; only sums and means over "
                                   "rows or edges can be distributed");
}

/// The largest system number: there is one system, number 0.
bool is_last_system(TraceBuilder& builder, const Call& call) {
    return (call.base == "max" || call.base == "amax") &&
           builder.facts(call.args[0]).content == Content::System &&
           call.schema->returns().size() == 1;
}

std::vector<Dim> remaining(const std::vector<Dim>& dims, const std::vector<int>& reduced,
                           bool keep) {
    std::vector<Dim> result;
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
        const bool gone =
            std::find(reduced.begin(), reduced.end(), static_cast<int>(dim)) != reduced.end();
        if (!gone) result.push_back(dims[dim]);
        if (gone && keep) result.push_back({});
    }
    return result;
}

/// The sum over the whole system divided by the number of its rows or edges.
std::vector<AbstractPtr> mean_over_rows(TraceBuilder& builder, const Call& call,
                                        const std::vector<int>& reduced) {
    const auto facts = builder.facts(call.args[0]);
    const auto& sample = call.args[0]->probe[0].toTensor();
    Dim count = facts.dims[facts.placed_dim()];
    for (const int dim : reduced)
        if (dim != facts.placed_dim()) count.factor *= sample.size(dim);
    const auto total = sum_over(builder, call, call.args[0], reduced, call.flag("keepdim", false),
                                call.arg("dtype"));
    const auto dtype = total->probe[0].toTensor().scalar_type();
    Call quotient = call;
    quotient.name = "aten::div";
    quotient.run = registered_operator("aten::div", "Tensor");
    quotient.args = {total, builder.count_as_tensor(count, dtype, call)};
    quotient.effect = {};
    quotient.effect.partial_use = PartialUse::FirstOnly;
    return builder.emit(quotient);
}

}  // namespace

AbstractPtr sum_over(TraceBuilder& builder, const Call& caller, const AbstractPtr& tensor,
                     const std::vector<int>& dims, bool keepdim, const AbstractPtr& dtype) {
    std::vector<AbstractPtr> numbers;
    for (const int dim : dims) numbers.push_back(fixed_value(static_cast<std::int64_t>(dim)));
    const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::sum", "dim_IntList");
    Call sum = caller;
    sum.name = "aten::sum";
    sum.base = "sum";
    sum.in_place = false;
    sum.schema = &handle.schema();
    sum.run = registered_operator("aten::sum", "dim_IntList");
    sum.args = {tensor, list_value(std::move(numbers), c10::IntType::get()), fixed_value(keepdim),
                dtype ? dtype : fixed_value(c10::IValue())};
    sum.effect = {};
    return apply_reduction(builder, sum)[0];
}

bool is_reduction(const std::string& base) {
    static const std::unordered_set<std::string> known{
        "sum",         "mean",          "nansum",   "prod",   "amax",          "amin",
        "max",         "min",           "aminmax",  "std",    "var",           "std_mean",
        "norm",        "median",        "quantile", "argmax", "argmin",        "logsumexp",
        "any",         "all",           "mode",     "unique", "count_nonzero", "linalg_vector_norm",
        "linalg_norm", "frobenius_norm"};
    return known.count(base) > 0 || keeps_dims(base);
}

std::vector<AbstractPtr> apply_reduction(TraceBuilder& builder, Call& call) {
    // max(x, y) and min(x, y) act by element
    if ((call.base == "max" || call.base == "min") && call.has_schema_arg("other"))
        return apply_pointwise(builder, call);
    if (is_last_system(builder, call)) return {fixed_value(torch::zeros({}, torch::kInt64))};
    require_data(builder, call);
    if (call.base == "cross") settle_cross_dim(call);
    const auto facts = builder.facts(call.args[0]);
    const auto reduced = reduced_dims(call, facts.dims.size());
    const int placed = facts.placed_dim();
    const bool over_rows =
        placed >= 0 && std::find(reduced.begin(), reduced.end(), placed) != reduced.end();
    const bool linear = call.base == "sum";
    if (over_rows) {
        if (call.base == "mean" && !is_row_subset(facts.space()))
            return mean_over_rows(builder, call, reduced);
        if (!linear || is_row_subset(facts.space())) refuse_rows(call, facts.space());
        if (facts.space() == SPACE_NODE) {
            if (facts.dims[placed].factor != 1) refuse_rows(call, facts.space());
            call.args[0] = builder.slice_owned(call.args[0], placed, call);
        }
        call.effect.makes_partial = true;
    }
    call.effect.partial_use =
        linear || call.base == "mean" ? PartialUse::Passthrough : PartialUse::Refused;
    const bool keep = keeps_dims(call.base) || call.flag("keepdim", false);
    auto results = builder.emit(call);
    const auto dims = keeps_dims(call.base) ? facts.dims : remaining(facts.dims, reduced, keep);
    for (const auto& result : results)
        if (result->is_tensor()) place(builder, call, result, dims);
    return results;
}

}  // namespace nvalchemi::rules
