// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_TENSOR_PRODUCT_HPP
#define NVALCHEMI_KERNELS_TENSOR_PRODUCT_HPP

#include <ATen/core/Tensor.h>

#include <tuple>

namespace nvalchemi {

/// Sum over the edges of each receiver of the tensor product of the sender's features with the
/// edge's filter (Thomas et al., arXiv:1802.08219), without a message of each edge in memory:
///
///     out[r] = sum over edges e with receiver r of product(x[sender of e], filter[e], weights[e])
///
/// `x` (rows, X), `filter` (edges, F), `weights` (edges, W) of one dtype, float32 or float64;
/// `edge_index` (2, edges), int64: receivers, then senders, both rows, in any order. `paths` and
/// `coefficients` say what the product is: see TensorProductPlan. Gives (rows, out_columns), zero
/// where no path leads. The same numbers each time: sums run in the order of the edges.
///
/// CPU and CUDA, where the kernels of a plan are compiled when it first occurs. Can be
/// differentiated once. Throws c10::Error where shapes do not fit or a GPU's compiler fails. Not
/// collective: x must have halo rows that are up to date; rows of the result are complete where
/// all edges of a row are on this rank.
at::Tensor tensor_product_convolution(const at::Tensor& x, const at::Tensor& filter,
                                      const at::Tensor& weights, const at::Tensor& edge_index,
                                      at::IntArrayRef paths, at::ArrayRef<double> coefficients);

/// The same as a step of autograd.
at::Tensor differentiable_tensor_product_convolution(const at::Tensor& x, const at::Tensor& filter,
                                                     const at::Tensor& weights,
                                                     const at::Tensor& edge_index,
                                                     at::IntArrayRef paths,
                                                     at::ArrayRef<double> coefficients);

}  // namespace nvalchemi

#endif
