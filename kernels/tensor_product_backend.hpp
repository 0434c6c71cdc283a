// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_TENSOR_PRODUCT_BACKEND_HPP
#define NVALCHEMI_KERNELS_TENSOR_PRODUCT_BACKEND_HPP

#include <ATen/core/Tensor.h>

#include "kernels/tensor_product_plan.hpp"

namespace nvalchemi {

/// Edges in the order of one of their rows: those of row r are order[begin[r]] to
/// order[begin[r + 1] - 1], in the order in which they were given.
struct EdgeOrder {
    at::Tensor order;  ///< (edges,), int64
    at::Tensor begin;  ///< (rows + 1,), int64
};

/// What is multiplied; all contiguous, on one device, see tensor_product_convolution.
struct ConvolutionInput {
    at::Tensor x, filter, weights;  ///< (rows, X), (edges, F), (edges, W)
    at::Tensor senders, receivers;  ///< (edges,), int64
    EdgeOrder by_receiver;
};

struct EdgeGradients {
    at::Tensor filter, weights;  ///< (edges, F), (edges, W)
};

// `grad` (rows, out_columns) is the gradient of the result. Gradients have the shapes of what they
// belong to.

at::Tensor convolve_on_cpu(const TensorProductPlan& plan, const ConvolutionInput& input);
EdgeGradients edge_gradients_on_cpu(const TensorProductPlan& plan, const ConvolutionInput& input,
                                    const at::Tensor& grad);
at::Tensor row_gradient_on_cpu(const TensorProductPlan& plan, const ConvolutionInput& input,
                               const EdgeOrder& by_sender, const at::Tensor& grad);

at::Tensor convolve_on_gpu(const TensorProductPlan& plan, const ConvolutionInput& input);
EdgeGradients edge_gradients_on_gpu(const TensorProductPlan& plan, const ConvolutionInput& input,
                                    const at::Tensor& grad);
at::Tensor row_gradient_on_gpu(const TensorProductPlan& plan, const ConvolutionInput& input,
                               const EdgeOrder& by_sender, const at::Tensor& grad);

}  // namespace nvalchemi

#endif
