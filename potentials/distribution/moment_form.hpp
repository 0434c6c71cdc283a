// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_MOMENT_FORM_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_MOMENT_FORM_HPP

#include <functional>
#include <vector>

#include "potentials/distribution/placement.hpp"

namespace nvalchemi {

// The heat flux of a network with several message layers needs, for each edge e with receiver i,
//     m_e,a = sum_k (x_k - x_i)_a dU_k/dr_e,
// which no function of the gradient g_e = sum_k dU_k/dr_e gives. But m_e,a is d/dt g_e(t) at t = 0
// if the cotangent that crosses each gather by sender, along an edge e', is multiplied by
// (1 - t r_e',a) in the backward pass: the product over a path adds up the path's vectors. g_e(t)
// is a polynomial in t whose degree is the number of such gathers, so a few points give its
// derivative exactly. Derivation: W_j = sum_k (x_k - x_j) (x) dU_k/dx_j, split over edges.

/// The rows as they are; the gradient is multiplied by `factor` (edges,), read when the gradient is
/// made, so that it may be changed between two passes. An empty factor means 1.
torch::Tensor scale_gradient(const torch::Tensor& rows, const torch::Tensor& factor);

/// Put scale_gradient behind every differentiable gather by sender. Returns their number: the
/// degree of g_e(t). Throws ModelError for a model whose gathers are not over the edges as given,
/// which sums over senders, or which differentiates inside.
int scale_sender_gathers(TracedProgram& traced);

/// The derivative at 0 of a polynomial of at most `degree`, from its values at points of size up
/// to about `scale`. `value(t)` returns a tensor.
torch::Tensor polynomial_derivative(int degree, double scale,
                                    const std::function<torch::Tensor(double)>& value);

}  // namespace nvalchemi

#endif
