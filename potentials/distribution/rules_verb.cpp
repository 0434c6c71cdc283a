// SPDX-License-Identifier: GPL-2.0-only
// The intent verbs, torch.ops.nvalchemi_lmp.*, which a model calls itself.
#include "potentials/distribution/operator_rules.hpp"

namespace nvalchemi::rules {

namespace {

AbstractPtr require_rows(TraceBuilder& builder, const Call& call, const AbstractPtr& value) {
    const auto facts = builder.facts(value);
    if (facts.placed_dim() == 0 && facts.dims[0].factor == 1 &&
        (facts.space() == SPACE_NODE || facts.space() == SPACE_OWNED))
        return value;
    TraceBuilder::refuse(call, "expected rows of atoms along the first dimension (n_rows, *)");
}

AbstractPtr refresh(TraceBuilder& builder, const Call& call) {
    const auto rows = require_rows(builder, call, call.args[0]);
    if (builder.facts(rows).is_position)
        TraceBuilder::refuse(call,
                             "halo rows of positions carry their image's shift and cannot be "
                             "refreshed");
    if (builder.facts(rows).space() == SPACE_OWNED) return builder.widen_owned(rows, call);
    return builder.exchange("nvalchemi_lmp::halo_forward", rows, call);
}

AbstractPtr fold(TraceBuilder& builder, const Call& call) {
    const auto rows = require_rows(builder, call, call.args[0]);
    // rows without halo have nothing to fold; storage that only refreshes never folds
    const auto kind = builder.spec().distribution.policy.kind;
    if (builder.facts(rows).space() == SPACE_OWNED || kind == PolicyKind::RefreshHalo ||
        kind == PolicyKind::GraphParallel)
        return rows;
    builder.leave_fold_to_verb(rows);
    return builder.exchange("nvalchemi_lmp::halo_correct", rows, call);
}

AbstractPtr sum_by_system(TraceBuilder& builder, Call& call) {
    const auto scope = call.arg("scope");
    const bool over_ranks = !scope || concrete(*scope, 0).toStringRef() == "owned";
    for (const char* name : {"values", "index"}) {
        const auto rows = require_rows(builder, call, call.arg(name));
        if (builder.facts(rows).space() == SPACE_NODE)
            call.set_arg(name, builder.slice_owned(rows, 0, call));
    }
    if (scope) call.set_arg("scope", fixed_value(std::string("local")));
    call.effect.makes_partial = true;
    const auto partial = builder.emit(call)[0];
    place(builder, call, partial, std::vector<Dim>(partial->probe[0].toTensor().dim(), Dim{}));
    return over_ranks ? builder.exchange("nvalchemi_lmp::system_sum", partial, call) : partial;
}

/// is_distributed, rank, world_size, n_owned, n_padded
std::vector<AbstractPtr> context(TraceBuilder& builder, Call& call) {
    auto results = builder.emit(call);
    const auto rows = builder.row_count(call);
    results[0] = fixed_value(true);
    results[1]->from_count = true;  // differs between ranks: not data
    results[3] = builder.owned_count();
    results[4] = rows;
    return results;
}

}  // namespace

std::vector<AbstractPtr> apply_verb(TraceBuilder& builder, Call& call) {
    if (call.base == "to_local" || call.base == "autograd_target") return {call.args[0]};
    if (call.base == "refresh_neighbors") return {refresh(builder, call)};
    if (call.base == "scatter_to_owners") return {fold(builder, call)};
    if (call.base == "current_dd_context") return context(builder, call);
    if (call.base == "system_sum" && call.has_schema_arg("index"))
        return {sum_by_system(builder, call)};
    TraceBuilder::refuse(call,
                         "this operator is for the distribution pass itself; expected one of the "
                         "intent verbs to_local, refresh_neighbors, scatter_to_owners, system_sum "
                         "with an index, autograd_target and current_dd_context");
}

}  // namespace nvalchemi::rules
