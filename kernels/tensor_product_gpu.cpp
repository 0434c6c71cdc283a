// SPDX-License-Identifier: GPL-2.0-only
#include <ATen/ATen.h>

#include <vector>

#include "kernels/gpu_programs.hpp"
#include "kernels/tensor_product_backend.hpp"
#include "kernels/tensor_product_source.hpp"

namespace nvalchemi {

namespace {

constexpr int kThreads = 128;

/// Plans are never destroyed, so that an address stands for one.
const GpuProgram& program_of(const TensorProductPlan& plan, const at::Tensor& x) {
    static GpuPrograms<const TensorProductPlan*> programs;
    return programs.get(&plan, x,
                        [&](const char* scalar) { return tensor_product_source(plan, scalar); });
}

/// Start a kernel for all rows with the arguments that all kernels begin with, and `more`.
template <typename... More>
void start(const char* name, const TensorProductPlan& plan, const ConvolutionInput& input,
           const EdgeOrder& edges, const More&... more) {
    auto rows = edges.begin.size(0) - 1;
    auto x_columns = input.x.size(1);
    auto filter_columns = input.filter.size(1), weight_columns = input.weights.size(1);
    const auto *order = edges.order.const_data_ptr(), *begin = edges.begin.const_data_ptr();
    std::vector<void*> arguments{&rows,           &x_columns, &filter_columns,
                                 &weight_columns, &order,     &begin};
    (arguments.push_back(const_cast<void*>(static_cast<const void*>(&more))), ...);
    const auto threads = 32 * rows * warps_of_a_row(plan);
    program_of(plan, input.x)
        .launch(name, (threads + kThreads - 1) / kThreads, kThreads, std::move(arguments));
}

const void* address(const at::Tensor& tensor) { return tensor.const_data_ptr(); }

}  // namespace

at::Tensor convolve_on_gpu(const TensorProductPlan& plan, const ConvolutionInput& input) {
    auto result = at::zeros({input.x.size(0), plan.out_columns}, input.x.options());
    start("convolve", plan, input, input.by_receiver, address(input.senders), address(input.x),
          address(input.filter), address(input.weights), address(result));
    return result;
}

EdgeGradients edge_gradients_on_gpu(const TensorProductPlan& plan, const ConvolutionInput& input,
                                    const at::Tensor& grad) {
    auto edges = input.filter.size(0);
    EdgeGradients result{{}, at::zeros_like(input.weights)};
    // of each warp of a row
    auto filter =
        at::zeros({warps_of_a_row(plan), edges, input.filter.size(1)}, input.filter.options());
    start("edge_gradients", plan, input, input.by_receiver, address(input.senders),
          address(input.x), address(input.filter), address(input.weights), address(grad),
          address(filter), address(result.weights), edges);
    result.filter = filter.sum(0);
    return result;
}

at::Tensor row_gradient_on_gpu(const TensorProductPlan& plan, const ConvolutionInput& input,
                               const EdgeOrder& by_sender, const at::Tensor& grad) {
    auto result = at::zeros_like(input.x);
    start("row_gradient", plan, input, by_sender, address(input.receivers), address(input.filter),
          address(input.weights), address(grad), address(result));
    return result;
}

}  // namespace nvalchemi
