// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_COLLECTIVE_AUTOGRAD_HPP
#define NVALCHEMI_KERNELS_COLLECTIVE_AUTOGRAD_HPP

#include <ATen/core/Tensor.h>

#include <tuple>

#include "kernels/collective.hpp"

namespace nvalchemi {

/// A result and the token that the next exchange takes.
using TensorAndToken = std::tuple<at::Tensor, at::Tensor>;

/// Call the operator of `collective` through the dispatcher, so that what is composed of it can be
/// differentiated, any number of times.
at::Tensor call_operator(Collective collective, const at::Tensor& input);
TensorAndToken call_operator(Collective collective, const at::Tensor& input,
                             const at::Tensor& token);

/// Apply `collective` to a tensor of this rank; differentiable any number of times.
///
/// The backward pass applies the transpose by calling the operators themselves, so it is collective
/// too. It happens exactly if the input requires a gradient, which must be so on all ranks or none.
at::Tensor differentiable_collective(Collective collective, const at::Tensor& input);

/// The same with a token, a scalar whose value passes through unchanged. Each exchange takes the
/// token of the one before and shares one node of the graph with its own: in the backward pass the
/// token's gradient walks through the exchanges in reverse order, through all of them, even on a
/// rank that did not use a result. Without it that rank would skip exchanges the others wait for.
TensorAndToken differentiable_collective(Collective collective, const at::Tensor& input,
                                         const at::Tensor& token);

/// The two halves of a halo_forward with a token: between them runs what needs no halo rows. The
/// backward pass has two halves too, and makes no other exchange between them where the forward
/// pass made none. It cannot be differentiated again.
///
/// `under_way`: the rows, of which nothing may be read but by the second half.
TensorAndToken halo_forward_begin(const at::Tensor& rows, const at::Tensor& token);
TensorAndToken halo_forward_end(const at::Tensor& under_way, const at::Tensor& token);
TensorAndToken differentiable_halo_forward_begin(const at::Tensor& rows, const at::Tensor& token);
TensorAndToken differentiable_halo_forward_end(const at::Tensor& under_way,
                                               const at::Tensor& token);

/// Sum of the owned rows of all ranks, (*); added in float64. `rows` is (total, *) or (owned, *).
at::Tensor owned_system_sum(const at::Tensor& rows);
TensorAndToken owned_system_sum_ordered(const at::Tensor& rows, const at::Tensor& token);

/// A view of `rows` through which halo rows receive a gradient of exactly zero, also where the
/// gradient that arrives is not a number. Not collective.
at::Tensor drop_halo_gradient(const at::Tensor& rows);

/// This rank's part of values that every rank has: values / number of ranks. Not collective.
at::Tensor share(const at::Tensor& values);

/// A scalar floating point tensor is a token; throws c10::Error for anything else.
void check_token(const at::Tensor& token, const char* operator_name);

}  // namespace nvalchemi

#endif
