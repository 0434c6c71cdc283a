// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/operator_rules.hpp"
#include "spec/format_names.hpp"

namespace nvalchemi::rules {

namespace {

using Kind = OutputTransform::Kind;

std::string where(const OpAdapter& adapter, const char* what, int position,
                  const std::string& transform) {
    return "the spec declares " + transform + " on " + what + " " + std::to_string(position) +
           " of " + adapter.op;
}

/// owned rows -> owned and refreshed halo rows
AbstractPtr gather_inputs(TraceBuilder& builder, const Call& call, const AbstractPtr& argument,
                          const std::string& declared) {
    const auto facts = builder.facts(argument);
    if (facts.placed_dim() == 0 && facts.dims[0] == Dim{SPACE_OWNED, 1}) {
        if (facts.is_position)
            TraceBuilder::refuse(call, declared +
                                           ", which are positions: halo rows of positions carry "
                                           "their image's shift and cannot be refreshed");
        return builder.widen_owned(argument, call);
    }
    if (facts.on_all_rows())
        TraceBuilder::refuse(call, declared +
                                       ", which has halo rows already: they would be added a "
                                       "second time (double padding). Drop this transform");
    TraceBuilder::refuse(call, declared +
                                   ", which has no rows of atoms along its first dimension; "
                                   "expected owned rows (n_owned, *)");
}

AbstractPtr slice_owned(TraceBuilder& builder, const Call& call, const AbstractPtr& argument,
                        const std::string& declared) {
    const auto facts = builder.facts(argument);
    if (facts.placed_dim() < 0 || facts.space() == SPACE_OWNED) return argument;
    if (facts.placed_dim() == 0 && facts.dims[0] == Dim{SPACE_NODE, 1})
        return builder.slice_owned(argument, 0, call);
    TraceBuilder::refuse(call, declared +
                                   ", which is no tensor of rows (n_rows, *). Drop this transform: "
                                   "edges are on one rank each and are never sliced");
}

/// A transform for another storage than the policy's has no effect.
bool applies(TraceBuilder& builder, bool halo_needed) {
    return stores_rows_for(builder.spec().distribution.policy.kind, halo_needed);
}

void transform_arguments(TraceBuilder& builder, Call& call, const OpAdapter& adapter) {
    for (const auto& [position, transform] : adapter.arg_transforms) {
        if (position < 0 || !applies(builder, needs_halo(transform))) continue;
        auto& argument = call.args.at(position);
        if (!argument->is_tensor()) continue;
        const auto declared = where(adapter, "argument", position, name_of(transform));
        switch (transform) {
            case ArgTransform::GatherInputs:
                argument = gather_inputs(builder, call, argument, declared);
                break;
            case ArgTransform::GatherInputsFull:
                // rows of all ranks are here already, and are refreshed below
                if (!builder.facts(argument).on_all_rows())
                    argument = gather_inputs(builder, call, argument, declared);
                break;
            case ArgTransform::SliceOwned:
                argument = slice_owned(builder, call, argument, declared);
                break;
        }
    }
}

/// The opaque operator may read any row of any of its arguments.
void require_fresh_arguments(TraceBuilder& builder, Call& call) {
    for (const auto& tensor : tensor_arguments(call))
        if (builder.facts(tensor).on_rows()) call.effect.reads_any_row.push_back(tensor->slot);
}

/// Dimensions over rows or edges, told by the extents in both samples, which are distinct primes.
std::vector<Dim> sampled_dims(TraceBuilder& builder, const Call& call, const AbstractPtr& result) {
    const auto &first = result->probe[0].toTensor(), &second = result->probe[1].toTensor();
    if (first.dim() != second.dim())
        TraceBuilder::refuse(call, "the shape of its result depends on the number of atoms");
    std::vector<Dim> dims(first.dim());
    for (std::int64_t dim = 0; dim < first.dim(); ++dim) {
        if (first.size(dim) == second.size(dim)) continue;
        for (const Space space : {SPACE_NODE, SPACE_EDGE, SPACE_OWNED})
            if (first.size(dim) == builder.extent(space, 0) &&
                second.size(dim) == builder.extent(space, 1))
                dims[dim] = {space, 1};
        if (dims[dim].space == SPACE_NONE)
            TraceBuilder::refuse(call, "dimension " + std::to_string(dim) +
                                           " of its result follows neither the rows nor the edges");
    }
    return dims;
}

AbstractPtr transform_output(TraceBuilder& builder, const Call& call, const OpAdapter& adapter,
                             int position, const AbstractPtr& output, bool placed) {
    const auto found = adapter.output_transforms.find(position);
    if (found == adapter.output_transforms.end()) return output;
    const auto kind = found->second.kind;
    if (!applies(builder, needs_halo(kind))) return output;
    const auto declared = where(adapter, "output", position, name_of(kind));
    if (!output->is_tensor()) TraceBuilder::refuse(call, declared + ", which is no tensor");
    const auto facts = builder.facts(output);
    if (kind == Kind::ScatterOutputs) {
        if (facts.placed_dim() != 0 || facts.dims[0] != Dim{SPACE_NODE, 1})
            TraceBuilder::refuse(call, declared + ", which has no halo rows; expected (n_rows, *)");
        return builder.exchange("nvalchemi_lmp::halo_correct", output, call);
    }
    if (kind == Kind::SliceOutputsOwned) {
        // its other rows are taken for meaningless until they are gathered again
        if (facts.placed_dim() == 0 && facts.dims[0] == Dim{SPACE_NODE, 1}) return output;
        TraceBuilder::refuse(call, declared +
                                       ", which has no rows of all ranks; expected "
                                       "(n_rows, *)");
    }
    if (facts.placed_dim() >= 0)
        TraceBuilder::refuse(call, declared +
                                       ", which has rows or edges; expected a value of the whole "
                                       "system, whose truth is the sum over ranks");
    if (!placed)
        TraceBuilder::refuse(call, declared +
                                       ", but the operator sees values of the whole system only, "
                                       "which are the same on every rank: the sum would be as many "
                                       "times too large as there are ranks. Drop this transform");
    return builder.exchange("nvalchemi_lmp::system_sum", output, call);
}

}  // namespace

std::vector<AbstractPtr> apply_adapted(TraceBuilder& builder, Call& call,
                                       const OpAdapter& adapter) {
    if (call.in_place)
        TraceBuilder::refuse(call,
                             "an adapter is declared for an operator that writes its "
                             "argument; expected one that returns a new tensor");
    builder.operator_adapters().note_use(adapter, call.source);
    if (adapter.arg_transforms.empty() && adapter.output_transforms.empty())
        if (auto results = try_row_wise(builder, call)) return *results;
    transform_arguments(builder, call, adapter);
    require_fresh_arguments(builder, call);
    const bool placed = sees_rows(builder, call);
    call.effect.rows = Effect::Rows::Stale;
    call.effect.makes_partial = placed;
    auto results = builder.emit(call);
    for (std::size_t k = 0; k < results.size(); ++k) {
        if (!results[k]->is_tensor()) continue;
        place(builder, call, results[k], sampled_dims(builder, call, results[k]));
        results[k] =
            transform_output(builder, call, adapter, static_cast<int>(k), results[k], placed);
    }
    return results;
}

}  // namespace nvalchemi::rules
