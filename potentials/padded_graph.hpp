// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_PADDED_GRAPH_HPP
#define NVALCHEMI_POTENTIALS_PADDED_GRAPH_HPP

#include "potentials/atom_graph.hpp"
#include "potentials/capacity.hpp"
#include "potentials/internal_torch.hpp"
#include "potentials/model_card.hpp"
#include "potentials/recordable_exchange.hpp"

namespace nvalchemi {

/// A graph in arrays of fixed extents, on the device of a model: what follows the atoms are sink
/// rows, and what follows the edges are edges between pairs of them.
///
///     rows   a0 a1 a2 | s0 s1 s2 s3 ... || h0 h1 - h2 - ...
///     edges  a0<-a1 a1<-h0 ... | s0<-s1 s2<-s3 ...   those of sinks are longer than the cutoff
///
/// Sinks are owned rows, of the first species. Halo rows have places with room between them, in
/// which copies of a sink arrive (RoomyRows).
///
/// No edge joins an atom and a sink row, so to the model the sinks are atoms out of reach: energies
/// and gradients of the others do not change. What a model sums over all atoms does.
class PaddedGraph {
  public:
    PaddedGraph(const ModelCard& card, const torch::Device& device);

    /// Copy `graph` into the arrays; between ranks `exchange` says where halo rows are. True:
    /// extents changed, there or here, and so did the arrays' addresses.
    bool fill(const AtomGraph& graph, RecordableExchange* exchange = nullptr);

    /// The arrays as a graph; edge_shift, edge_cell_shift and charge only if the last graph had
    /// them, and its setup_cell.
    const AtomGraph& view() const { return view_; }

    /// `values` (rows of the arrays, *) in the order of the last graph's rows (rows, *); of owned
    /// rows alone, those of its owned rows.
    torch::Tensor rows_of_graph(const torch::Tensor& values) const;

  private:
    void resize(std::int64_t owned, std::int64_t halo, std::int64_t edges);
    void place_halo(const RoomyRows& rows);
    void spread_edges(std::int64_t first_sink, std::int64_t first_edge);

    torch::Device device_;
    torch::Tensor sink_edge_;    ///< (3,)
    torch::Tensor sink_inputs_;  ///< (columns of InputLayout,)
    torch::Tensor species_, receiver_, sender_, cell_shift_;
    torch::Tensor position_, edge_vector_, shift_, charge_, atom_inputs_;
    std::int64_t n_owned_ = 0, n_rows_ = 0;  ///< of the last graph
    std::int64_t halo_version_ = -1;         ///< that halo_places_ and places_ are for
    torch::Tensor halo_places_;              ///< (halo rows of the graph,)
    torch::Tensor places_;                   ///< (rows of the graph,)
    torch::Tensor steps_;                    ///< (edges,) 0, 1, 2 ...
    AtomGraph view_;
};

}  // namespace nvalchemi

#endif
