// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/consolidation.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <sstream>

#include "potentials/distribution/moment_form.hpp"
#include "potentials/energy_unit.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

using torch::Tensor;

std::vector<double> to_host(const Tensor& tensor, double factor) {
    const auto host = tensor.detach().to(torch::kCPU, torch::kFloat64).contiguous();
    std::vector<double> values(host.data_ptr<double>(), host.data_ptr<double>() + host.numel());
    if (factor != 1.0)
        for (auto& value : values) value *= factor;
    return values;
}

/// Numbers that stay on the tensor's device; `results` keeps their memory.
const double* keep(const Tensor& tensor, double factor, StayedResults& results) {
    auto values = tensor.detach().to(torch::kFloat64);
    if (factor != 1.0) values = values * factor;
    const auto kept = std::make_shared<const Tensor>(values.contiguous());
    results.memory.push_back(kept);
    return kept->numel() > 0 ? kept->const_data_ptr<double>() : nullptr;
}

std::string shape_text(const Tensor& tensor) {
    std::ostringstream text;
    text << tensor.sizes();
    return text.str();
}

[[noreturn]] void throw_shape(const ModelCard& card, const OutputSpec& spec, const Tensor& tensor,
                              const std::string& expected) {
    throw ModelError("output '" + spec.key + "' of model '" + card.name + "': got shape " +
                     shape_text(tensor) + ", expected " + expected +
                     "; correct the card's \"outputs\" or the model");
}

/// Rows of a per-node output as (rows, width); a model may return owned rows only.
Tensor node_rows(const ModelCard& card, const OutputSpec& spec, const Tensor& tensor,
                 const AtomGraph& graph) {
    const auto rows = tensor.dim() == 0 ? -1 : tensor.size(0);
    if (rows != graph.n_rows && rows != graph.n_owned)
        throw_shape(card, spec, tensor,
                    std::to_string(graph.n_rows) + " rows (owned and halo) or " +
                        std::to_string(graph.n_owned) + " (owned)");
    std::int64_t width = 1;
    for (std::int64_t dim = 1; dim < tensor.dim(); ++dim) width *= tensor.size(dim);
    return tensor.reshape({rows, width});
}

/// (n_owned,)
Tensor owned_energies(const ModelCard& card, const OutputSpec& spec, const Tensor& tensor,
                      const AtomGraph& graph) {
    const auto rows = node_rows(card, spec, tensor, graph);
    if (rows.size(1) != 1 && graph.n_rows > 0)
        throw_shape(card, spec, tensor, "one energy for each row");
    return rows.reshape({-1}).narrow(0, 0, graph.n_owned);
}

/// From the model's orientation (row 0 to row 1 of edge_index) to receiver -> sender.
double orientation(const ModelCard& card) { return card.receiver_row == 0 ? 1.0 : -1.0; }

/// (edges, 3, 3) from the gradient at several values of the factor that it depends on.
Tensor moments_of(const ModelCard& card, const MomentRequest& request, const Tensor& leaf,
                  const std::function<Tensor()>& gradient) {
    const auto vectors = leaf.detach().reshape({-1, 3}) * orientation(card);
    std::vector<Tensor> axes;
    for (int axis = 0; axis < 3; ++axis)
        axes.push_back(polynomial_derivative(request.degree, 1.0 / card.cutoff, [&](double t) {
            request.factor.copy_(1.0 - t * vectors.select(1, axis));
            return gradient().reshape({-1, 3});
        }));
    return torch::stack(axes, 1);
}

/// Zeros where the scalar does not depend on a leaf.
std::vector<Tensor> gradients_of(const Tensor& scalar, const std::vector<Tensor>& leaves) {
    auto gradients = torch::autograd::grad({scalar}, leaves, {}, /*retain_graph=*/false,
                                           /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t k = 0; k < leaves.size(); ++k)
        if (!gradients[k].defined()) gradients[k] = torch::zeros_like(leaves[k]);
    return gradients;
}

/// (3, 3) float64: -sum of leaf^T gradient over the leaves from `first` on.
Tensor strain_part(const std::vector<Tensor>& leaves, const std::vector<Tensor>& gradients,
                   std::size_t first) {
    const auto in_double = [](const Tensor& values) {
        return values.detach().to(torch::kFloat64).reshape({-1, 3});
    };
    auto virial = in_double(leaves[0].detach().new_zeros({3, 3}));
    for (auto k = first; k < leaves.size(); ++k)
        virial -= in_double(leaves[k]).t().matmul(in_double(gradients[k]));
    return virial;
}

/// The gradient of edge vectors; those of positions and cell become row forces and a virial:
/// -dE/dstrain = -(sum of r (x) g over edges + sum of x (x) g over rows + h^T dE/dh).
void differentiate_with_lattice(const ModelInputs& inputs, const Tensor& scalar,
                                ModelResults& results) {
    std::vector<Tensor> leaves{inputs.edge_vectors};
    for (const auto& leaf : {inputs.position_leaf, inputs.cell_leaf})
        if (leaf.defined()) leaves.push_back(leaf);
    const auto gradients = gradients_of(scalar, leaves);
    results.lattice_virial = strain_part(leaves, gradients, 1);
    results.gradient = gradients[0];
    if (inputs.position_leaf.defined()) results.position_gradient = gradients[1];
}

/// The gradient of positions; and where shifts are differentiated too, the virial of both:
/// -dE/dstrain for positions and shifts that move with the cell.
void differentiate_positions(const ModelInputs& inputs, const Tensor& scalar,
                             ModelResults& results) {
    std::vector<Tensor> leaves{inputs.positions};
    for (const auto& bound : inputs.bound)
        if (bound.spec->role == InputRole::EdgeShifts && bound.value.toTensor().requires_grad())
            leaves.push_back(bound.value.toTensor());
    const auto gradients = gradients_of(scalar, leaves);
    results.gradient = gradients[0];
    if (leaves.size() > 1) results.whole_virial = strain_part(leaves, gradients, 0);
}

class Consolidation {
  public:
    Consolidation(const ModelCard& card, const AtomGraph& graph)
        : card_(card), graph_(graph), factor_(ev_per_energy_unit(card)) {}

    void add(const OutputSpec& spec, const Tensor& tensor) {
        switch (spec.role) {
            case OutputRole::AtomicEnergies: return add_energies(spec, tensor);
            case OutputRole::Forces: return add_forces(spec, tensor);
            case OutputRole::Virial: return add_virial(spec, tensor, factor_);
            case OutputRole::Stress: return add_virial(spec, tensor, factor_ * volume());
            case OutputRole::Energy: return;  // the sum over owned rows is the energy
            default: return add_extra(spec, tensor);
        }
    }

    void add_gradient(const ModelResults& results) {
        if (!results.gradient.defined()) return;
        if (card_.forces == ForceSource::EdgeVectors)
            put(results.gradient.reshape({graph_.n_edges, 3}), orientation(card_) * factor_,
                result_.edge_gradients, result_.stayed.edge_gradients);
        else
            put(results.gradient.reshape({graph_.n_rows, 3}), -factor_, result_.row_forces,
                result_.stayed.row_forces);
        if (results.lattice_virial.defined()) {
            const auto values = to_host(results.lattice_virial, factor_);
            std::copy(values.begin(), values.end(), result_.lattice_virial);
            result_.has_lattice_virial = true;
        }
        if (results.whole_virial.defined()) {
            const auto values = to_host(results.whole_virial, factor_);
            std::copy(values.begin(), values.end(), result_.virial);
            result_.has_model_virial = true;
        }
        if (results.position_gradient.defined())
            put(results.position_gradient.reshape({graph_.n_rows, 3}), -factor_, result_.row_forces,
                result_.stayed.row_forces);
        if (results.moments.defined())
            put(results.moments, orientation(card_) * factor_, result_.edge_moments,
                result_.stayed.edge_moments);
    }

    Evaluation take() {
        sum_stayed_energies();
        return std::move(result_);
    }

  private:
    double volume() const {
        const double* h = graph_.cell;
        return std::abs(h[0] * (h[4] * h[8] - h[5] * h[7]) - h[1] * (h[3] * h[8] - h[5] * h[6]) +
                        h[2] * (h[3] * h[7] - h[4] * h[6]));
    }

    void add_energies(const OutputSpec& spec, const Tensor& tensor) {
        const auto owned = owned_energies(card_, spec, tensor, graph_);
        put(owned, factor_, result_.atomic_energies, result_.stayed.atomic_energies);
        if (!graph_.results_stay) return check_energies(result_.atomic_energies);
        if (graph_.wants_host_energies) result_.atomic_energies = to_host(owned, factor_);
        if (owned.is_cpu()) return check_energies(to_host(owned, factor_));
        owned_energies_ = owned.detach();
    }

    void check_energies(const std::vector<double>& energies) {
        for (std::size_t row = 0; row < energies.size(); ++row) {
            if (!std::isfinite(energies[row]))
                throw NotFiniteError(
                    "model '" + card_.name + "': the energy of owned row " + std::to_string(row) +
                        " is not finite (" + std::to_string(energies[row]) +
                        "); check for atoms on top of each other or a wrong element map",
                    static_cast<std::int64_t>(row));
            result_.energy += energies[row];
        }
    }

    /// Those of a GPU are asked for at the end, so that nobody waits for the device in between.
    void sum_stayed_energies() {
        if (!owned_energies_.defined()) return;
        result_.energy = owned_energies_.to(torch::kFloat64).sum().item<double>() * factor_;
        if (std::isfinite(result_.energy)) return;
        result_.energy = 0.0;
        check_energies(to_host(owned_energies_, factor_));
    }

    /// To the host, or kept where it is.
    void put(const Tensor& tensor, double factor, std::vector<double>& host,
             const double*& stayed) {
        if (graph_.results_stay)
            stayed = keep(tensor, factor, result_.stayed);
        else
            host = to_host(tensor, factor);
    }

    void add_forces(const OutputSpec& spec, const Tensor& tensor) {
        const auto rows = node_rows(card_, spec, tensor, graph_);
        if (rows.size(1) != 3)
            throw_shape(card_, spec, tensor, "(" + std::to_string(graph_.n_rows) + ", 3)");
        const auto missing = graph_.n_rows - rows.size(0);
        put(missing > 0 ? torch::cat({rows, rows.new_zeros({missing, 3})}) : rows, factor_,
            result_.row_forces, result_.stayed.row_forces);
    }

    void add_virial(const OutputSpec& spec, const Tensor& tensor, double factor) {
        if (tensor.numel() != 9) throw_shape(card_, spec, tensor, "nine components");
        const auto values = to_host(tensor, spec.minus_dE_dstrain ? factor : -factor);
        std::copy(values.begin(), values.end(), result_.virial);
        result_.has_model_virial = true;
    }

    /// Numbers of a row, or of the system, that the card says; what reads them goes by it.
    void check_width(const OutputSpec& spec, const Tensor& tensor, std::int64_t width) const {
        std::int64_t declared = 1;
        for (const auto extent : spec.shape)
            if (extent >= 0) declared *= extent;
        if (width == declared) return;
        std::ostringstream shape;
        for (const auto extent : spec.shape) {
            shape << (&extent == spec.shape.data() ? "(" : ",");
            extent < 0 ? shape << "rows" : shape << extent;
        }
        throw_shape(card_, spec, tensor, shape.str() + ") as the model card says");
    }

    void add_extra(const OutputSpec& spec, const Tensor& tensor) {
        Evaluation::Extra extra;
        extra.per_node = spec.kind == OutputKind::PerNode;
        if (extra.per_node) {
            const auto rows = node_rows(card_, spec, tensor, graph_);
            extra.width = rows.size(1);
            if (rows.size(0) > 0) check_width(spec, tensor, extra.width);
            extra.values = to_host(rows.narrow(0, 0, graph_.n_owned), 1.0);
        } else {
            extra.width = tensor.numel();
            check_width(spec, tensor, extra.width);
            extra.values = to_host(tensor, 1.0);
        }
        result_.extras[spec.key] = std::move(extra);
    }

    const ModelCard& card_;
    const AtomGraph& graph_;
    double factor_;
    Tensor owned_energies_;  ///< still to be added up
    Evaluation result_;
};

Tensor pick_one(const ModelCard& card, const std::string& key, const c10::IValue& returned) {
    if (returned.isTensor() && card.outputs.size() == 1) return returned.toTensor();
    if (returned.isGenericDict()) {
        const auto dict = returned.toGenericDict();
        const auto found = dict.find(key);
        if (found != dict.end() && found->value().isTensor()) return found->value().toTensor();
    }
    if (returned.isTuple() && !key.empty() && key.find_first_not_of("0123456789") == key.npos) {
        const auto& elements = returned.toTupleRef().elements();
        const auto position = std::stoul(key);
        if (position < elements.size() && elements[position].isTensor())
            return elements[position].toTensor();
    }
    throw ModelError("model '" + card.name + "': the declared output '" + key +
                     "' is not among what forward returned (a " + returned.tagKind() +
                     "); correct the card's \"outputs\"");
}

}  // namespace

std::vector<Tensor> pick_outputs(const ModelCard& card, const c10::IValue& returned) {
    std::vector<Tensor> outputs;
    for (const auto& spec : card.outputs) outputs.push_back(pick_one(card, spec.key, returned));
    return outputs;
}

ModelResults differentiate(const ModelCard& card, const AtomGraph& graph, const ModelInputs& inputs,
                           std::vector<Tensor> outputs, const Tensor& token,
                           const MomentRequest* moments) {
    ModelResults results;
    results.outputs = std::move(outputs);
    if (card.forces == ForceSource::Model) return results;
    const bool edges = card.forces == ForceSource::EdgeVectors;
    const Tensor leaf = inputs.edge_vectors;
    const auto* energies = card.find_output(OutputRole::AtomicEnergies);
    Tensor scalar =
        owned_energies(card, *energies, results.outputs[energies - card.outputs.data()], graph)
            .sum();
    if (token.defined()) scalar = scalar + token * 0;
    if (!scalar.requires_grad())
        throw ModelError("model '" + card.name + "': the energy does not depend on its input '" +
                         (edges ? "edge_vectors" : "positions") +
                         "' in a differentiable way; forces cannot be derived");
    if (!edges) {
        differentiate_positions(inputs, scalar, results);
        return results;
    }
    const auto gradient_of_leaf = [&](bool retain_graph) {
        auto gradient = torch::autograd::grad({scalar}, {leaf}, {}, retain_graph,
                                              /*create_graph=*/false, /*allow_unused=*/true)[0];
        return gradient.defined() ? gradient : torch::zeros_like(leaf);
    };
    if (inputs.position_leaf.defined() || inputs.cell_leaf.defined())
        differentiate_with_lattice(inputs, scalar, results);
    else
        results.gradient = gradient_of_leaf(moments != nullptr);
    if (moments != nullptr)
        results.moments = moments_of(card, *moments, leaf, [&] { return gradient_of_leaf(true); });
    return results;
}

Evaluation consolidate(const ModelCard& card, const AtomGraph& graph, const ModelResults& results) {
    Consolidation consolidation(card, graph);
    for (std::size_t k = 0; k < results.outputs.size(); ++k)
        consolidation.add(card.outputs[k], results.outputs[k]);
    consolidation.add_gradient(results);
    return consolidation.take();
}

Evaluation consolidate_energies(const ModelCard& card, const AtomGraph& graph,
                                const Tensor& energies) {
    Consolidation consolidation(card, graph);
    consolidation.add(*card.find_output(OutputRole::AtomicEnergies), energies);
    return consolidation.take();
}

}  // namespace nvalchemi
