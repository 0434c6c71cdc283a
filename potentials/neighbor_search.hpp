// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_NEIGHBOR_SEARCH_HPP
#define NVALCHEMI_POTENTIALS_NEIGHBOR_SEARCH_HPP

#include <cstdint>
#include <vector>

namespace nvalchemi {

/// Directed edges of a periodic or open system: edge e goes from sender[e] to receiver[e],
/// vector[e] = x[sender] + shift - x[receiver], |vector| < cutoff. Each pair of atoms (image)
/// appears once in each direction; an atom is never its own neighbour at zero shift.
struct EdgeList {
    std::vector<std::int64_t> receiver, sender;
    std::vector<double> vector;            ///< (n, 3)
    std::vector<std::int64_t> cell_shift;  ///< (n, 3) integer lattice translation of the sender
    std::vector<double> shift;             ///< (n, 3) the same, Cartesian
    std::int64_t size() const { return static_cast<std::int64_t>(receiver.size()); }
};

/// Search all images within `cutoff`. `positions` (n, 3), `cell` rows are lattice vectors (ignored
/// along non-periodic directions), any triclinic shape, any cutoff relative to the cell, atoms may
/// lie outside the cell. Independent of LAMMPS's neighbour lists. Edges are ordered by receiver.
EdgeList neighbor_search(const std::vector<double>& positions, const double cell[9],
                         const bool periodic[3], double cutoff);

}  // namespace nvalchemi

#endif
