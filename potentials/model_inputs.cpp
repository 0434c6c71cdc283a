// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/model_inputs.hpp"

#include "potentials/card/card_shape.hpp"
#include "potentials/input_layout.hpp"
#include "potentials/neighbor_table.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

using torch::Tensor;

/// Copy host numbers into a tensor of the session's device and dtype.
template <typename T>
Tensor host_tensor(const T* data, at::IntArrayRef shape, torch::ScalarType source,
                   torch::ScalarType target, const torch::Device& device) {
    auto view = torch::from_blob(const_cast<T*>(data), shape, torch::TensorOptions(source));
    return view.to(torch::TensorOptions(target).device(device), /*non_blocking=*/false,
                   /*copy=*/true);
}

/// Numbers of a graph as a tensor of the session's device and dtype. A graph in the memory of that
/// device is not copied where the dtype is the same.
template <typename T>
Tensor graph_tensor(const AtomGraph& graph, const T* data, at::IntArrayRef shape,
                    torch::ScalarType source, torch::ScalarType target,
                    const torch::Device& device) {
    if (graph.cuda_device < 0 && !graph.results_stay)
        return host_tensor(data, shape, source, target, device);
    const auto where =
        graph.cuda_device < 0
            ? torch::Device(torch::kCPU)
            : torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(graph.cuda_device));
    const auto view = at::for_blob(const_cast<T*>(data), shape)
                          .options(torch::TensorOptions(source).device(where))
                          .target_device(where)
                          .make_tensor();
    return view.to(torch::TensorOptions(target).device(device));
}

/// Builds one tensor per role from a graph.
class RoleTensors {
  public:
    RoleTensors(const ModelCard& card, const AtomGraph& graph, const torch::Device& device)
        : card_(card),
          graph_(graph),
          device_(device),
          real_(model_dtype(card)),
          layout_(input_layout(card)) {}

    /// What the user gives under a name, or its default.
    Tensor given(const std::string& name) const {
        const auto& place = *layout_.find(name);
        const double* values = place.per_atom ? graph_.atom_inputs : graph_.system_inputs;
        if (values == nullptr && place.default_values.empty() && graph_.n_rows > 0)
            throw ModelError(
                "model '" + card_.name + "' takes the input " + place.title() +
                ": got none, expected a value (in LAMMPS, pair_style nvalchemi input " + name +
                " ...; in a structure, \"inputs\")");
        const auto type = place.is_integer ? torch::kInt64 : real_;
        if (values == nullptr) {
            auto defaults = place.default_values;
            defaults.resize(place.columns);  // of a rank without rows
            const auto one =
                host_tensor(defaults.data(), {place.columns}, torch::kFloat64, type, device_);
            return place.per_atom ? by_atom(one.expand({graph_.n_rows, place.columns})) : one;
        }
        if (!place.per_atom)
            return host_tensor(values + place.first, {place.columns}, torch::kFloat64, type,
                               device_);
        const auto all = reals64(values, {graph_.n_rows, layout_.atom_columns});
        return by_atom(all.narrow(1, place.first, place.columns).to(type));
    }

    Tensor integer_tensor(const std::int64_t* data, std::int64_t count) const {
        return graph_tensor(graph_, data, {count}, torch::kInt64, torch::kInt64, device_);
    }

    Tensor make(InputRole role) const {
        switch (role) {
            case InputRole::SpeciesIndex: return species_index();
            case InputRole::SpeciesOneHot: return species_one_hot();
            case InputRole::Positions: return positions();
            case InputRole::EdgeIndex: return edge_index();
            case InputRole::EdgeVectors: return oriented(edges(graph_.edge_vector));
            case InputRole::EdgeShifts: return oriented(edges(graph_.edge_shift));
            case InputRole::EdgeCellShifts: return oriented(cell_shifts());
            case InputRole::Cell:
                return host_tensor(graph_.cell, {3, 3}, torch::kFloat64, real_, device_);
            case InputRole::SetupCell:
                return host_tensor(graph_.setup_cell ? graph_.setup_cell : graph_.cell, {3, 3},
                                   torch::kFloat64, real_, device_);
            case InputRole::Charges: return charges();
            case InputRole::Batch: return torch::zeros({graph_.n_rows}, integers());
            case InputRole::BatchPointer: return integer_list({0, graph_.n_rows});
            case InputRole::NRows: return torch::full({}, graph_.n_rows, integers());
            case InputRole::NOwned: return torch::full({}, graph_.n_owned, integers());
            case InputRole::OwnedMask: return owned_mask();
            default: break;
        }
        throw ModelError("model card of '" + card_.name +
                         "': an input of this role has no tensor of its own");
    }

  private:
    torch::TensorOptions integers() const {
        return torch::TensorOptions(torch::kInt64).device(device_);
    }
    Tensor integer_list(std::vector<std::int64_t> values) const {
        return host_tensor(values.data(), {static_cast<std::int64_t>(values.size())}, torch::kInt64,
                           torch::kInt64, device_);
    }
    Tensor reals(const double* data, at::IntArrayRef shape) const {
        return graph_tensor(graph_, data, shape, torch::kFloat64, real_, device_);
    }
    Tensor reals64(const double* data, at::IntArrayRef shape) const {
        return graph_tensor(graph_, data, shape, torch::kFloat64, torch::kFloat64, device_);
    }
    /// (rows, columns), or (rows,) of one column.
    static Tensor by_atom(const Tensor& values) {
        return (values.size(1) == 1 ? values.squeeze(1) : values).contiguous();
    }
    Tensor edges(const double* data) const {
        if (data == nullptr)
            return torch::zeros({graph_.n_edges, 3}, torch::TensorOptions(real_).device(device_));
        return reals(data, {graph_.n_edges, 3});
    }
    Tensor cell_shifts() const {
        if (graph_.edge_cell_shift == nullptr) return edges(nullptr);
        return graph_tensor(graph_, graph_.edge_cell_shift, {graph_.n_edges, 3}, torch::kInt64,
                            real_, device_);
    }
    /// Vectors of the model point from row 0 to row 1 of edge_index; ours from receiver to sender.
    Tensor oriented(const Tensor& receiver_to_sender) const {
        return card_.receiver_row == 0 ? receiver_to_sender : receiver_to_sender.neg();
    }
    Tensor species_index() const {
        std::vector<std::int64_t> index(card_.species_index.begin(), card_.species_index.end());
        return integer_list(std::move(index))
            .index_select(0, integer_tensor(graph_.species, graph_.n_rows));
    }
    Tensor species_one_hot() const {
        const auto classes = static_cast<std::int64_t>(card_.species.size());
        return torch::eye(classes, torch::TensorOptions(real_).device(device_))
            .index_select(0, species_index());
    }
    Tensor positions() const {
        if (graph_.position == nullptr)
            return torch::zeros({graph_.n_rows, 3}, torch::TensorOptions(real_).device(device_));
        return reals(graph_.position, {graph_.n_rows, 3});
    }
    Tensor charges() const {
        if (graph_.charge == nullptr && graph_.n_rows > 0)
            throw ModelError(
                "model '" + card_.name +
                "' takes charges: got atoms without, expected one for each (in LAMMPS, "
                "an atom_style with charges; in a structure, \"charges\")");
        return reals(graph_.charge, {graph_.n_rows});
    }
    Tensor edge_index() const {
        const auto receiver = integer_tensor(graph_.receiver, graph_.n_edges);
        const auto sender = integer_tensor(graph_.sender, graph_.n_edges);
        return card_.receiver_row == 0 ? torch::stack({receiver, sender})
                                       : torch::stack({sender, receiver});
    }
    Tensor owned_mask() const {
        auto mask = torch::zeros({graph_.n_rows}, torch::TensorOptions(real_).device(device_));
        mask.narrow(0, 0, graph_.n_owned).fill_(1.0);
        return mask;
    }

    const ModelCard& card_;
    const AtomGraph& graph_;
    torch::Device device_;
    torch::ScalarType real_;
    InputLayout layout_;
};

bool is_given(const InputSpec& spec) {
    return spec.named.has_value() || spec.role == InputRole::TotalCharge;
}

std::vector<std::int64_t> concrete_shape(std::vector<std::int64_t> shape, const AtomGraph& graph,
                                         std::int64_t slots = 0) {
    for (auto& extent : shape) {
        if (extent == kRowsDimension) extent = graph.n_rows;
        if (extent == kEdgesDimension) extent = graph.n_edges;
        if (extent == kNeighborsDimension) extent = slots;
    }
    return shape;
}

/// What stands in an empty slot of a table: no shift, or a neighbour at the cutoff.
Tensor empty_slot(const ModelCard& card, InputRole role, const Tensor& entries) {
    auto values = torch::zeros({3}, entries.options().requires_grad(false));
    if (role == InputRole::EdgeVectors) values[0] = card.cutoff;
    return values;
}

c10::IValue constant_value(const InputSpec& spec, const ModelCard& card, const AtomGraph& graph,
                           const torch::Device& device) {
    const auto& constant = *spec.value;
    if (constant.is_scalar && !spec.shape && spec.key.empty()) {
        switch (constant.kind) {
            case ElementKind::Boolean: return constant.numbers[0] != 0;
            case ElementKind::Integer: return static_cast<std::int64_t>(constant.numbers[0]);
            case ElementKind::Floating: return constant.numbers[0];
        }
    }
    const auto dtype = constant.kind == ElementKind::Boolean   ? torch::kBool
                       : constant.kind == ElementKind::Integer ? torch::kInt64
                                                               : model_dtype(card);
    const auto shape = concrete_shape(spec.shape.value_or(constant.shape), graph);
    return host_tensor(constant.numbers.data(),
                       {static_cast<std::int64_t>(constant.numbers.size())}, torch::kFloat64, dtype,
                       device)
        .reshape(shape);
}

}  // namespace

torch::ScalarType model_dtype(const ModelCard& card) {
    return card.dtype == "float32" ? torch::kFloat32 : torch::kFloat64;
}

std::vector<const InputSpec*> input_specs(const ModelCard& card) {
    std::vector<const InputSpec*> specs;
    for (const auto& spec : card.inputs) specs.push_back(&spec);
    for (const auto& spec : card.arguments)
        if (spec.role != InputRole::Dict) specs.push_back(&spec);
    return specs;
}

ModelInputs make_model_inputs(const ModelCard& card, const AtomGraph& graph,
                              const torch::Device& device, std::int64_t slots) {
    ModelInputs inputs;
    const RoleTensors tensors(card, graph, device);
    std::optional<NeighborTable> table;
    if (takes_neighbor_table(card))
        table.emplace(tensors.integer_tensor(graph.receiver, graph.n_edges),
                      tensors.integer_tensor(graph.sender, graph.n_edges), graph.n_rows, slots);
    for (const auto* spec : input_specs(card)) {
        BoundInput bound{spec, {}};
        if (spec->role == InputRole::Constant) {
            bound.value = constant_value(*spec, card, graph, device);
            if (spec->requires_grad && bound.value.isTensor())
                bound.value.toTensor().requires_grad_(true);
        } else if (spec->role == InputRole::NeighborMatrix) {
            bound.value = table->senders();
        } else if (spec->role == InputRole::NeighborMask) {
            bound.value = table->mask().to(model_dtype(card));
        } else {
            auto tensor = !is_given(*spec)
                              ? tensors.make(spec->role)
                              : tensors.given(spec->named ? spec->named->name : kTotalChargeName);
            const bool tabled = is_tabled(*spec);
            if (spec->shape && !tabled) {
                const auto shape = concrete_shape(*spec->shape, graph);
                const bool pairs = spec->role == InputRole::EdgeIndex && shape.size() == 2 &&
                                   (*spec->shape)[0] == -2;
                tensor = pairs ? tensor.t().contiguous() : tensor.reshape(shape);
            }
            const bool differentiated =
                (spec->role == InputRole::EdgeVectors && card.forces == ForceSource::EdgeVectors) ||
                (spec->role == InputRole::Positions && card.forces != ForceSource::EdgeVectors);
            // shifts move with the cell as positions do: together they tell the virial
            const bool strained = spec->role == InputRole::EdgeShifts &&
                                  card.forces == ForceSource::Positions &&
                                  card.rows == RowMode::Folded;
            if (differentiated || strained || spec->requires_grad)
                tensor = tensor.detach().requires_grad_(true);
            // edge vectors as a list and as a table are one quantity to differentiate
            if (spec->role == InputRole::EdgeVectors && inputs.edge_vectors.defined())
                tensor = inputs.edge_vectors;
            if (spec->role == InputRole::EdgeVectors) inputs.edge_vectors = tensor;
            if (spec->role == InputRole::Positions) inputs.positions = tensor;
            // the leaf is the list of edges: an empty slot has no gradient to go anywhere
            if (tabled)
                tensor = table->spread(tensor, empty_slot(card, spec->role, tensor))
                             .reshape(concrete_shape(*spec->shape, graph, table->slots()));
            if (spec->requires_grad && card.forces == ForceSource::EdgeVectors) {
                if (spec->role == InputRole::Positions) inputs.position_leaf = tensor;
                if (spec->role == InputRole::Cell) inputs.cell_leaf = tensor;
            }
            bound.value = tensor;
        }
        inputs.bound.push_back(std::move(bound));
    }
    return inputs;
}

std::vector<c10::IValue> pack_arguments(const ModelCard& card, const ModelInputs& inputs) {
    c10::Dict<std::string, torch::Tensor> dict;
    std::size_t next = 0;
    for (; next < card.inputs.size(); ++next)
        dict.insert(inputs.bound[next].spec->key, inputs.bound[next].value.toTensor());
    if (card.forward_takes_dict) return {dict};
    std::vector<c10::IValue> arguments;
    for (const auto& spec : card.arguments)
        arguments.push_back(spec.role == InputRole::Dict ? c10::IValue(dict)
                                                         : inputs.bound[next++].value);
    return arguments;
}

}  // namespace nvalchemi
