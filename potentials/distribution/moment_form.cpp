// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/moment_form.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

using torch::Tensor;

class ScaleGradientNode : public torch::autograd::Function<ScaleGradientNode> {
  public:
    static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& rows,
                          const Tensor& factor) {
        // saved_data keeps the tensor itself: save_for_backward would object to a later change
        context->saved_data["factor"] = factor;
        return rows.view_as(rows);
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list gradients) {
        const Tensor factor = context->saved_data["factor"].toTensor();
        const auto& gradient = gradients[0];
        if (!gradient.defined() || factor.numel() == 0) return {gradient, Tensor()};
        std::vector<std::int64_t> shape(gradient.dim(), 1);
        shape[0] = gradient.size(0);
        return {gradient * factor.reshape(shape), Tensor()};
    }
};

Instruction scale_instruction(const Instruction& gather, Slot result, Slot scaled, Slot factor) {
    Instruction scale;
    scale.name = "scale_gradient";
    scale.source = gather.source;
    scale.module = gather.module;
    scale.run = [](torch::jit::Stack& stack) {
        const auto with = torch::jit::pop(stack).toTensor();
        const auto rows = torch::jit::pop(stack).toTensor();
        torch::jit::push(stack, scale_gradient(rows, with));
    };
    scale.inputs = {Operand::of_slot(result), Operand::of_slot(factor)};
    scale.outputs = {scaled};
    return scale;
}

void refuse_other_models(const TracedProgram& traced) {
    for (std::size_t at = 0; at < traced.effects.size(); ++at)
        if (traced.effects[at].differentiates || traced.effects[at].makes_replicated ||
            traced.program.code[at].name == "nvalchemi_lmp::halo_correct")
            throw ModelError("centroid virials: " + describe(traced.program.code[at]) +
                             ": they are known only for models whose energy is differentiated with "
                             "respect to edge vectors and that gather by sender alone; use "
                             "'centroid no'");
}

}  // namespace

Tensor scale_gradient(const Tensor& rows, const Tensor& factor) {
    return ScaleGradientNode::apply(rows, factor);
}

int scale_sender_gathers(TracedProgram& traced) {
    refuse_other_models(traced);
    traced.program.gradient_factor = traced.program.slot_count++;
    traced.facts.emplace_back();
    traced.alias_set.push_back(-1);
    int gathers = 0;
    for (std::size_t at = 0; at < traced.program.code.size(); ++at) {
        const auto& reads = traced.effects[at].reads_any_row;
        const bool carries_gradient = std::any_of(reads.begin(), reads.end(), [&](Slot slot) {
            return traced.facts[slot].differentiable;
        });
        if (!carries_gradient) continue;
        const Slot result = traced.program.code[at].outputs[0];
        if (traced.facts[result].dims.empty() || traced.facts[result].dims[0] != Dim{SPACE_EDGE, 1})
            throw ModelError("centroid virials: " + describe(traced.program.code[at]) +
                             ": it gathers over a selection of edges, expected the edges as given; "
                             "use 'centroid no'");
        const Slot scaled = traced.program.slot_count++;
        traced.facts.push_back(traced.facts[result]);
        traced.alias_set.push_back(traced.alias_set[result]);
        for (std::size_t later = at + 1; later < traced.program.code.size(); ++later)
            for (auto& input : traced.program.code[later].inputs)
                input.for_each_slot([&](Slot& slot) {
                    if (slot == result) slot = scaled;
                });
        traced.program.code.insert(traced.program.code.begin() + at + 1,
                                   scale_instruction(traced.program.code[at], result, scaled,
                                                     traced.program.gradient_factor));
        traced.effects.insert(traced.effects.begin() + at + 1, Effect{});
        ++gathers;
        ++at;
    }
    traced.program.compute_releases();
    return gathers;
}

Tensor polynomial_derivative(int degree, double scale, const std::function<Tensor(double)>& value) {
    // central differences of 2 m points are exact up to degree 2 m:
    // f'(0) = sum_k c_k (f(k h) - f(-k h)) / h, c_k = (-1)^(k+1) (m!)^2 / (k (m - k)! (m + k)!)
    const int m = std::max(1, (degree + 1) / 2);
    const double h = scale / m;
    Tensor sum;
    for (int k = 1; k <= m; ++k) {
        double coefficient = (k % 2 == 1 ? 1.0 : -1.0) / k;
        for (int j = 1; j <= k; ++j) coefficient *= double(m - k + j) / double(m + j);
        const Tensor term = (value(k * h) - value(-k * h)) * (coefficient / h);
        sum = sum.defined() ? sum + term : term;
    }
    return sum;
}

}  // namespace nvalchemi
