// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/padded_graph.hpp"

#include "potentials/input_layout.hpp"

namespace nvalchemi {

namespace {

using torch::Tensor;

/// The least number of sink rows: a receiver and a sender.
constexpr std::int64_t SINKS = 2;

/// In no special direction, in which spherical harmonics might have no derivative.
Tensor longer_than(double cutoff) {
    const auto direction = torch::tensor({0.61, 0.53, 0.47}, torch::kFloat64);
    return direction * (1.01 * cutoff / direction.norm().item<double>());
}

/// The caller's numbers, (count, ...) of `like`.
template <typename T>
Tensor given(const T* data, std::int64_t count, const Tensor& like, int cuda_device) {
    auto shape = like.sizes().vec();
    shape[0] = count;
    const auto where =
        cuda_device < 0 ? torch::Device(torch::kCPU)
                        : torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(cuda_device));
    return at::for_blob(const_cast<T*>(data), shape)
        .options(like.options().device(where))
        .target_device(where)
        .make_tensor();
}

/// `data` to the first places of `array`.
template <typename T>
void put(const Tensor& array, const T* data, std::int64_t count, int cuda_device) {
    if (count > 0) array.narrow(0, 0, count).copy_(given(data, count, array, cuda_device));
}

/// The same, and `rest` to the places that follow.
template <typename T>
void put(const Tensor& array, const T* data, std::int64_t count, int cuda_device,
         const Tensor& rest) {
    put(array, data, count, cuda_device);
    array.narrow(0, count, array.size(0) - count).copy_(rest);
}

}  // namespace

PaddedGraph::PaddedGraph(const ModelCard& card, const torch::Device& device)
    : device_(device),
      sink_edge_(longer_than(card.cutoff).to(device)),
      // what the model can work with: zero may be no value of an input
      sink_inputs_(torch::tensor(sample_atom_inputs(card, 1), torch::kFloat64).to(device)) {}

void PaddedGraph::resize(std::int64_t owned, std::int64_t halo, std::int64_t edges) {
    const auto rows = owned + halo;
    const auto integers = torch::TensorOptions(torch::kInt64).device(device_);
    const auto reals = torch::TensorOptions(torch::kFloat64).device(device_);
    species_ = torch::zeros({rows}, integers);
    receiver_ = torch::zeros({edges}, integers);
    sender_ = torch::zeros({edges}, integers);
    cell_shift_ = torch::zeros({edges, 3}, integers);
    position_ = torch::zeros({rows, 3}, reals);
    edge_vector_ = torch::zeros({edges, 3}, reals);
    shift_ = torch::zeros({edges, 3}, reals);
    charge_ = torch::zeros({rows}, reals);
    atom_inputs_ = sink_inputs_.expand({rows, sink_inputs_.size(0)}).clone();
    steps_ = torch::arange(edges, integers);
    halo_version_ = -1;
    view_.n_owned = owned;
    view_.n_rows = rows;
    view_.n_edges = edges;
    view_.species = species_.const_data_ptr<std::int64_t>();
    view_.receiver = receiver_.const_data_ptr<std::int64_t>();
    view_.sender = sender_.const_data_ptr<std::int64_t>();
    view_.edge_vector = edge_vector_.const_data_ptr<double>();
    view_.position = position_.const_data_ptr<double>();
    view_.results_stay = true;
    view_.cuda_device = device_.is_cuda() ? device_.index() : -1;
}

/// Sums into one row by many threads would wait for each other: all pairs of sinks take part, in
/// the order of receivers that all other edges have, which operators may ask for.
void PaddedGraph::spread_edges(std::int64_t first_sink, std::int64_t first_edge) {
    const auto count = view_.n_edges - first_edge;
    if (count == 0) return;
    const auto pairs = (view_.n_owned - first_sink) / 2;
    const auto turns = (steps_.narrow(0, 0, count) * pairs).div(count, "floor");
    const auto receivers = turns * 2 + first_sink;
    receiver_.narrow(0, first_edge, count).copy_(receivers);
    sender_.narrow(0, first_edge, count).copy_(receivers + 1);
}

void PaddedGraph::place_halo(const RoomyRows& rows) {
    if (halo_version_ == rows.version && places_.size(0) == n_rows_) return;
    halo_places_ = torch::tensor(rows.places, torch::kInt64).add_(view_.n_owned).to(device_);
    places_ = torch::cat({torch::arange(n_owned_, species_.options()), halo_places_});
    halo_version_ = rows.version;
}

torch::Tensor PaddedGraph::rows_of_graph(const torch::Tensor& values) const {
    if (n_rows_ == n_owned_ || values.size(0) < view_.n_rows) return values.narrow(0, 0, n_owned_);
    return values.index_select(0, places_);
}

bool PaddedGraph::fill(const AtomGraph& graph, RecordableExchange* exchange) {
    const auto owned = capacity_for(graph.n_owned + SINKS, view_.n_owned);
    const auto edges = capacity_for(graph.n_edges, view_.n_edges);
    bool changed = exchange != nullptr && exchange->fit(owned, graph.n_owned);
    const auto halo = exchange ? exchange->roomy_rows().halo_rows : 0;
    if (owned != view_.n_owned || owned + halo != view_.n_rows || edges != view_.n_edges) {
        changed = true;
        resize(owned, halo, edges);
    }
    n_owned_ = graph.n_owned;
    n_rows_ = graph.n_rows;
    if (exchange) place_halo(exchange->roomy_rows());

    const auto zero = torch::zeros({}, position_.options());
    const int from = graph.cuda_device;
    const auto n = graph.n_owned, n_halo = graph.n_rows - graph.n_owned;
    const auto put_rows = [&](const Tensor& array, const auto* data, const Tensor& rest) {
        put(array, data, n, from, rest);
        if (n_halo == 0) return;
        const auto width = array.numel() / array.size(0);
        array.index_copy_(0, halo_places_,
                          given(data + n * width, n_halo, array, from).to(device_));
    };
    put_rows(species_, graph.species, zero);
    put(receiver_, graph.receiver, graph.n_edges, from);
    put(sender_, graph.sender, graph.n_edges, from);
    if (n_halo > 0) {
        const auto senders = sender_.narrow(0, 0, graph.n_edges);
        senders.copy_(places_.index_select(0, senders));
    }
    spread_edges(n, graph.n_edges);
    put(edge_vector_, graph.edge_vector, graph.n_edges, from, sink_edge_);
    if (graph.position != nullptr) put_rows(position_, graph.position, zero);
    position_.slice(0, n + 1, owned, 2).copy_(sink_edge_);
    if (graph.edge_shift != nullptr) put(shift_, graph.edge_shift, graph.n_edges, from, zero);
    if (graph.edge_cell_shift != nullptr)
        put(cell_shift_, graph.edge_cell_shift, graph.n_edges, from, zero);
    if (graph.charge != nullptr) put_rows(charge_, graph.charge, zero);
    if (graph.atom_inputs != nullptr) put_rows(atom_inputs_, graph.atom_inputs, sink_inputs_);
    view_.atom_inputs = graph.atom_inputs ? atom_inputs_.const_data_ptr<double>() : nullptr;
    view_.system_inputs = graph.system_inputs;
    view_.charge = graph.charge ? charge_.const_data_ptr<double>() : nullptr;
    view_.setup_cell = graph.setup_cell;
    view_.edge_shift = graph.edge_shift ? shift_.const_data_ptr<double>() : nullptr;
    view_.edge_cell_shift =
        graph.edge_cell_shift ? cell_shift_.const_data_ptr<std::int64_t>() : nullptr;
    std::copy_n(graph.cell, 9, view_.cell);
    return changed;
}

}  // namespace nvalchemi
