// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_KERNELS_TENSOR_PRODUCT_CASE_HPP
#define NVALCHEMI_UNITTEST_KERNELS_TENSOR_PRODUCT_CASE_HPP

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <vector>

#include "unittest/kernels/rank_gradients.hpp"

namespace nvalchemi::test {

/// The operator's two lists, and the columns that they lead to.
struct Paths {
    std::vector<std::int64_t> numbers;
    std::vector<double> coefficients;
    std::int64_t x_columns = 0, filter_columns = 0, weight_columns = 0, out_columns = 0;

    std::size_t size() const { return numbers.size() / 8; }
};

/// Channels of one multiplicity in x, and the sizes that each filter is coupled to.
struct Channels {
    std::int64_t multiplicity, x_size;
    std::vector<std::int64_t> out_sizes;
};

/// Paths of all channels with all filters (sizes 1, 3, ...), coefficients random, a third zero.
inline Paths make_paths(const std::vector<Channels>& groups,
                        const std::vector<std::int64_t>& filters) {
    Paths paths;
    for (const std::int64_t size : filters) paths.filter_columns += size;
    for (const auto& [multiplicity, x_size, out_sizes] : groups) {
        std::int64_t filter_begin = 0;
        for (const std::int64_t filter_size : filters) {
            for (const std::int64_t out_size : out_sizes) {
                paths.numbers.insert(paths.numbers.end(),
                                     {multiplicity, x_size, filter_size, out_size, paths.x_columns,
                                      filter_begin, paths.weight_columns, paths.out_columns});
                const Tensor values = random_rows({x_size * filter_size * out_size});
                for (std::int64_t n = 0; n < values.numel(); ++n)
                    paths.coefficients.push_back(n % 3 == 1 ? 0.0 : values[n].item<double>());
                paths.weight_columns += multiplicity;
                paths.out_columns += multiplicity * out_size;
            }
            filter_begin += filter_size;
        }
        paths.x_columns += multiplicity * x_size;
    }
    return paths;
}

/// What is convolved, in the operator's order.
struct Graph {
    Tensor x, filter, weights, edge_index;

    Tensors differentiable() const { return {x, filter, weights}; }
};

inline Graph make_graph(const Paths& paths, std::int64_t rows, std::int64_t edges,
                        at::ScalarType type = at::kDouble) {
    // not sorted, the last row is neither receiver nor sender
    const Tensor index = (random_rows({2, edges}).abs() * 1e6).to(at::kLong).remainder(rows - 1);
    return {random_rows({rows, paths.x_columns}, type),
            random_rows({edges, paths.filter_columns}, type),
            random_rows({edges, paths.weight_columns}, type), index};
}

/// The operator, called as a model does.
inline Tensor convolve(const Graph& graph, const Paths& paths) {
    register_operators();
    return c10::Dispatcher::singleton()
        .findSchemaOrThrow("nvalchemi_lmp::tensor_product_convolution", "")
        .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, at::IntArrayRef,
                      at::ArrayRef<double>)>()
        .call(graph.x, graph.filter, graph.weights, graph.edge_index, paths.numbers,
              paths.coefficients);
}

/// The same from torch's own operators, with a message of each edge: path by path as in the
/// formula of TensorProductPath.
inline Tensor convolve_by_messages(const Graph& graph, const Paths& paths) {
    Tensor result = at::zeros({graph.x.size(0), paths.out_columns}, graph.x.options());
    std::int64_t used = 0;
    for (std::size_t p = 0; p < paths.size(); ++p) {
        const std::int64_t* n = &paths.numbers[8 * p];
        const std::int64_t multiplicity = n[0], count = n[1] * n[2] * n[3], width = n[0] * n[3];
        const Tensor coefficients =
            at::tensor(at::ArrayRef<double>(paths.coefficients).slice(used, count))
                .to(graph.x.scalar_type())
                .view({n[1], n[2], n[3]});
        used += count;
        const Tensor senders = graph.x.index_select(0, graph.edge_index[1])
                                   .narrow(1, n[4], multiplicity * n[1])
                                   .unflatten(1, {multiplicity, n[1]});
        const Tensor messages = at::einsum(
            "eu,ijk,eui,ej->euk", {graph.weights.narrow(1, n[6], multiplicity), coefficients,
                                   senders, graph.filter.narrow(1, n[5], n[2])});
        const Tensor sums = at::zeros({graph.x.size(0), width}, graph.x.options())
                                .index_add(0, graph.edge_index[0], messages.flatten(1));
        result = result + at::constant_pad_nd(sums, {n[7], paths.out_columns - n[7] - width});
    }
    return result;
}

using Convolution = Tensor (*)(const Graph&, const Paths&);

/// Value, and gradients of a fixed weighted sum of it with respect to x, filter and weights.
inline Tensors value_and_gradients(Convolution convolution, const Graph& graph,
                                   const Paths& paths) {
    Graph leaves{leaf(graph.x), leaf(graph.filter), leaf(graph.weights), graph.edge_index};
    const Tensor value = convolution(leaves, paths);
    const Tensor factors = at::arange(value.numel(), value.options()).sin().view(value.sizes());
    Tensors result = torch::autograd::grad({(value * factors).sum()}, leaves.differentiable());
    result.insert(result.begin(), value.detach());
    return result;
}

}  // namespace nvalchemi::test

#endif
