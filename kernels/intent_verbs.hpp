// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_INTENT_VERBS_HPP
#define NVALCHEMI_KERNELS_INTENT_VERBS_HPP

#include <ATen/core/Tensor.h>
#include <c10/util/string_view.h>

#include <cstdint>
#include <tuple>

#include "kernels/collective_autograd.hpp"

namespace nvalchemi {

/// What a model's author calls to say what a value needs, instead of how it is moved. All are
/// composed of the collectives, so that their gradients are theirs. Without a current exchange
/// all rows are owned and nothing moves.
///
/// Rows are `(rows, *)`: owned rows, then halo rows, then any number of rows that belong to no atom
/// (some models pad with one). The last are the model's own and never move.

/// Halo rows := their owners' rows. Takes (owned, *) too, which becomes (total, *). Collective.
at::Tensor refresh_neighbors(const at::Tensor& x);
TensorAndToken refresh_neighbors_ordered(const at::Tensor& x, const at::Tensor& token);

/// Every copy of a row := the sum over all copies. For sums into zeros, once. Collective.
at::Tensor scatter_to_owners(const at::Tensor& x);
TensorAndToken scatter_to_owners_ordered(const at::Tensor& x, const at::Tensor& token);

/// Sum of the owned rows of `values` for each system, (n_systems, *), added in float64. `index`
/// (rows) of int32 or int64 holds the system of each row; entries of other than owned rows are not
/// read. Scope "owned": over all ranks, collective. Scope "local": this rank's rows, no call.
at::Tensor system_sum_by_index(const at::Tensor& values, const at::Tensor& index,
                               std::int64_t n_systems, c10::string_view scope);
TensorAndToken system_sum_by_index_ordered(const at::Tensor& values, const at::Tensor& index,
                                           std::int64_t n_systems, const at::Tensor& token,
                                           c10::string_view scope);

/// `x` itself: values here are plain tensors already, and leaves are differentiated as they are.
at::Tensor to_local(const at::Tensor& x);
at::Tensor autograd_target(const at::Tensor& x);

/// (is_distributed, rank, world_size, n_owned, n_padded) of the current exchange, n_padded being
/// owned and halo rows; (false, 0, 1, -1, -1) without one. Not collective.
std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t> current_dd_context();

}  // namespace nvalchemi

#endif
