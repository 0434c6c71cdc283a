// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_SAMPLE_STRUCTURE_HPP
#define NVALCHEMI_POTENTIALS_SAMPLE_STRUCTURE_HPP

#include <array>
#include <optional>
#include <vector>

#include "kernels/in_memory_exchange.hpp"
#include "potentials/atom_graph.hpp"
#include "potentials/model_card.hpp"
#include "potentials/neighbor_search.hpp"

namespace nvalchemi {

/// Arrays behind an AtomGraph.
struct GraphStorage {
    std::int64_t n_owned = 0;
    std::vector<std::int64_t> species, receiver, sender, cell_shift;
    std::vector<double> edge_vector, position, edge_shift, charge;
    std::vector<double> atom_inputs, system_inputs;  ///< as in AtomGraph; may be empty
    double cell[9] = {0};
    std::optional<std::array<double, 9>> setup_cell;
    bool has_shifts = false;

    AtomGraph view() const;
};

/// A graph with given extents and random content: for shapes, not for physics.
GraphStorage random_graph(const ModelCard& card, std::int64_t n_owned, std::int64_t n_rows,
                          std::int64_t n_edges, unsigned seed);

/// A small periodic structure, smaller than twice the cutoff, so that atoms have several images
/// and are their own neighbours.
struct SampleStructure {
    std::vector<std::int64_t> species;
    std::vector<double> positions;
    std::vector<double> charges;                     ///< may be empty
    std::vector<double> atom_inputs, system_inputs;  ///< as in WholeSystem; may be empty
    double cell[9] = {0};
    std::optional<std::array<double, 9>> setup_cell;
    EdgeList edges;
    std::int64_t size() const { return static_cast<std::int64_t>(species.size()); }
};

SampleStructure sample_structure(const ModelCard& card);

/// Six atoms without periodicity: one alone, three together, two together, the groups out of each
/// other's reach. Parts of it have 1, 2 or 3 rows.
SampleStructure sample_cluster(const ModelCard& card);

/// The same structure with its edges in reverse order: shows the rounding of sums.
SampleStructure with_reversed_edges(SampleStructure structure);

/// All of it as one process sees it: folded rows, no halo.
GraphStorage undecomposed_graph(const SampleStructure& structure);

/// One rank's part of a decomposed structure.
struct RankPart {
    GraphStorage graph;
    RankRows rows;
    std::vector<std::int64_t> atom_of_row;   ///< (n_rows,)
    std::vector<std::int64_t> edge_of_edge;  ///< position in SampleStructure::edges
};

/// Split by `rank_of_atom` into `ranks` parts, with the rows that the card and its spec ask for.
std::vector<RankPart> decompose(const SampleStructure& structure, const ModelCard& card,
                                const std::vector<int>& rank_of_atom, int ranks);

}  // namespace nvalchemi

#endif
