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
    Pointers(const ConvolutionInput& input, const at::Tensor& x)
        : x(x.const_data_ptr<T>()),
          filter(input.filter.const_data_ptr<T>()),
          weights(input.weights.const_data_ptr<T>()),
          x_columns(x.size(1)),
          filter_columns(input.filter.size(1)),
          weight_columns(input.weights.size(1)),
          senders(input.senders.const_data_ptr<std::int64_t>()),
          receivers(input.receivers.const_data_ptr<std::int64_t>()) {}

    const T* x_of(std::int64_t edge, const TensorProductPath& path) const {
        return x + senders[edge] * x_columns + path.x_begin;
    }
    const T* filter_of(std::int64_t edge) const { return filter + edge * filter_columns; }
    const T* weights_of(std::int64_t edge, const TensorProductPath& path) const {
        return weights + edge * weight_columns + path.weight_begin;
    }

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

// Channels are the innermost loop everywhere, and lie side by side in memory, so that the compiler
// does several at once.

/// sum[u] += factor * x[u]
template <typename T>
void add_multiple(T* __restrict__ sum, T factor, const T* __restrict__ x, std::int64_t channels) {
    for (std::int64_t u = 0; u < channels; ++u) sum[u] += factor * x[u];
}

/// sum[u] += x[u] * y[u]
template <typename T>
void add_products(T* __restrict__ sum, const T* __restrict__ x, const T* __restrict__ y,
                  std::int64_t channels) {
    for (std::int64_t u = 0; u < channels; ++u) sum[u] += x[u] * y[u];
}

/// sum_u x[u] y[u]
template <typename T>
T dot(const T* __restrict__ x, const T* __restrict__ y, std::int64_t channels) {
    constexpr std::int64_t kLanes = 8;  // sums side by side: the compiler may not reorder one sum
    T sums[kLanes] = {}, sum = 0;
    std::int64_t u = 0;
    for (; u + kLanes <= channels; u += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[u + lane] * y[u + lane];
    for (; u < channels; ++u) sum += x[u] * y[u];
    for (const T one : sums) sum += one;
    return sum;
}

/// Columns of a table: `first` x `second` numbers from `begin` on.
struct Block {
    std::int64_t begin, first, second;
};

/// The table with each block transposed, and zeros where none is.
at::Tensor transpose_blocks(const at::Tensor& table, const std::vector<Block>& blocks) {
    auto result = at::zeros_like(table);
    for (const auto& [begin, first, second] : blocks) {
        const auto of = [&, begin = begin, size = first * second](const at::Tensor& all) {
            return all.narrow(1, begin, size);
        };
        of(result)
            .unflatten(1, {second, first})
            .copy_(of(table).unflatten(1, {first, second}).transpose(1, 2));
    }
    return result;
}

/// Where channels of x lie, (channels, components), or turned round.
std::vector<Block> blocks_of_x(const TensorProductPlan& plan, bool turned) {
    std::vector<Block> blocks;
    for (const auto& group : plan.groups)
        blocks.push_back(turned ? Block{group.x_begin, group.x_size, group.multiplicity}
                                : Block{group.x_begin, group.multiplicity, group.x_size});
    return blocks;
}

/// The same for the result.
std::vector<Block> blocks_of_out(const TensorProductPlan& plan, bool turned) {
    std::vector<Block> blocks;
    for (const auto& group : plan.groups)
        for (const auto& path : group.paths)
            blocks.push_back(turned ? Block{path.out_begin, path.out_size, path.multiplicity}
                                    : Block{path.out_begin, path.multiplicity, path.out_size});
    return blocks;
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

/// `work(path)` for all paths.
template <typename Work>
void for_paths(const TensorProductPlan& plan, const Work& work) {
    for (const auto& group : plan.groups)
        for (const auto& path : group.paths) work(path);
}

// In what follows tables of x and of the result have the channels of each component side by side.

template <typename T>
void convolve(const TensorProductPlan& plan, const ConvolutionInput& input, const at::Tensor& x,
              at::Tensor& result) {
    const Pointers<T> in(input, x);
    T* out = result.data_ptr<T>();
    std::vector<T> matrix, weighted;
    for_edges_of_rows(input.by_receiver, [=, &plan](std::int64_t row, std::int64_t edge) mutable {
        for_paths(plan, [&](const TensorProductPath& path) {
            const auto channels = path.multiplicity;
            contract_filter(path, in.filter_of(edge), matrix);
            const T *x = in.x_of(edge, path), *weight = in.weights_of(edge, path);
            T* sum = out + row * plan.out_columns + path.out_begin;
            for (std::int64_t i = 0; i < path.x_size; ++i) {
                weighted.assign(channels, 0);
                add_products(weighted.data(), weight, x + i * channels, channels);
                for (std::int64_t k = 0; k < path.out_size; ++k)
                    if (path.couples(i, k))
                        add_multiple(sum + k * channels, matrix[i * path.out_size + k],
                                     weighted.data(), channels);
            }
        });
    });
}

template <typename T>
void edge_gradients(const TensorProductPlan& plan, const ConvolutionInput& input,
                    const at::Tensor& x, const at::Tensor& grad, EdgeGradients& result) {
    const Pointers<T> in(input, x);
    const T* of_out = grad.const_data_ptr<T>();
    T *of_filter = result.filter.data_ptr<T>(), *of_weights = result.weights.data_ptr<T>();
    std::vector<T> matrix, weighted, sums;
    for_edges_of_rows(input.by_receiver, [=, &plan](std::int64_t row, std::int64_t edge) mutable {
        for_paths(plan, [&](const TensorProductPath& path) {
            const auto channels = path.multiplicity;
            contract_filter(path, in.filter_of(edge), matrix);
            const T *x = in.x_of(edge, path), *weight = in.weights_of(edge, path);
            const T* g = of_out + row * plan.out_columns + path.out_begin;
            T* to_filter = of_filter + edge * in.filter_columns + path.filter_begin;
            T* to_weights = of_weights + edge * in.weight_columns + path.weight_begin;
            for (std::int64_t i = 0; i < path.x_size; ++i) {
                weighted.assign(channels, 0);
                add_products(weighted.data(), weight, x + i * channels, channels);
                sums.assign(channels, 0);
                for (std::int64_t k = 0; k < path.out_size; ++k) {
                    if (!path.couples(i, k)) continue;
                    add_multiple(sums.data(), matrix[i * path.out_size + k], g + k * channels,
                                 channels);
                    const T product = dot(weighted.data(), g + k * channels, channels);
                    for (std::int64_t j = 0; j < path.filter_size; ++j)
                        to_filter[j] += static_cast<T>(path.coefficient(i, j, k)) * product;
                }
                add_products(to_weights, x + i * channels, sums.data(), channels);
            }
        });
    });
}

template <typename T>
void row_gradient(const TensorProductPlan& plan, const ConvolutionInput& input,
                  const EdgeOrder& by_sender, const at::Tensor& grad, at::Tensor& result) {
    const Pointers<T> in(input, input.x);
    const T* of_out = grad.const_data_ptr<T>();
    T* of_x = result.data_ptr<T>();
    std::vector<T> matrix, sums;
    for_edges_of_rows(by_sender, [=, &plan](std::int64_t row, std::int64_t edge) mutable {
        for_paths(plan, [&](const TensorProductPath& path) {
            const auto channels = path.multiplicity;
            contract_filter(path, in.filter_of(edge), matrix);
            const T* weight = in.weights_of(edge, path);
            const T* g = of_out + in.receivers[edge] * plan.out_columns + path.out_begin;
            T* sum = of_x + row * in.x_columns + path.x_begin;
            for (std::int64_t i = 0; i < path.x_size; ++i) {
                sums.assign(channels, 0);
                for (std::int64_t k = 0; k < path.out_size; ++k)
                    if (path.couples(i, k))
                        add_multiple(sums.data(), matrix[i * path.out_size + k], g + k * channels,
                                     channels);
                add_products(sum + i * channels, weight, sums.data(), channels);
            }
        });
    });
}

}  // namespace

at::Tensor convolve_on_cpu(const TensorProductPlan& plan, const ConvolutionInput& input) {
    auto result = at::zeros({input.x.size(0), plan.out_columns}, input.x.options());
    const auto x = transpose_blocks(input.x, blocks_of_x(plan, false));
    AT_DISPATCH_FLOATING_TYPES(input.x.scalar_type(), "tensor_product_convolution",
                               [&] { convolve<scalar_t>(plan, input, x, result); });
    return transpose_blocks(result, blocks_of_out(plan, true));
}

EdgeGradients edge_gradients_on_cpu(const TensorProductPlan& plan, const ConvolutionInput& input,
                                    const at::Tensor& grad) {
    EdgeGradients result{at::zeros_like(input.filter), at::zeros_like(input.weights)};
    const auto x = transpose_blocks(input.x, blocks_of_x(plan, false));
    const auto g = transpose_blocks(grad, blocks_of_out(plan, false));
    AT_DISPATCH_FLOATING_TYPES(input.x.scalar_type(), "tensor_product_convolution",
                               [&] { edge_gradients<scalar_t>(plan, input, x, g, result); });
    return result;
}

at::Tensor row_gradient_on_cpu(const TensorProductPlan& plan, const ConvolutionInput& input,
                               const EdgeOrder& by_sender, const at::Tensor& grad) {
    auto result = at::zeros_like(input.x);
    const auto g = transpose_blocks(grad, blocks_of_out(plan, false));
    AT_DISPATCH_FLOATING_TYPES(input.x.scalar_type(), "tensor_product_convolution",
                               [&] { row_gradient<scalar_t>(plan, input, by_sender, g, result); });
    return transpose_blocks(result, blocks_of_x(plan, true));
}

}  // namespace nvalchemi
