// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_PADDED_GRAPH_HPP
#define NVALCHEMI_POTENTIALS_PADDED_GRAPH_HPP

#include "potentials/atom_graph.hpp"
#include "potentials/internal_torch.hpp"
#include "potentials/model_card.hpp"

namespace nvalchemi {

/// A graph without halo rows in arrays of fixed extents, on the device of a model: what follows the
/// atoms are sink rows, and what follows the edges are edges between pairs of them.
///
///     rows   a0 a1 a2 | s0 s1 s2 s3 ...       all are owned rows, of the first species
///     edges  a0<-a1 ... | s0<-s1 s2<-s3 ...   longer than the cutoff
///
/// No edge joins an atom and a sink row, so to the model the sinks are atoms out of reach: energies
/// and gradients of the others do not change. What a model sums over all atoms does.
class PaddedGraph {
  public:
    PaddedGraph(const ModelCard& card, const torch::Device& device);

    /// Copy `graph` into the arrays. True: extents changed, and so did the arrays' addresses.
    bool fill(const AtomGraph& graph);

    /// The arrays as a graph; edge_shift, edge_cell_shift and charge only if the last graph had
    /// them, and its setup_cell.
    const AtomGraph& view() const { return view_; }

  private:
    void resize(std::int64_t rows, std::int64_t edges);
    void spread_edges(std::int64_t first_sink, std::int64_t first_edge);

    torch::Device device_;
    torch::Tensor sink_edge_;  ///< (3,)
    torch::Tensor species_, receiver_, sender_, cell_shift_;
    torch::Tensor position_, edge_vector_, shift_, charge_;
    std::int64_t first_sink_ = -1;  ///< that turns_ is for
    torch::Tensor turns_;           ///< (edges,) a sink's receiver for each edge, dealt out in turn
    AtomGraph view_;
};

/// Extent of an array for `count` elements that now has `present`: some more when it must grow or
/// is much too large, else the same, so that counts that go up and down do not change it.
std::int64_t capacity_for(std::int64_t count, std::int64_t present);

}  // namespace nvalchemi

#endif
