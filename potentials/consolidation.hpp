// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_CONSOLIDATION_HPP
#define NVALCHEMI_POTENTIALS_CONSOLIDATION_HPP

#include <vector>

#include "potentials/atom_graph.hpp"
#include "potentials/internal_torch.hpp"
#include "potentials/model_card.hpp"
#include "potentials/model_inputs.hpp"

namespace nvalchemi {

/// The declared outputs of a forward call, in the order of `ModelCard::outputs`. Accepts a
/// Dict[str, Tensor], a tuple (keys "0", "1", ...) or a single tensor. Throws ModelError if a
/// declared output is missing.
std::vector<torch::Tensor> pick_outputs(const ModelCard& card, const c10::IValue& returned);

/// What the moments of edge gradients need (distribution/moment_form.hpp).
struct MomentRequest {
    torch::Tensor factor;  ///< (edges,) the tensor that scale_gradient reads, ones at first
    int degree = 0;
};

/// What a forward call and its gradient gave, on the model's device: nothing of it has been looked
/// at by the host.
struct ModelResults {
    std::vector<torch::Tensor> outputs;  ///< in the order of ModelCard::outputs
    /// Of the sum of the owned rows' energies, with respect to the leaf; undefined for models that
    /// compute forces themselves.
    torch::Tensor gradient;
    /// Where positions or the cell are further leaves (ModelInputs): the gradient of positions, and
    /// (3, 3) the part of -dE/dstrain that edges do not give, float64.
    torch::Tensor position_gradient, lattice_virial;
    torch::Tensor
        whole_virial;       ///< (3, 3) -dE/dstrain, float64, where positions and shifts tell it
    torch::Tensor moments;  ///< (edges, 3, 3) where asked for, else undefined
};

/// Differentiate the sum of the owned rows' energies where the card says so. `token` is the last
/// order token of the exchanges (or undefined): added, times zero, to the differentiated scalar so
/// that the backward exchanges happen on every rank. Throws ModelError on energies of a shape that
/// contradicts the card.
ModelResults differentiate(const ModelCard& card, const AtomGraph& graph, const ModelInputs& inputs,
                           std::vector<torch::Tensor> outputs, const torch::Tensor& token,
                           const MomentRequest* moments = nullptr);

/// Turn results into an Evaluation by role and OutputKind. Throws ModelError on shapes that
/// contradict the card and NotFiniteError on energies.
Evaluation consolidate(const ModelCard& card, const AtomGraph& graph, const ModelResults& results);

/// The energies alone: what consolidate() does with `energies`, the output of that role.
Evaluation consolidate_energies(const ModelCard& card, const AtomGraph& graph,
                                const torch::Tensor& energies);

}  // namespace nvalchemi

#endif
