// SPDX-License-Identifier: GPL-2.0-only
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/edge_sums.hpp"
#include "kernels/ewald.hpp"

namespace nvalchemi {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr const char* kRealEnergies = "ewald_real_energies";

/// By torch's operators, which can be differentiated again.
at::Tensor composed(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                    const at::Tensor& charges, double alpha) {
    const auto receiver = edge_index.select(0, 0), sender = edge_index.select(0, 1);
    const auto r = edge_vectors.square().sum(1).sqrt();
    const auto pair = 0.5 * (alpha * r).erfc() / r * charges.index_select(0, receiver) *
                      charges.index_select(0, sender);
    return pair.new_zeros({charges.size(0)}).index_add(0, receiver, pair);
}

/// Call `work` with edges and formula. `charges` are kept alive meanwhile.
template <typename Work>
auto with_formula(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                  const at::Tensor& charges, double alpha, const Work& work) {
    const c10::OptionalDeviceGuard device(edge_vectors.device());
    const auto edges = contiguous_edges(kRealEnergies, edge_vectors, edge_index, charges.size(0));
    const auto row = contiguous_like(kRealEnergies, "charges", charges, edge_vectors);
    return AT_DISPATCH_FLOATING_TYPES(row.scalar_type(), kRealEnergies, [&] {
        return work(edges, edge_formulas::ScreenedCharges<scalar_t>{row.const_data_ptr<scalar_t>(),
                                                                    static_cast<scalar_t>(alpha)});
    });
}

class RealEnergies : public torch::autograd::Function<RealEnergies> {
  public:
    static at::Tensor forward(AutogradContext* context, const at::Tensor& edge_vectors,
                              const at::Tensor& charges, const at::Tensor& edge_index,
                              double alpha) {
        const at::AutoDispatchBelowADInplaceOrView below;
        context->save_for_backward({edge_vectors, charges, edge_index});
        context->saved_data["alpha"] = alpha;
        return with_formula(edge_vectors, edge_index, charges, alpha,
                            [&](const auto& edges, const auto& formula) {
                                return sum_of_edges(edges, formula, charges.size(0));
                            });
    }

    static variable_list backward(AutogradContext* context, const variable_list& grads) {
        const auto saved = context->get_saved_variables();
        const auto &vectors = saved[0], &charges = saved[1], &index = saved[2];
        const double alpha = context->saved_data["alpha"].toDouble();
        const bool of_vectors = context->needs_input_grad(0);
        const bool of_charges = context->needs_input_grad(1);
        if (at::GradMode::is_enabled())
            return by_autograd(vectors, charges, index, alpha, grads[0], of_vectors, of_charges);
        const auto found = with_formula(
            vectors, index, charges, alpha, [&](const auto& edges, const auto& formula) {
                return gradients_of_edges(edges, formula, grads[0], of_vectors, of_charges);
            });
        return {found.vectors, found.rows, {}, {}};
    }

  private:
    /// Gradients that have gradients.
    static variable_list by_autograd(const at::Tensor& vectors, const at::Tensor& charges,
                                     const at::Tensor& index, double alpha, const at::Tensor& grad,
                                     bool of_vectors, bool of_charges) {
        variable_list inputs;
        if (of_vectors) inputs.push_back(vectors);
        if (of_charges) inputs.push_back(charges);
        auto found = torch::autograd::grad({composed(vectors, index, charges, alpha)}, inputs,
                                           {grad}, /*retain_graph=*/true, /*create_graph=*/true);
        variable_list result(4);
        if (of_charges) result[1] = found.back();
        if (of_vectors) result[0] = found.front();
        return result;
    }
};

}  // namespace

at::Tensor ewald_real_energies(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                               const at::Tensor& charges, double alpha) {
    TORCH_CHECK(edge_vectors.dim() == 2 && edge_vectors.size(1) == 3, kRealEnergies,
                ": got edge_vectors of shape ", edge_vectors.sizes(), ", expected (edges, 3)");
    TORCH_CHECK(edge_index.dim() == 2 && edge_index.size(0) == 2 &&
                    edge_index.size(1) == edge_vectors.size(0),
                kRealEnergies, ": got edge_index of shape ", edge_index.sizes(), ", expected (2, ",
                edge_vectors.size(0), ")");
    TORCH_CHECK(charges.dim() == 1, kRealEnergies, ": got charges of shape ", charges.sizes(),
                ", expected (rows)");
    const auto dtype = edge_vectors.scalar_type();
    const bool fused = (edge_vectors.is_cpu() || edge_vectors.is_cuda()) &&
                       (dtype == at::kFloat || dtype == at::kDouble) &&
                       charges.scalar_type() == dtype && edge_index.scalar_type() == at::kLong;
    if (!fused) return composed(edge_vectors, edge_index, charges, alpha);
    return RealEnergies::apply(edge_vectors, charges, edge_index, alpha);
}

}  // namespace nvalchemi
