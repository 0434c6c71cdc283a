// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/neighbor_table.hpp"

#include <algorithm>

#include "potentials/card/card_shape.hpp"
#include "potentials/model_inputs.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

using torch::Tensor;

namespace {

std::int64_t largest(const Tensor& counts) {
    return counts.numel() > 0 ? counts.max().item<std::int64_t>() : 0;
}

}  // namespace

NeighborTable::NeighborTable(const Tensor& receiver, const Tensor& sender, std::int64_t rows,
                             std::int64_t slots)
    : rows_(rows), slots_(slots), sender_(sender) {
    const auto counts = torch::bincount(receiver, {}, rows);
    const auto needed = largest(counts);
    if (slots_ == 0) slots_ = std::max<std::int64_t>(needed, 1);
    if (needed > slots_)
        throw ModelError("table of neighbours: got " + std::to_string(needed) +
                         " neighbours of an atom, expected at most " + std::to_string(slots_));
    const auto order = std::get<1>(receiver.sort(/*stable=*/true, 0, /*descending=*/false));
    const auto first = counts.cumsum(0) - counts;
    const auto rank = torch::arange(receiver.size(0), receiver.options()) -
                      first.index_select(0, receiver.index_select(0, order));
    place_ = (receiver * slots_).index_add(0, order, rank);
}

Tensor NeighborTable::senders() const {
    return torch::arange(rows_, sender_.options())
        .repeat_interleave(slots_)
        .index_copy(0, place_, sender_)
        .reshape({rows_, slots_});
}

Tensor NeighborTable::mask() const {
    return torch::zeros({rows_ * slots_}, sender_.options().dtype(torch::kBool))
        .index_fill(0, place_, true)
        .reshape({rows_, slots_});
}

Tensor NeighborTable::spread(const Tensor& entries, const Tensor& empty) const {
    return empty.expand({rows_ * slots_, empty.size(0)})
        .contiguous()
        .index_copy(0, place_, entries);
}

bool is_tabled(const InputSpec& input) {
    return input.shape && std::count(input.shape->begin(), input.shape->end(), kNeighborsDimension);
}

bool takes_neighbor_table(const ModelCard& card) {
    const auto specs = input_specs(card);
    return std::any_of(specs.begin(), specs.end(), [](const InputSpec* spec) {
        return spec->role == InputRole::NeighborMatrix || spec->role == InputRole::NeighborMask ||
               is_tabled(*spec);
    });
}

std::int64_t largest_neighbor_count(const AtomGraph& graph) {
    if (graph.n_edges == 0) return 0;
    auto options = torch::TensorOptions(torch::kInt64);
    if (graph.cuda_device >= 0)
        options = options.device(torch::kCUDA, static_cast<c10::DeviceIndex>(graph.cuda_device));
    const auto receiver = at::for_blob(const_cast<std::int64_t*>(graph.receiver), {graph.n_edges})
                              .options(options)
                              .target_device(options.device())
                              .make_tensor();
    return largest(torch::bincount(receiver));
}

}  // namespace nvalchemi
