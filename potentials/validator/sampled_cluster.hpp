// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_SAMPLED_CLUSTER_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_SAMPLED_CLUSTER_HPP

#include <cstdint>
#include <vector>

#include "potentials/neighbor_search.hpp"
#include "potentials/whole_system.hpp"

namespace nvalchemi {

class Session;

/// How far the energy of an atom reaches in a model with message layers.
struct Reach {
    /// Layers: an atom's energy depends on the atoms within so many steps from neighbour to
    /// neighbour. One more than the exchanges of an energy evaluation.
    int hops = 1;
    /// The model also sums over the senders of edges: the edges of the outermost atoms count.
    bool sums_over_senders = false;
    /// The model sums over the whole system: no number of steps is enough.
    bool endless = false;
};

/// From the calls that the distributed model makes, and from the number of exchanges that the card
/// expects, whichever is larger: a spec that leaves out exchanges does not shorten the reach.
Reach reach_of(Session& session);

/// Some atoms around a few of them, and the edges that the energies of these need.
///
///     2 hops:   o---o---X---o---o   o      edges end at atoms within 1 step of an X;
///                                          the last o is not part of it
struct Cluster {
    WholeSystem atoms;  ///< the atoms in the middle come first
    EdgeList edges;
    std::int64_t centers = 1;  ///< number of atoms in the middle
};

/// What lies within `hops` steps of the first `centers` of the `surroundings`, with all edges whose
/// receiver lies within `hops - 1` (within `hops` with `outermost_edges`). Complete if the
/// surroundings hold every atom within hops * cutoff; in open directions an image is an atom of its
/// own.
Cluster cut_cluster(const WholeSystem& surroundings, std::int64_t centers, double cutoff, int hops,
                    bool outermost_edges);

/// Energies (eV) of the atoms in the middle, (centers,), by the archive as it is. `edge_order`: as
/// in evaluate_whole().
std::vector<double> energies_of_centers(Session& session, const Cluster& cluster,
                                        std::uint64_t edge_order = 0);

struct ForcesOnCenters {
    std::vector<double> forces;  ///< (centers, 3)
    double terms = 0;  ///< size of what forces in the cluster are summed from; 0: not known
};

/// Forces (eV/Angstrom): exact for a cluster of twice the hops of the energy.
ForcesOnCenters forces_on_centers(Session& session, const Cluster& cluster,
                                  std::uint64_t edge_order = 0);

}  // namespace nvalchemi

#endif
