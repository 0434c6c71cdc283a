// SPDX-License-Identifier: GPL-2.0-only
#ifndef FUSED_MESSAGE_HPP
#define FUSED_MESSAGE_HPP

#include <ATen/core/Tensor.h>
#include <c10/macros/Macros.h>

#include <cmath>
#include <cstdint>
#include <tuple>

namespace fused_message {

using at::Tensor;

/// What the kernels for a CPU and a GPU share: the arguments of `push`, contiguous and checked.
struct Arguments {
    Tensor query;             ///< (rows, heads, depth)
    Tensor key_value;         ///< (rows, 2, heads, depth): keys, then values
    Tensor receiver, sender;  ///< (edges) int64, rows
    Tensor edge;              ///< (edges, heads)

    std::int64_t rows() const { return query.size(0); }
    std::int64_t heads() const { return query.size(1); }
    std::int64_t depth() const { return query.size(2); }
    std::int64_t edges() const { return edge.size(0); }
};

/// Throws c10::Error if shapes, precisions or devices do not fit together.
Arguments check_arguments(const Tensor& query, const Tensor& key_value, const Tensor& receiver,
                          const Tensor& sender, const Tensor& edge);

/// Gradients with respect to query, key_value and edge.
using Gradients = std::tuple<Tensor, Tensor, Tensor>;

/// What a head computes at one edge.
template <typename Number>
struct Attention {
    Number gate;    ///< sigmoid(q . k / sqrt(depth))
    Number weight;  ///< gate * edge
};

template <typename Number>
C10_HOST_DEVICE Number dot(const Number* left, const Number* right, std::int64_t depth) {
    Number sum = 0;
    for (std::int64_t d = 0; d < depth; ++d) sum += left[d] * right[d];
    return sum;
}

template <typename Number>
C10_HOST_DEVICE Attention<Number> attend(const Number* query, const Number* key, Number edge,
                                         std::int64_t depth) {
    const Number score = dot(query, key, depth) / std::sqrt(static_cast<Number>(depth));
    const Number gate = 1 / (1 + std::exp(-score));
    return {gate, gate * edge};
}

}  // namespace fused_message

#endif
