// SPDX-License-Identifier: GPL-2.0-only
// An operator library as a model author would write it: nothing in it knows about ranks.
//
// `push` is one attention layer over edges in one pass. Every atom sends its message to its
// neighbours and receives nothing by itself: edge e adds to the row of its *sender*,
//
//     out[s] += sigmoid(q[s] . k[r] / sqrt(depth)) * edge[e] * v[r],   r = receiver[e], s =
//     sender[e]
//
// in each head. Under a spatial decomposition an edge is on the rank that owns its receiver, so
// the messages to one atom are computed on several ranks, and a halo row of the result holds a
// *part of a sum* that its owner lacks:
//
//     rank 0 owns a, b            rank 1 owns c
//     out[b] = from a             out[b] = from c (a halo row)       the truth: from a + from c
//
// What makes it right is no code here but one line of the distribution spec, scatter_outputs on
// output 0: parts go home, are added, and come back as the sum.
//
// `pool` sums rows into one value of the whole system. A halo row would count twice, and a rank
// sees its own atoms only: slice_owned on its argument and all_reduce_sum on its output.
#include "fused_message.hpp"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fused_message {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_index(const Tensor& index, const char* name, const Tensor& query, std::int64_t edges) {
    TORCH_CHECK(index.dim() == 1 && index.size(0) == edges && index.scalar_type() == at::kLong &&
                    index.device() == query.device(),
                "fused_message::push: ", name, ": got shape ", index.sizes(), " of ",
                index.scalar_type(), " on ", index.device(), ", expected (", edges, ") of Long on ",
                query.device());
    if (!index.is_cpu() || edges == 0) return;  // looking at values would halt a GPU
    const auto least = index.min().item<std::int64_t>(), most = index.max().item<std::int64_t>();
    TORCH_CHECK(least >= 0 && most < query.size(0), "fused_message::push: ", name, ": got row ",
                least < 0 ? least : most, ", expected one of the ", query.size(0), " rows");
}

/// Rows of one head at one edge: an offset for everything that has (rows, heads, depth), and two
/// for key_value.
template <typename Visit>
void for_each_edge_and_head(const Arguments& given, const Visit& visit) {
    const auto* receiver = given.receiver.const_data_ptr<std::int64_t>();
    const auto* sender = given.sender.const_data_ptr<std::int64_t>();
    const auto heads = given.heads(), width = heads * given.depth();
    for (std::int64_t e = 0; e < given.edges(); ++e)
        for (std::int64_t h = 0; h < heads; ++h) {
            const auto key = receiver[e] * 2 * width + h * given.depth();
            visit(e * heads + h, sender[e] * width + h * given.depth(), key, key + width);
        }
}

template <typename Number>
void push_numbers(const Arguments& given, Tensor& out) {
    const auto* query = given.query.const_data_ptr<Number>();
    const auto* key_value = given.key_value.const_data_ptr<Number>();
    const auto* edge = given.edge.const_data_ptr<Number>();
    auto* result = out.mutable_data_ptr<Number>();
    const auto depth = given.depth();
    for_each_edge_and_head(given, [&](auto at_edge, auto row, auto key, auto value) {
        const auto attention = attend(query + row, key_value + key, edge[at_edge], depth);
        for (std::int64_t d = 0; d < depth; ++d)
            result[row + d] += attention.weight * key_value[value + d];
    });
}

template <typename Number>
void push_backward_numbers(const Arguments& given, const Tensor& gradient, Gradients& gradients) {
    const auto* query = given.query.const_data_ptr<Number>();
    const auto* key_value = given.key_value.const_data_ptr<Number>();
    const auto* edge = given.edge.const_data_ptr<Number>();
    const auto* d_out = gradient.const_data_ptr<Number>();
    auto* d_query = std::get<0>(gradients).mutable_data_ptr<Number>();
    auto* d_key_value = std::get<1>(gradients).mutable_data_ptr<Number>();
    auto* d_edge = std::get<2>(gradients).mutable_data_ptr<Number>();
    const auto depth = given.depth();
    const Number scale = 1 / std::sqrt(static_cast<Number>(depth));
    for_each_edge_and_head(given, [&](auto at_edge, auto row, auto key, auto value) {
        const auto attention = attend(query + row, key_value + key, edge[at_edge], depth);
        const Number slope = dot(d_out + row, key_value + value, depth);  // d / d weight
        const Number d_score = slope * attention.weight * (1 - attention.gate) * scale;
        d_edge[at_edge] = slope * attention.gate;
        for (std::int64_t d = 0; d < depth; ++d) {
            d_query[row + d] += d_score * key_value[key + d];
            d_key_value[key + d] += d_score * query[row + d];
            d_key_value[value + d] += attention.weight * d_out[row + d];
        }
    });
}

Tensor push_cpu(const Tensor& query, const Tensor& key_value, const Tensor& receiver,
                const Tensor& sender, const Tensor& edge) {
    const auto given = check_arguments(query, key_value, receiver, sender, edge);
    auto out = at::zeros_like(given.query);
    AT_DISPATCH_FLOATING_TYPES(query.scalar_type(), "fused_message::push",
                               [&] { push_numbers<scalar_t>(given, out); });
    return out;
}

Gradients push_backward_cpu(const Tensor& gradient, const Tensor& query, const Tensor& key_value,
                            const Tensor& receiver, const Tensor& sender, const Tensor& edge) {
    const auto given = check_arguments(query, key_value, receiver, sender, edge);
    Gradients gradients{at::zeros_like(given.query), at::zeros_like(given.key_value),
                        at::zeros_like(given.edge)};
    AT_DISPATCH_FLOATING_TYPES(query.scalar_type(), "fused_message::push_backward", [&] {
        push_backward_numbers<scalar_t>(given, gradient.contiguous(), gradients);
    });
    return gradients;
}

/// The same gradients from torch's own operators, which can be differentiated again: training on
/// forces needs that, evaluating them does not.
Gradients differentiable_gradients(const Tensor& gradient, const Tensor& query,
                                   const Tensor& key_value, const Tensor& receiver,
                                   const Tensor& sender, const Tensor& edge) {
    const double scale = 1 / std::sqrt(static_cast<double>(query.size(2)));
    const auto q = query.index_select(0, sender), d_out = gradient.index_select(0, sender);
    const auto k = key_value.select(1, 0).index_select(0, receiver);
    const auto v = key_value.select(1, 1).index_select(0, receiver);
    const auto gate = ((q * k).sum(-1) * scale).sigmoid();  // (edges, heads)
    const auto slope = (d_out * v).sum(-1);
    const auto d_score = (slope * edge * gate * (1 - gate) * scale).unsqueeze(-1);
    const auto none = at::zeros_like(query);
    const auto d_key = none.index_add(0, receiver, d_score * q);
    const auto d_value = none.index_add(0, receiver, (edge * gate).unsqueeze(-1) * d_out);
    return {none.index_add(0, sender, d_score * k), at::stack({d_key, d_value}, 1), slope * gate};
}

Tensor call_push(const Tensor& query, const Tensor& key_value, const Tensor& receiver,
                 const Tensor& sender, const Tensor& edge) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("fused_message::push", "")
                               .typed<decltype(push_cpu)>();
    return op.call(query, key_value, receiver, sender, edge);
}

Gradients call_push_backward(const Tensor& gradient, const Tensor& query, const Tensor& key_value,
                             const Tensor& receiver, const Tensor& sender, const Tensor& edge) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("fused_message::push_backward", "")
                               .typed<decltype(push_backward_cpu)>();
    return op.call(gradient, query, key_value, receiver, sender, edge);
}

struct Push : torch::autograd::Function<Push> {
    static Tensor forward(AutogradContext* context, const Tensor& query, const Tensor& key_value,
                          const Tensor& receiver, const Tensor& sender, const Tensor& edge) {
        const at::AutoDispatchBelowADInplaceOrView without_autograd;
        context->save_for_backward({query, key_value, receiver, sender, edge});
        return call_push(query, key_value, receiver, sender, edge);
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const auto saved = context->get_saved_variables();
        // gradients are recorded here only if they are to be differentiated again
        const auto formula =
            at::GradMode::is_enabled() ? &differentiable_gradients : &call_push_backward;
        const auto [d_query, d_key_value, d_edge] =
            formula(gradients[0], saved[0], saved[1], saved[2], saved[3], saved[4]);
        return {d_query, d_key_value, Tensor(), Tensor(), d_edge};
    }
};

Tensor push_autograd(const Tensor& query, const Tensor& key_value, const Tensor& receiver,
                     const Tensor& sender, const Tensor& edge) {
    return Push::apply(query, key_value, receiver, sender, edge);
}

/// Made of torch's own operators: it needs no formula for its gradient and runs on any device.
Tensor pool(const Tensor& rows) {
    TORCH_CHECK(rows.dim() >= 1, "fused_message::pool: got a number, expected (rows, ...)");
    return rows.sum(0);
}

}  // namespace

Arguments check_arguments(const Tensor& query, const Tensor& key_value, const Tensor& receiver,
                          const Tensor& sender, const Tensor& edge) {
    TORCH_CHECK(query.dim() == 3 && query.size(2) > 0, "fused_message::push: query: got shape ",
                query.sizes(), ", expected (rows, heads, depth)");
    const auto rows = query.size(0), heads = query.size(1), depth = query.size(2);
    TORCH_CHECK(key_value.sizes() == at::IntArrayRef({rows, 2, heads, depth}),
                "fused_message::push: key_value: got shape ", key_value.sizes(), ", expected (",
                rows, ", 2, ", heads, ", ", depth, ") as in query");
    TORCH_CHECK(edge.dim() == 2 && edge.size(1) == heads, "fused_message::push: edge: got shape ",
                edge.sizes(), ", expected (edges, ", heads, ")");
    for (const auto* other : {&key_value, &edge})
        TORCH_CHECK(
            other->scalar_type() == query.scalar_type() && other->device() == query.device(),
            "fused_message::push: got ", other->scalar_type(), " on ", other->device(),
            ", expected ", query.scalar_type(), " on ", query.device(), " as in query");
    check_index(receiver, "receiver", query, edge.size(0));
    check_index(sender, "sender", query, edge.size(0));
    return {query.contiguous(), key_value.contiguous(), receiver.contiguous(), sender.contiguous(),
            edge.contiguous()};
}

}  // namespace fused_message

TORCH_LIBRARY(fused_message, library) {
    library.def(
        "push(Tensor query, Tensor key_value, Tensor receiver, Tensor sender, Tensor edge) -> "
        "Tensor");
    library.def(
        "push_backward(Tensor gradient, Tensor query, Tensor key_value, Tensor receiver, Tensor "
        "sender, Tensor edge) -> (Tensor, Tensor, Tensor)");
    library.def("pool(Tensor rows) -> Tensor", &fused_message::pool);
}

TORCH_LIBRARY_IMPL(fused_message, CPU, library) {
    library.impl("push", &fused_message::push_cpu);
    library.impl("push_backward", &fused_message::push_backward_cpu);
}

TORCH_LIBRARY_IMPL(fused_message, Autograd, library) {
    library.impl("push", &fused_message::push_autograd);
}
