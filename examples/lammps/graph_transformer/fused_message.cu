// SPDX-License-Identifier: GPL-2.0-only
// The kernels of fused_message for a GPU: one thread for each row and head, which walks the edges
// of its row. Edges are sorted first; nothing is added by two threads, so that equal inputs give
// equal bits in every run.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "fused_message.hpp"

namespace fused_message {

namespace {

constexpr int kThreads = 128;

/// Edges in the order of the rows that `index` names.
struct Segments {
    Tensor order;  ///< (edges): edges, those of one row side by side
    Tensor begin;  ///< (rows + 1): where a row's edges begin in `order`
};

Segments segments_of(const Tensor& index, std::int64_t rows) {
    const auto [sorted, order] = at::sort(index, /*stable=*/true, /*dim=*/0, /*descending=*/false);
    return {order, at::searchsorted(sorted, at::arange(rows + 1, index.options()))};
}

/// Arguments as a kernel takes them, with the edges of the rows that its threads belong to.
template <typename Number>
struct View {
    const Number *query, *key_value, *edge, *d_out;
    const std::int64_t *receiver, *sender, *order, *begin;
    std::int64_t rows, heads, depth;

    __device__ std::int64_t row_offset(std::int64_t row, std::int64_t head) const {
        return (row * heads + head) * depth;
    }
    __device__ std::int64_t key_offset(std::int64_t row, std::int64_t head) const {
        return (row * 2 * heads + head) * depth;
    }
    __device__ std::int64_t value_offset(std::int64_t row, std::int64_t head) const {
        return key_offset(row, head) + heads * depth;
    }
};

/// Calls visit(edge, row, head) for the edges of this thread's row.
template <typename Number, typename Visit>
__device__ void for_own_edges(const View<Number>& view, const Visit& visit) {
    const auto thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (thread >= view.rows * view.heads) return;
    const auto row = thread / view.heads, head = thread % view.heads;
    for (auto at = view.begin[row]; at < view.begin[row + 1]; ++at)
        visit(view.order[at], row, head);
}

template <typename Number>
__global__ void push_kernel(View<Number> view, Number* out) {
    for_own_edges(view, [&](auto e, auto sender, auto head) {
        const auto receiver = view.receiver[e], row = view.row_offset(sender, head);
        const auto attention =
            attend(view.query + row, view.key_value + view.key_offset(receiver, head),
                   view.edge[e * view.heads + head], view.depth);
        const auto* value = view.key_value + view.value_offset(receiver, head);
        for (std::int64_t d = 0; d < view.depth; ++d) out[row + d] += attention.weight * value[d];
    });
}

/// Gradients of what belongs to a sender or to an edge.
template <typename Number>
__global__ void sender_gradient_kernel(View<Number> view, Number* d_query, Number* d_edge) {
    const Number scale = 1 / std::sqrt(static_cast<Number>(view.depth));
    for_own_edges(view, [&](auto e, auto sender, auto head) {
        const auto receiver = view.receiver[e], row = view.row_offset(sender, head);
        const auto* key = view.key_value + view.key_offset(receiver, head);
        const auto* value = view.key_value + view.value_offset(receiver, head);
        const auto at_edge = e * view.heads + head;
        const auto attention = attend(view.query + row, key, view.edge[at_edge], view.depth);
        const Number slope = dot(view.d_out + row, value, view.depth);
        const Number d_score = slope * attention.weight * (1 - attention.gate) * scale;
        d_edge[at_edge] = slope * attention.gate;
        for (std::int64_t d = 0; d < view.depth; ++d) d_query[row + d] += d_score * key[d];
    });
}

/// Gradients of what belongs to a receiver.
template <typename Number>
__global__ void receiver_gradient_kernel(View<Number> view, Number* d_key_value) {
    const Number scale = 1 / std::sqrt(static_cast<Number>(view.depth));
    for_own_edges(view, [&](auto e, auto receiver, auto head) {
        const auto row = view.row_offset(view.sender[e], head);
        const auto key = view.key_offset(receiver, head);
        const auto value = view.value_offset(receiver, head);
        const auto attention = attend(view.query + row, view.key_value + key,
                                      view.edge[e * view.heads + head], view.depth);
        const Number slope = dot(view.d_out + row, view.key_value + value, view.depth);
        const Number d_score = slope * attention.weight * (1 - attention.gate) * scale;
        for (std::int64_t d = 0; d < view.depth; ++d) {
            d_key_value[key + d] += d_score * view.query[row + d];
            d_key_value[value + d] += attention.weight * view.d_out[row + d];
        }
    });
}

/// `d_out` may be undefined: the forward kernel has none.
template <typename Number>
View<Number> view_of(const Arguments& given, const Tensor& d_out, const Segments& segments) {
    return {given.query.const_data_ptr<Number>(),
            given.key_value.const_data_ptr<Number>(),
            given.edge.const_data_ptr<Number>(),
            d_out.defined() ? d_out.const_data_ptr<Number>() : nullptr,
            given.receiver.const_data_ptr<std::int64_t>(),
            given.sender.const_data_ptr<std::int64_t>(),
            segments.order.const_data_ptr<std::int64_t>(),
            segments.begin.const_data_ptr<std::int64_t>(),
            given.rows(),
            given.heads(),
            given.depth()};
}

template <typename Kernel, typename Number, typename... Results>
void launch(Kernel kernel, const View<Number>& view, Results*... results) {
    const auto threads = view.rows * view.heads;
    if (threads == 0) return;
    const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
    kernel<<<blocks, kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(view, results...);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

Tensor push_cuda(const Tensor& query, const Tensor& key_value, const Tensor& receiver,
                 const Tensor& sender, const Tensor& edge) {
    const auto given = check_arguments(query, key_value, receiver, sender, edge);
    const c10::cuda::CUDAGuard device(query.device());
    const auto out = at::zeros_like(given.query);
    const auto by_sender = segments_of(given.sender, given.rows());
    AT_DISPATCH_FLOATING_TYPES(query.scalar_type(), "fused_message::push", [&] {
        launch(&push_kernel<scalar_t>, view_of<scalar_t>(given, Tensor(), by_sender),
               out.mutable_data_ptr<scalar_t>());
    });
    return out;
}

Gradients push_backward_cuda(const Tensor& gradient, const Tensor& query, const Tensor& key_value,
                             const Tensor& receiver, const Tensor& sender, const Tensor& edge) {
    const auto given = check_arguments(query, key_value, receiver, sender, edge);
    const c10::cuda::CUDAGuard device(query.device());
    const auto d_out = gradient.contiguous();
    const auto d_query = at::zeros_like(given.query);
    const auto d_key_value = at::zeros_like(given.key_value);
    const auto d_edge = at::zeros_like(given.edge);
    const auto by_sender = segments_of(given.sender, given.rows());
    const auto by_receiver = segments_of(given.receiver, given.rows());
    AT_DISPATCH_FLOATING_TYPES(query.scalar_type(), "fused_message::push_backward", [&] {
        launch(&sender_gradient_kernel<scalar_t>, view_of<scalar_t>(given, d_out, by_sender),
               d_query.mutable_data_ptr<scalar_t>(), d_edge.mutable_data_ptr<scalar_t>());
        launch(&receiver_gradient_kernel<scalar_t>, view_of<scalar_t>(given, d_out, by_receiver),
               d_key_value.mutable_data_ptr<scalar_t>());
    });
    return {d_query, d_key_value, d_edge};
}

}  // namespace

}  // namespace fused_message

TORCH_LIBRARY_IMPL(fused_message, CUDA, library) {
    library.impl("push", &fused_message::push_cuda);
    library.impl("push_backward", &fused_message::push_backward_cuda);
}
