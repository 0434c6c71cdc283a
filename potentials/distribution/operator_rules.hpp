// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_OPERATOR_RULES_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_OPERATOR_RULES_HPP

#include <optional>
#include <vector>

#include "potentials/distribution/trace_builder.hpp"

namespace nvalchemi {

/// Append the operator `call` to the trace with the placements of its results. Every operator that
/// sees rows or edges is either known here or refused: nothing is let through because it was not
/// recognised.
std::vector<AbstractPtr> apply_operator(TraceBuilder& builder, Call& call);

// The groups of operators, each in its own file. `apply_*` returns what the call returns.
namespace rules {

std::vector<AbstractPtr> apply_gather(TraceBuilder& builder, Call& call);
std::vector<AbstractPtr> apply_scatter(TraceBuilder& builder, Call& call);
std::vector<AbstractPtr> apply_reduction(TraceBuilder& builder, Call& call);
std::vector<AbstractPtr> apply_contraction(TraceBuilder& builder, Call& call);
std::vector<AbstractPtr> apply_view(TraceBuilder& builder, Call& call);
std::vector<AbstractPtr> apply_factory(TraceBuilder& builder, Call& call);
std::vector<AbstractPtr> apply_pointwise(TraceBuilder& builder, Call& call);
std::vector<AbstractPtr> apply_gradient(TraceBuilder& builder, Call& call);
/// Operators that return a number: sizes, items, integer arithmetic.
std::vector<AbstractPtr> apply_number(TraceBuilder& builder, Call& call);

/// For an operator that no group knows: if runs on parts of the samples show that it computes
/// each row (or edge) from that row of its operands alone, append it; nothing otherwise.
std::optional<std::vector<AbstractPtr>> try_row_wise(TraceBuilder& builder, Call& call);

/// An operator with an adapter of the distribution spec.
std::vector<AbstractPtr> apply_adapted(TraceBuilder& builder, Call& call, const OpAdapter& adapter);
/// An operator of namespace nvalchemi_lmp.
std::vector<AbstractPtr> apply_verb(TraceBuilder& builder, Call& call);

/// True if `base` is one of the group.
bool is_gather(const std::string& base);
bool is_scatter(const std::string& base);
bool is_reduction(const std::string& base);
bool is_contraction(const std::string& base);
bool is_view(const std::string& base);
bool is_factory(const std::string& base);

// Shared by the groups.

/// Append the sum of `tensor` over `dims` on behalf of `caller`. Over rows it counts the owned ones
/// and is this rank's part. `dtype` None keeps the tensor's own.
AbstractPtr sum_over(TraceBuilder& builder, const Call& caller, const AbstractPtr& tensor,
                     const std::vector<int>& dims, bool keepdim, const AbstractPtr& dtype);
/// Whether a tensor among the arguments has rows or edges.
bool sees_rows(TraceBuilder& builder, const Call& call);

/// Tensors among the arguments, lists included.
std::vector<AbstractPtr> tensor_arguments(const Call& call);
/// Spaces of tensors that are broadcast together, aligned at the last dimension.
std::vector<Dim> broadcast_dims(TraceBuilder& builder, const Call& call,
                                const std::vector<AbstractPtr>& tensors);
/// A dimension argument in [0, rank).
int normalised(const Call& call, std::int64_t dim, std::size_t rank);
/// Give the results their facts: spaces for the one tensor result, rank-only for the others.
void place(TraceBuilder& builder, const Call& call, const AbstractPtr& result,
           std::vector<Dim> dims, Content content = Content::Data);
/// What is computed row by row from positions is a position: its halo rows carry their image.
void follow_positions(TraceBuilder& builder, const Call& call, const AbstractPtr& result);
/// Refuse numbers of rows and row numbers where data is expected.
void require_data(TraceBuilder& builder, const Call& call);
/// How row numbers of `content` address a dimension of `space`; refuses what is not understood.
/// Returns true if any row may be read, so that the operand must be fresh.
bool reads_any_row(const Call& call, Space space, Content content);

}  // namespace rules

}  // namespace nvalchemi

#endif
