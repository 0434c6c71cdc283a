// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_NEIGHBOR_TABLE_HPP
#define NVALCHEMI_POTENTIALS_NEIGHBOR_TABLE_HPP

#include "potentials/atom_graph.hpp"
#include "potentials/internal_torch.hpp"
#include "potentials/model_card.hpp"

namespace nvalchemi {

/// Edges as a table with a line of slots for each row, for models that take a neighbour matrix. The
/// edges of a receiver fill its line from the left, in the order of the list; a halo row receives
/// nothing, so that its line is empty.
class NeighborTable {
  public:
    /// `receiver` and `sender` (edges,) on one device; `slots` 0: as many as the fullest line
    /// needs. Throws ModelError if `slots` are too few.
    NeighborTable(const torch::Tensor& receiver, const torch::Tensor& sender, std::int64_t rows,
                  std::int64_t slots);

    std::int64_t slots() const { return slots_; }
    /// (rows, slots) sender of each slot; of an empty slot the row itself.
    torch::Tensor senders() const;
    /// (rows, slots) true where there is a neighbour.
    torch::Tensor mask() const;
    /// (rows * slots, width) of `entries` (edges, width), differentiable; `empty` (width,)
    /// elsewhere.
    torch::Tensor spread(const torch::Tensor& entries, const torch::Tensor& empty) const;

  private:
    std::int64_t rows_, slots_;
    torch::Tensor sender_;
    torch::Tensor place_;  ///< (edges,) row * slots + slot
};

/// Whether an input has a dimension "neighbors".
bool is_tabled(const InputSpec& input);
/// Whether an input of the card is part of a table of neighbours.
bool takes_neighbor_table(const ModelCard& card);
/// Edges of the fullest row.
std::int64_t largest_neighbor_count(const AtomGraph& graph);

}  // namespace nvalchemi

#endif
