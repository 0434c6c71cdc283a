// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/tensor_product.hpp"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/tensor_product_backend.hpp"

namespace nvalchemi {

namespace {

constexpr const char* kName = "tensor_product_convolution: ";

/// A plan is made once and kept: its address stands for it, here and where a GPU's kernels are.
const TensorProductPlan& plan_of(at::IntArrayRef paths, at::ArrayRef<double> coefficients) {
    using Key = std::pair<std::vector<std::int64_t>, std::vector<double>>;
    static std::mutex mutex;
    static std::map<Key, std::unique_ptr<const TensorProductPlan>> plans;
    const std::lock_guard<std::mutex> lock(mutex);
    auto& plan = plans[{paths.vec(), coefficients.vec()}];
    if (!plan)
        plan = std::make_unique<const TensorProductPlan>(
            make_tensor_product_plan(paths, coefficients));
    return *plan;
}

void check_columns(const char* what, const at::Tensor& tensor, std::int64_t rows,
                   std::int64_t columns) {
    TORCH_CHECK(
        tensor.dim() == 2 && (rows < 0 || tensor.size(0) == rows) && tensor.size(1) >= columns,
        kName, "got ", what, " of shape ", tensor.sizes(), ", expected (",
        rows < 0 ? "rows" : std::to_string(rows), ", at least ", columns, ")");
}

/// On a GPU the question alone would cost a wait.
void check_rows(const at::Tensor& edge_index, std::int64_t rows) {
    if (!edge_index.is_cpu() || edge_index.numel() == 0) return;
    const auto [low, high] = edge_index.aminmax();
    TORCH_CHECK(low.item<std::int64_t>() >= 0 && high.item<std::int64_t>() < rows, kName,
                "got rows from ", low.item<std::int64_t>(), " to ", high.item<std::int64_t>(),
                " in edge_index, expected rows of x, from 0 to ", rows - 1);
}

void check_arguments(const TensorProductPlan& plan, const at::Tensor& x, const at::Tensor& filter,
                     const at::Tensor& weights, const at::Tensor& edge_index) {
    TORCH_CHECK(
        edge_index.dim() == 2 && edge_index.size(0) == 2 && edge_index.scalar_type() == at::kLong,
        kName, "got edge_index ", edge_index.toString(), " of shape ", edge_index.sizes(),
        ", expected int64 of shape (2, edges)");
    check_columns("x", x, -1, plan.x_columns);
    check_columns("a filter", filter, edge_index.size(1), plan.filter_columns);
    check_columns("weights", weights, edge_index.size(1), plan.weight_columns);
    const auto dtype = x.scalar_type();
    TORCH_CHECK((dtype == at::kFloat || dtype == at::kDouble) && filter.scalar_type() == dtype &&
                    weights.scalar_type() == dtype,
                kName, "got x, filter and weights of dtypes ", dtype, ", ", filter.scalar_type(),
                ", ", weights.scalar_type(), ", expected all float32 or all float64");
    for (const auto* tensor : {&filter, &weights, &edge_index})
        TORCH_CHECK(tensor->device() == x.device(), kName, "got tensors on ", x.device(), " and ",
                    tensor->device(), ", expected one device");
    TORCH_CHECK(x.is_cpu() || x.is_cuda(), kName, "got tensors on ", x.device(),
                ", expected the CPU or a CUDA device");
    check_rows(edge_index, x.size(0));
}

EdgeOrder order_by(const at::Tensor& rows_of_edges, std::int64_t rows) {
    // half of the bits are half of the work
    const auto [sorted, order] = rows_of_edges.to(at::kInt).sort(/*stable=*/true, /*dim=*/0,
                                                                 /*descending=*/false);
    return {order, at::searchsorted(sorted, at::arange(rows + 1, sorted.options()))};
}

ConvolutionInput arrange(const at::Tensor& x, const at::Tensor& filter, const at::Tensor& weights,
                         const at::Tensor& edge_index) {
    const auto receivers = edge_index.select(0, 0).contiguous();
    return {x.contiguous(),
            filter.contiguous(),
            weights.contiguous(),
            edge_index.select(0, 1).contiguous(),
            receivers,
            order_by(receivers, x.size(0))};
}

at::Tensor convolve(const TensorProductPlan& plan, const ConvolutionInput& input) {
    return input.x.is_cuda() ? convolve_on_gpu(plan, input) : convolve_on_cpu(plan, input);
}

EdgeGradients edge_gradients(const TensorProductPlan& plan, const ConvolutionInput& input,
                             const at::Tensor& grad) {
    return input.x.is_cuda() ? edge_gradients_on_gpu(plan, input, grad)
                             : edge_gradients_on_cpu(plan, input, grad);
}

at::Tensor row_gradient(const TensorProductPlan& plan, const ConvolutionInput& input,
                        const at::Tensor& grad) {
    const auto by_sender = order_by(input.senders, input.x.size(0));
    return input.x.is_cuda() ? row_gradient_on_gpu(plan, input, by_sender, grad)
                             : row_gradient_on_cpu(plan, input, by_sender, grad);
}

class Convolution : public torch::autograd::Function<Convolution> {
  public:
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                              const at::Tensor& filter, const at::Tensor& weights,
                              const at::Tensor& edge_index, at::IntArrayRef paths,
                              at::ArrayRef<double> coefficients) {
        const at::AutoDispatchBelowADInplaceOrView below;
        const c10::OptionalDeviceGuard device(x.device());
        const auto& plan = plan_of(paths, coefficients);
        check_arguments(plan, x, filter, weights, edge_index);
        const auto input = arrange(x, filter, weights, edge_index);
        // the three as they were given, so that autograd sees if somebody writes to them
        context->save_for_backward({x, filter, weights, input.senders, input.receivers,
                                    input.by_receiver.order, input.by_receiver.begin});
        context->saved_data["plan"] =
            static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&plan));
        return convolve(plan, input);
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list grads) {
        TORCH_CHECK(!at::GradMode::is_enabled(), kName,
                    "got a request for second derivatives, expected first derivatives only "
                    "(create_graph=False); evaluate a model without fused convolutions instead");
        const auto saved = context->get_saved_variables();
        const c10::OptionalDeviceGuard device(saved[0].device());
        const ConvolutionInput input{
            saved[0].contiguous(), saved[1].contiguous(), saved[2].contiguous(), saved[3], saved[4],
            {saved[5], saved[6]}};
        const auto address = static_cast<std::intptr_t>(context->saved_data["plan"].toInt());
        const auto& plan = *reinterpret_cast<const TensorProductPlan*>(
            address);  // NOLINT(performance-no-int-to-ptr)
        const auto grad = grads[0].contiguous();
        torch::autograd::variable_list result(6);
        if (context->needs_input_grad(0)) result[0] = row_gradient(plan, input, grad);
        if (context->needs_input_grad(1) || context->needs_input_grad(2)) {
            auto of_edges = edge_gradients(plan, input, grad);
            result[1] = std::move(of_edges.filter);
            result[2] = std::move(of_edges.weights);
        }
        return result;
    }
};

}  // namespace

at::Tensor tensor_product_convolution(const at::Tensor& x, const at::Tensor& filter,
                                      const at::Tensor& weights, const at::Tensor& edge_index,
                                      at::IntArrayRef paths, at::ArrayRef<double> coefficients) {
    const c10::OptionalDeviceGuard device(x.device());
    const auto& plan = plan_of(paths, coefficients);
    check_arguments(plan, x, filter, weights, edge_index);
    return convolve(plan, arrange(x, filter, weights, edge_index));
}

at::Tensor differentiable_tensor_product_convolution(const at::Tensor& x, const at::Tensor& filter,
                                                     const at::Tensor& weights,
                                                     const at::Tensor& edge_index,
                                                     at::IntArrayRef paths,
                                                     at::ArrayRef<double> coefficients) {
    return Convolution::apply(x, filter, weights, edge_index, paths, coefficients);
}

}  // namespace nvalchemi
