// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/collective_autograd.hpp"

#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using PlainSignature = Tensor(const Tensor&);
using OrderedSignature = TensorAndToken(const Tensor&, const Tensor&);

/// Handles of one overload of the operators, in the order of Collective.
template <typename Signature>
std::array<c10::TypedOperatorHandle<Signature>, 4> find_operators(const char* overload) {
    const auto find = [overload](Collective collective) {
        const std::string name = std::string("nvalchemi_lmp::") + operator_name(collective);
        return c10::Dispatcher::singleton()
            .findSchemaOrThrow(name.c_str(), overload)
            .typed<Signature>();
    };
    return {find(Collective::HaloForward), find(Collective::HaloReverse),
            find(Collective::HaloCorrect), find(Collective::SystemSum)};
}

}  // namespace

Tensor call_operator(Collective collective, const Tensor& input) {
    static const auto operators = find_operators<PlainSignature>("");
    return operators[static_cast<std::size_t>(collective)].call(input);
}

TensorAndToken call_operator(Collective collective, const Tensor& input, const Tensor& token) {
    static const auto operators = find_operators<OrderedSignature>("ordered");
    return operators[static_cast<std::size_t>(collective)].call(input, token);
}

namespace {

/// Identifies the current exchange, for comparison only.
std::int64_t current_exchange_id() {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(current_exchange()));
}

/// A backward pass within another exchange would move other rows.
void check_exchange(const char* name, std::int64_t expected) {
    TORCH_CHECK(current_exchange_id() == expected, "nvalchemi_lmp::", name, ": got ",
                current_exchange() == nullptr ? "a backward pass on a thread without exchange"
                                              : "a backward pass with another exchange",
                ", expected the exchange of the forward pass (differentiate within the same "
                "ExchangeScope, with autograd multithreading off for CUDA graphs)");
}

bool needs_node(const Tensor& input) { return at::GradMode::is_enabled() && input.requires_grad(); }

/// One exchange in the graph. Outputs: the result and, if a token came in, the token.
class CollectiveNode : public torch::autograd::Function<CollectiveNode> {
  public:
    static variable_list forward(AutogradContext* context, const Tensor& input,
                                 const std::optional<Tensor>& token, std::int64_t collective) {
        context->saved_data["collective"] = collective;
        context->saved_data["rows"] = input.dim() > 0 ? input.size(0) : 0;
        context->saved_data["exchange"] = current_exchange_id();
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        Tensor result = apply_collective(static_cast<Collective>(collective), input);
        if (!token) return {std::move(result)};
        Tensor next_token = token->clone();
        context->save_for_backward({next_token});
        return {std::move(result), std::move(next_token)};
    }

    /// An output that nobody used arrives here with a gradient of zeros.
    static variable_list backward(AutogradContext* context, variable_list gradients) {
        const auto collective = static_cast<Collective>(context->saved_data["collective"].toInt());
        check_exchange(operator_name(collective), context->saved_data["exchange"].toInt());
        Tensor gradient;
        Tensor token_gradient;
        if (gradients.size() == 1) {
            gradient = call_operator(transpose(collective), gradients[0]);
        } else {
            std::tie(gradient, token_gradient) = call_operator(
                transpose(collective), tie_to_token(context, gradients[0]), gradients[1]);
        }
        // The forward pass widened owned rows: their gradient ends where they did.
        const std::int64_t rows = context->saved_data["rows"].toInt();
        if (collective == Collective::HaloForward && gradient.size(0) != rows) {
            gradient = gradient.narrow(0, 0, rows);
        }
        return {gradient, token_gradient, Tensor()};
    }

  private:
    /// Where the gradient will be differentiated again, it must have a node on all ranks or none.
    /// Zeros of a result that a rank did not use have none, so all hang on the token; that of the
    /// output also puts the exchanges of the second pass before this node's next backward pass.
    static Tensor tie_to_token(AutogradContext* context, const Tensor& gradient) {
        if (!at::GradMode::is_enabled()) return gradient;
        return at::add(gradient, at::mul(context->get_saved_variables().at(0), 0));
    }
};

void refuse_second_gradient(const char* name) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "nvalchemi_lmp::", name,
                ": got a gradient that is to be differentiated again, expected one that is not "
                "(such a model needs halo_forward as a whole)");
}

/// The first half of an exchange in the graph: its gradient waits for the reverse exchange that the
/// second half's gradient has started, so that autograd, which goes back in the order of the
/// forward pass, has done meanwhile what was done between the two.
class BeginNode : public torch::autograd::Function<BeginNode> {
  public:
    static constexpr const char* NAME = "halo_forward_begin";

    static variable_list forward(AutogradContext* context, const Tensor& rows,
                                 const Tensor& token) {
        context->saved_data["rows"] = rows.dim() > 0 ? rows.size(0) : 0;
        context->saved_data["exchange"] = current_exchange_id();
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        return {start_collective(Collective::HaloForward, rows), token.clone()};
    }

    static variable_list backward(AutogradContext* context, variable_list gradients) {
        check_exchange(NAME, context->saved_data["exchange"].toInt());
        refuse_second_gradient(NAME);
        finish_collective(Collective::HaloReverse, gradients[0]);
        const std::int64_t rows = context->saved_data["rows"].toInt();
        return {gradients[0].narrow(0, 0, rows), gradients[1]};
    }
};

class EndNode : public torch::autograd::Function<EndNode> {
  public:
    static constexpr const char* NAME = "halo_forward_end";

    static variable_list forward(AutogradContext* context, const Tensor& under_way,
                                 const Tensor& token) {
        context->saved_data["exchange"] = current_exchange_id();
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        finish_collective(Collective::HaloForward, under_way);
        // the same memory, but to autograd no view, which nobody could change in place
        return {under_way.detach(), token.clone()};
    }

    static variable_list backward(AutogradContext* context, variable_list gradients) {
        check_exchange(NAME, context->saved_data["exchange"].toInt());
        refuse_second_gradient(NAME);
        return {start_collective(Collective::HaloReverse, gradients[0]), gradients[1]};
    }
};

class DropHaloGradientNode : public torch::autograd::Function<DropHaloGradientNode> {
  public:
    static Tensor forward(AutogradContext* context, const Tensor& rows, std::int64_t owned) {
        context->saved_data["owned"] = owned;
        return rows.view_as(rows);
    }

    static variable_list backward(AutogradContext* context, variable_list gradients) {
        const std::int64_t owned = context->saved_data["owned"].toInt();
        const Tensor& gradient = gradients[0];
        // Zeros are assigned: a product with a mask would keep what is not a number.
        Tensor kept = at::slice_backward(gradient.narrow(0, 0, owned), gradient.sizes(), /*dim=*/0,
                                         /*start=*/0, /*end=*/owned, /*step=*/1);
        return {kept, Tensor()};
    }
};

/// This rank's part of owned_system_sum: (*), in float64.
Tensor sum_owned_rows(const Tensor& rows) {
    const char* name = "owned_system_sum";
    const RowCounts counts = check_rows(rows, /*accepts_owned_only=*/true, name);
    TORCH_CHECK(rows.scalar_type() == at::kFloat || rows.scalar_type() == at::kDouble,
                "nvalchemi_lmp::", name, ": got elements of type ", rows.scalar_type(),
                ", expected float32 or float64 (convert the tensor before the call and its result "
                "afterwards)");
    return rows.narrow(0, 0, counts.owned).sum(at::IntArrayRef{0}, /*keepdim=*/false, at::kDouble);
}

}  // namespace

void check_token(const Tensor& token, const char* operator_name) {
    TORCH_CHECK(token.dim() == 0 && token.is_floating_point(), "nvalchemi_lmp::", operator_name,
                ": got a token of shape ", token.sizes(), " and type ", token.scalar_type(),
                ", expected a floating point scalar (start with the sum of a differentiable input "
                "times 0, then pass on each exchange's token)");
}

Tensor differentiable_collective(Collective collective, const Tensor& input) {
    if (needs_node(input)) {
        return CollectiveNode::apply(input, std::nullopt, static_cast<std::int64_t>(collective))[0];
    }
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return apply_collective(collective, input);
}

TensorAndToken differentiable_collective(Collective collective, const Tensor& input,
                                         const Tensor& token) {
    check_token(token, operator_name(collective));
    if (needs_node(input)) {
        const variable_list outputs = CollectiveNode::apply(input, std::optional<Tensor>(token),
                                                            static_cast<std::int64_t>(collective));
        return {outputs[0], outputs[1]};
    }
    // Nothing to send back, but the exchanges before this one still hang on the token.
    Tensor next_token = token.clone();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return {apply_collective(collective, input), next_token};
}

TensorAndToken halo_forward_begin(const Tensor& rows, const Tensor& token) {
    check_token(token, BeginNode::NAME);
    return {start_collective(Collective::HaloForward, rows), token.clone()};
}

TensorAndToken halo_forward_end(const Tensor& under_way, const Tensor& token) {
    check_token(token, EndNode::NAME);
    finish_collective(Collective::HaloForward, under_way);
    return {under_way.detach(), token.clone()};
}

namespace {

template <typename Node, typename Plain>
TensorAndToken half_with_gradient(const Tensor& rows, const Tensor& token,
                                  Plain* without_gradient) {
    check_token(token, Node::NAME);
    if (needs_node(rows)) {
        const variable_list outputs = Node::apply(rows, token);
        return {outputs[0], outputs[1]};
    }
    Tensor next_token = token.clone();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return {std::get<0>(without_gradient(rows, token)), next_token};
}

}  // namespace

TensorAndToken differentiable_halo_forward_begin(const Tensor& rows, const Tensor& token) {
    return half_with_gradient<BeginNode>(rows, token, halo_forward_begin);
}

TensorAndToken differentiable_halo_forward_end(const Tensor& under_way, const Tensor& token) {
    return half_with_gradient<EndNode>(under_way, token, halo_forward_end);
}

Tensor owned_system_sum(const Tensor& rows) {
    return call_operator(Collective::SystemSum, sum_owned_rows(rows)).to(rows.scalar_type());
}

TensorAndToken owned_system_sum_ordered(const Tensor& rows, const Tensor& token) {
    auto [sum, next_token] = call_operator(Collective::SystemSum, sum_owned_rows(rows), token);
    return {sum.to(rows.scalar_type()), next_token};
}

Tensor drop_halo_gradient(const Tensor& rows) {
    const RowCounts counts = check_rows(rows, /*accepts_owned_only=*/true, "drop_halo_gradient");
    const bool has_halo_rows = rows.size(0) > counts.owned;
    if (!needs_node(rows) || !has_halo_rows) return rows.view_as(rows);
    return DropHaloGradientNode::apply(rows, counts.owned);
}

Tensor share(const Tensor& values) {
    const HaloExchange* exchange = current_exchange();
    return at::div(values, exchange == nullptr ? 1 : exchange->ranks());
}

}  // namespace nvalchemi
