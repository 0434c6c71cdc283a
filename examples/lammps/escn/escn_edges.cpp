// SPDX-License-Identifier: GPL-2.0-only
// Two operators of an eSCN layer, each of which does in one step what takes three outside:
//
//   node_to_edge   features of both ends of an edge, turned into the edge's frame, and put into the
//                  order by m that its convolutions want
//   edge_to_node   messages put back into the order by l, turned back, and added to the receivers
//
// They are written for one process. The messages of a receiver are all on its owner's rank, so that
// a rank's own rows are complete; what they need of others are fresh features of senders. A
// distribution spec declares them without transforms.
//
// A feature has four coefficients: l = 0, and l = 1 as a vector. In the frame of an edge its second
// axis points along the edge, which is m = 0; the first and the third are m = +1 and -1.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t COEFFICIENTS = 4;

/// The place by l of each coefficient by m: (0, 0), (1, 0), (1, 1), (1, -1).
Tensor order_by_m(const Tensor& like) {
    return at::tensor({0, 2, 1, 3}, at::TensorOptions(at::kLong)).to(like.device());
}

void check_rows(const char* op, const Tensor& rows) {
    TORCH_CHECK(rows.dim() == 3 && rows.size(1) == COEFFICIENTS, "escn::", op, ": got features ",
                rows.sizes(), ", expected (rows, ", COEFFICIENTS, ", channels)");
}

void check_edges(const char* op, const Tensor& frame, const Tensor& index, std::int64_t rows) {
    const auto edges = index.size(0);
    TORCH_CHECK(frame.sizes() == at::IntArrayRef({edges, COEFFICIENTS, COEFFICIENTS}), "escn::", op,
                ": got frames ", frame.sizes(), ", expected (", edges, ", ", COEFFICIENTS, ", ",
                COEFFICIENTS, ")");
    TORCH_CHECK(index.dim() == 1 && index.scalar_type() == at::kLong, "escn::", op,
                ": got an index ", index.sizes(), " of ", index.scalar_type(),
                ", expected (edges) of Long");
    if (!index.is_cpu() || edges == 0) return;  // looking at values would halt a GPU
    TORCH_CHECK(index.min().item<std::int64_t>() >= 0 && index.max().item<std::int64_t>() < rows,
                "escn::", op, ": got a row that is none of the ", rows, " rows");
}

/// (edges, 2 * channels) on each coefficient: sender, then receiver.
Tensor both_ends(const Tensor& x, const Tensor& sender, const Tensor& receiver) {
    return at::cat({x.index_select(0, sender), x.index_select(0, receiver)}, 2);
}

struct NodeToEdge : torch::autograd::Function<NodeToEdge> {
    static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& sender,
                          const Tensor& receiver, const Tensor& frame) {
        check_rows("node_to_edge", x);
        check_edges("node_to_edge", frame, sender, x.size(0));
        check_edges("node_to_edge", frame, receiver, x.size(0));
        const at::AutoDispatchBelowADInplaceOrView without_autograd;
        context->save_for_backward({x, sender, receiver, frame});
        return at::bmm(frame.index_select(1, order_by_m(x)), both_ends(x, sender, receiver));
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const auto saved = context->get_saved_variables();
        const auto &x = saved[0], &sender = saved[1], &receiver = saved[2], &frame = saved[3];
        const auto order = order_by_m(x);
        const auto& slope = gradients[0];
        const auto d_ends = at::bmm(frame.index_select(1, order).transpose(1, 2), slope);
        const auto channels = x.size(2);
        const auto d_x = at::zeros_like(x)
                             .index_add(0, sender, d_ends.narrow(2, 0, channels))
                             .index_add(0, receiver, d_ends.narrow(2, channels, channels));
        const auto d_frame = at::zeros_like(frame).index_copy(
            1, order, at::bmm(slope, both_ends(x, sender, receiver).transpose(1, 2)));
        return {d_x, Tensor(), Tensor(), d_frame};
    }
};

struct EdgeToNode : torch::autograd::Function<EdgeToNode> {
    static Tensor forward(AutogradContext* context, const Tensor& message, const Tensor& receiver,
                          const Tensor& frame, const Tensor& x) {
        check_rows("edge_to_node", message);
        check_rows("edge_to_node", x);
        check_edges("edge_to_node", frame, receiver, x.size(0));
        const at::AutoDispatchBelowADInplaceOrView without_autograd;
        context->save_for_backward({message, receiver, frame});
        const auto back = frame.index_select(1, order_by_m(message)).transpose(1, 2);
        return message.new_zeros({x.size(0), COEFFICIENTS, message.size(2)})
            .index_add(0, receiver, at::bmm(back, message));
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const auto saved = context->get_saved_variables();
        const auto &message = saved[0], &receiver = saved[1], &frame = saved[2];
        const auto order = order_by_m(message);
        const auto slope = gradients[0].index_select(0, receiver);
        const auto d_message = at::bmm(frame.index_select(1, order), slope);
        const auto d_frame =
            at::zeros_like(frame).index_copy(1, order, at::bmm(message, slope.transpose(1, 2)));
        return {d_message, Tensor(), d_frame, Tensor()};
    }
};

Tensor node_to_edge(const Tensor& x, const Tensor& sender, const Tensor& receiver,
                    const Tensor& frame) {
    return NodeToEdge::apply(x, sender, receiver, frame);
}

Tensor edge_to_node(const Tensor& message, const Tensor& receiver, const Tensor& frame,
                    const Tensor& x) {
    return EdgeToNode::apply(message, receiver, frame, x);
}

}  // namespace

TORCH_LIBRARY(escn, library) {
    library.def("node_to_edge(Tensor x, Tensor sender, Tensor receiver, Tensor frame) -> Tensor",
                &node_to_edge);
    library.def("edge_to_node(Tensor message, Tensor receiver, Tensor frame, Tensor x) -> Tensor",
                &edge_to_node);
}
