// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_MODEL_INPUTS_HPP
#define NVALCHEMI_POTENTIALS_MODEL_INPUTS_HPP

#include <string>
#include <vector>

#include "potentials/atom_graph.hpp"
#include "potentials/internal_torch.hpp"
#include "potentials/model_card.hpp"

namespace nvalchemi {

/// One value that the card binds, in the order of `input_specs()`.
struct BoundInput {
    const InputSpec* spec = nullptr;
    c10::IValue value;  ///< a tensor on the session's device, or a plain scalar (constants)
};

/// Everything that a forward call needs, before it is packed into a Dict or positional arguments.
struct ModelInputs {
    std::vector<BoundInput> bound;  ///< `inputs` of the card, then positional arguments
    torch::Tensor edge_vectors;     ///< the leaf that is differentiated, if forces: edge_vectors
    torch::Tensor positions;        ///< the leaf for forces: positions or model
    /// With forces: edge_vectors, further leaves whose card entry says requires_grad; else
    /// undefined.
    torch::Tensor position_leaf, cell_leaf;
};

/// The bound specs of a card: its `inputs`, then its positional arguments other than the Dict.
std::vector<const InputSpec*> input_specs(const ModelCard& card);

/// Make the tensors that the card asks for. A table of neighbours gets `slots` columns, as many as
/// its fullest row needs if that is 0. Throws ModelError for a role that has no source here.
ModelInputs make_model_inputs(const ModelCard& card, const AtomGraph& graph,
                              const torch::Device& device, std::int64_t slots = 0);

/// Arguments of `forward` in the card's calling convention (without the module itself).
std::vector<c10::IValue> pack_arguments(const ModelCard& card, const ModelInputs& inputs);

torch::ScalarType model_dtype(const ModelCard& card);

}  // namespace nvalchemi

#endif
