// SPDX-License-Identifier: GPL-2.0-only
#include <unordered_set>

#include "potentials/distribution/operator_rules.hpp"

namespace nvalchemi::rules {

namespace {

PartialUse partial_use(const std::string& base) {
    if (base == "neg" || base == "positive" || base == "zero") return PartialUse::Passthrough;
    if (base == "add" || base == "sub" || base == "rsub") return PartialUse::Additive;
    if (base == "mul" || base == "multiply") return PartialUse::Multiplicative;
    if (base == "div" || base == "true_divide") return PartialUse::FirstOnly;
    if (base == "copy") return PartialUse::Additive;
    return PartialUse::Refused;
}

/// x / x.size(0): the number of rows of the whole system takes the place of this rank's.
void scale_by_whole_count(TraceBuilder& builder, Call& call) {
    static const std::unordered_set<std::string> scaling{"mul", "multiply", "div", "true_divide"};
    if (scaling.count(call.base) == 0 || call.args.size() < 2 || !call.args[1]->is_count()) return;
    const auto dtype = call.args[0]->probe[0].toTensor().scalar_type();
    if (!c10::isFloatingType(dtype) || call.schema->arguments().size() != 2) return;
    call.args[1] = builder.count_as_tensor(call.args[1]->count, dtype, call);
    const std::string name =
        call.base == "mul" || call.base == "multiply" ? "aten::mul" : "aten::div";
    call.name = call.in_place ? name + "_" : name;
    call.run = registered_operator(call.name, "Tensor");
}

}  // namespace

std::vector<AbstractPtr> apply_pointwise(TraceBuilder& builder, Call& call) {
    scale_by_whole_count(builder, call);
    require_data(builder, call);
    call.effect.partial_use = partial_use(call.base);
    const auto dims = broadcast_dims(builder, call, tensor_arguments(call));
    if (call.in_place) call.effect.mutates = call.args[0]->slot;
    auto results = builder.emit(call);
    for (const auto& result : results) {
        place(builder, call, result, dims);
        follow_positions(builder, call, result);
    }
    return results;
}

std::vector<AbstractPtr> apply_gradient(TraceBuilder& builder, Call& call) {
    call.effect.differentiates = true;
    call.effect.rows = Effect::Rows::Complete;
    for (const auto& scalar : call.args[0]->items) {
        const auto space = builder.facts(scalar).space();
        if (space != SPACE_NONE && space != SPACE_OWNED)
            TraceBuilder::refuse(call,
                                 "it differentiates values of all rows, halo rows included; "
                                 "expected the sum of the owned rows' energies");
    }
    for (const auto& target : call.args[1]->items) {
        const auto facts = builder.facts(target);
        if (facts.on_rows() && !facts.is_position)
            TraceBuilder::refuse(call,
                                 "it differentiates with respect to features of rows, whose "
                                 "gradients are spread over ranks; expected positions, edge "
                                 "vectors or a strain");
    }
    auto results = builder.emit(call);
    auto& gradients = results[0]->items;
    for (std::size_t k = 0; k < gradients.size(); ++k) {
        if (!gradients[k]->is_tensor())
            gradients[k] = fixed_value(c10::IValue());
        else
            place(builder, call, gradients[k], builder.facts(call.args[1]->items[k]).dims);
    }
    return results;
}

}  // namespace nvalchemi::rules
