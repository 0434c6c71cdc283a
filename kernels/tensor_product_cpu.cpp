// SPDX-License-Identifier: GPL-2.0-only
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <vector>

#include "kernels/tensor_product_backend.hpp"

namespace nvalchemi {

namespace {

constexpr std::int64_t kRowsOfATask = 8;

/// Plain pointers to what is multiplied.
template <typename T>
struct Pointers {
    explicit Pointers(const ConvolutionInput& input)
        : x(input.x.const_data_ptr<T>()),
          filter(input.filter.const_data_ptr<T>()),
          weights(input.weights.const_data_ptr<T>()),
          x_columns(input.x.size(1)),
          filter_columns(input.filter.size(1)),
          weight_columns(input.weights.size(1)),
          senders(input.senders.const_data_ptr<std::int64_t>()),
          receivers(input.receivers.const_data_ptr<std::int64_t>()) {}

    const T *x, *filter, *weights;
    std::int64_t x_columns, filter_columns, weight_columns;
    const std::int64_t *senders, *receivers;
};

/// sum_j C[i, j, k] filter[j]: (x_size, out_size)
template <typename T>
void contract_filter(const TensorProductPath& path, const T* filter, std::vector<T>& matrix) {
    matrix.assign(path.x_size * path.out_size, 0);
    const double* c = path.coefficients.data();
    for (std::int64_t i = 0; i < path.x_size; ++i)
        for (std::int64_t j = 0; j < path.filter_size; ++j)
            for (std::int64_t k = 0; k < path.out_size; ++k)
                matrix[i * path.out_size + k] +=
                    static_cast<T>(*c++) * filter[path.filter_begin + j];
}

/// `work(row, edge)` for the edges of each row, rows in parallel.
template <typename Work>
void for_edges_of_rows(const EdgeOrder& by_row, const Work& work) {
    const auto* order = by_row.order.const_data_ptr<std::int64_t>();
    const auto* begin = by_row.begin.const_data_ptr<std::int64_t>();
    at::parallel_for(0, by_row.begin.size(0) - 1, kRowsOfATask, [&](auto first, auto last) {
        auto of_this_thread = work;  // it may have room of its own
        for (auto row = first; row < last; ++row)
            for (auto n = begin[row]; n < begin[row + 1]; ++n) of_this_thread(row, order[n]);
    });
}

template <typename T>
void convolve(const TensorProductPlan& plan, const ConvolutionInput& input, at::Tensor& result) {
    const Pointers<T> in(input);
    T* out = result.data_ptr<T>();
    std::vector<T> matrix;
    for_edges_of_rows(input.by_receiver, [=, &plan](std::int64_t row, std::int64_t edge) mutable {
        for (const auto& group : plan.groups)
            for (const auto& path : group.paths) {
                contract_filter(path, in.filter + edge * in.filter_columns, matrix);
                const T* x = in.x + in.senders[edge] * in.x_columns + path.x_begin;
                const T* weight = in.weights + edge * in.weight_columns + path.weight_begin;
                T* sum = out + row * plan.out_columns + path.out_begin;
                for (std::int64_t u = 0; u < path.multiplicity; ++u)
                    for (std::int64_t k = 0; k < path.out_size; ++k) {
                        T product = 0;
                        for (std::int64_t i = 0; i < path.x_size; ++i)
                            product += x[u * path.x_size + i] * matrix[i * path.out_size + k];
                        sum[u * path.out_size + k] += weight[u] * product;
                    }
            }
    });
}

template <typename T>
void edge_gradients(const TensorProductPlan& plan, const ConvolutionInput& input,
                    const at::Tensor& grad, EdgeGradients& result) {
    const Pointers<T> in(input);
    const T* of_out = grad.const_data_ptr<T>();
    T *of_filter = result.filter.data_ptr<T>(), *of_weights = result.weights.data_ptr<T>();
    std::vector<T> matrix, products;
    for_edges_of_rows(input.by_receiver, [=, &plan](std::int64_t row, std::int64_t edge) mutable {
        for (const auto& group : plan.groups)
            for (const auto& path : group.paths) {
                contract_filter(path, in.filter + edge * in.filter_columns, matrix);
                const T* x = in.x + in.senders[edge] * in.x_columns + path.x_begin;
                const auto weights_begin = edge * in.weight_columns + path.weight_begin;
                const T* g = of_out + row * plan.out_columns + path.out_begin;
                products.assign(path.x_size * path.out_size, 0);
                for (std::int64_t u = 0; u < path.multiplicity; ++u) {
                    T sum = 0;
                    for (std::int64_t i = 0; i < path.x_size; ++i)
                        for (std::int64_t k = 0; k < path.out_size; ++k) {
                            const T product = x[u * path.x_size + i] * g[u * path.out_size + k];
                            sum += product * matrix[i * path.out_size + k];
                            products[i * path.out_size + k] +=
                                in.weights[weights_begin + u] * product;
                        }
                    of_weights[weights_begin + u] = sum;
                }
                const double* c = path.coefficients.data();
                for (std::int64_t i = 0; i < path.x_size; ++i)
                    for (std::int64_t j = 0; j < path.filter_size; ++j)
                        for (std::int64_t k = 0; k < path.out_size; ++k)
                            of_filter[edge * in.filter_columns + path.filter_begin + j] +=
                                static_cast<T>(*c++) * products[i * path.out_size + k];
            }
    });
}

template <typename T>
void row_gradient(const TensorProductPlan& plan, const ConvolutionInput& input,
                  const EdgeOrder& by_sender, const at::Tensor& grad, at::Tensor& result) {
    const Pointers<T> in(input);
    const T* of_out = grad.const_data_ptr<T>();
    T* of_x = result.data_ptr<T>();
    std::vector<T> matrix;
    for_edges_of_rows(by_sender, [=, &plan](std::int64_t row, std::int64_t edge) mutable {
        for (const auto& group : plan.groups)
            for (const auto& path : group.paths) {
                contract_filter(path, in.filter + edge * in.filter_columns, matrix);
                const T* weight = in.weights + edge * in.weight_columns + path.weight_begin;
                const T* g = of_out + in.receivers[edge] * plan.out_columns + path.out_begin;
                T* sum = of_x + row * in.x_columns + path.x_begin;
                for (std::int64_t u = 0; u < path.multiplicity; ++u)
                    for (std::int64_t i = 0; i < path.x_size; ++i) {
                        T product = 0;
                        for (std::int64_t k = 0; k < path.out_size; ++k)
                            product += matrix[i * path.out_size + k] * g[u * path.out_size + k];
                        sum[u * path.x_size + i] += weight[u] * product;
                    }
            }
    });
}

}  // namespace

at::Tensor convolve_on_cpu(const TensorProductPlan& plan, const ConvolutionInput& input) {
    auto result = at::zeros({input.x.size(0), plan.out_columns}, input.x.options());
    AT_DISPATCH_FLOATING_TYPES(input.x.scalar_type(), "tensor_product_convolution",
                               [&] { convolve<scalar_t>(plan, input, result); });
    return result;
}

EdgeGradients edge_gradients_on_cpu(const TensorProductPlan& plan, const ConvolutionInput& input,
                                    const at::Tensor& grad) {
    EdgeGradients result{at::zeros_like(input.filter), at::zeros_like(input.weights)};
    AT_DISPATCH_FLOATING_TYPES(input.x.scalar_type(), "tensor_product_convolution",
                               [&] { edge_gradients<scalar_t>(plan, input, grad, result); });
    return result;
}

at::Tensor row_gradient_on_cpu(const TensorProductPlan& plan, const ConvolutionInput& input,
                               const EdgeOrder& by_sender, const at::Tensor& grad) {
    auto result = at::zeros_like(input.x);
    AT_DISPATCH_FLOATING_TYPES(input.x.scalar_type(), "tensor_product_convolution", [&] {
        row_gradient<scalar_t>(plan, input, by_sender, grad, result);
    });
    return result;
}

}  // namespace nvalchemi
