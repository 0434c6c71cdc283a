// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_EDGE_SUMS_HPP
#define NVALCHEMI_KERNELS_EDGE_SUMS_HPP

#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/edge_formulas.hpp"

namespace nvalchemi {

/// Edges as the operators get them; contiguous, see contiguous_edges.
struct EdgeTensors {
    at::Tensor vectors;             ///< (edges, 3), float32 or float64
    at::Tensor receivers, senders;  ///< (edges,), int64
};

/// Gradients of a weighted sum of rows; undefined where they were not asked for.
struct EdgeSumGradients {
    at::Tensor vectors;  ///< (edges, 3)
    at::Tensor rows;     ///< (rows,), with respect to the numbers of rows that the formula reads
};

/// `edge_vectors` (edges, 3) and `edge_index` (2, edges), int64: receivers, then senders. Throws
/// c10::Error, in the name of the operator `name`, for another shape, dtype or device, and on the
/// CPU, where it can be seen without a wait, for rows that are not in [0, rows).
EdgeTensors contiguous_edges(const char* name, const at::Tensor& edge_vectors,
                             const at::Tensor& edge_index, std::int64_t rows);

/// Throws c10::Error unless `tensor` (`what` of operator `name`) has the dtype and device of
/// `like`. Returns it contiguous.
at::Tensor contiguous_like(const char* name, const char* what, const at::Tensor& tensor,
                           const at::Tensor& like);

/// Of each row, the sum of a formula over the edges of that receiver: (rows,).
template <typename Formula>
at::Tensor sum_of_edges(const EdgeTensors& edges, const Formula& formula, std::int64_t rows);

/// The gradients of sum_of_edges for the gradient `grad` (rows,) of its result.
template <typename Formula>
EdgeSumGradients gradients_of_edges(const EdgeTensors& edges, const Formula& formula,
                                    const at::Tensor& grad, bool of_vectors, bool of_rows);

/// Call `weights` for each row. `like` says where its pointers lead.
template <typename T>
void fill_weights(const edge_formulas::ReferenceWeights<T>& weights, std::int64_t rows,
                  const at::Tensor& like);

/// Start a kernel of edge_sums_source on the device and for the dtype of `like` for `threads`
/// threads; see GpuProgram::launch.
void launch_edge_kernel(const char* name, const at::Tensor& like, std::int64_t threads,
                        std::vector<void*> arguments);

}  // namespace nvalchemi

#endif
