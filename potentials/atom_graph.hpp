// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_ATOM_GRAPH_HPP
#define NVALCHEMI_POTENTIALS_ATOM_GRAPH_HPP

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nvalchemi {

/// One rank's atoms as rows `[owned | halo]` and directed edges receiver <- sender. Every edge
/// within the model's cutoff whose receiver is owned appears once; receivers are < n_owned.
/// Pointers refer to host memory of the caller, valid during the call. Lengths are in Angstrom.
struct AtomGraph {
    std::int64_t n_owned = 0;
    std::int64_t n_rows = 0;
    std::int64_t n_edges = 0;
    const std::int64_t* species = nullptr;   ///< (n_rows,) position in ModelCard::species
    const std::int64_t* receiver = nullptr;  ///< (n_edges,) row
    const std::int64_t* sender = nullptr;    ///< (n_edges,) row
    const double* edge_vector = nullptr;     ///< (n_edges, 3) x[sender] - x[receiver]
    const double* position = nullptr;        ///< (n_rows, 3); raw rows carry their image's shift
    /// (n_edges, 3) lattice translation of the edge: edge_vector = position[sender] -
    /// position[receiver] + edge_shift. nullptr: zeros (raw rows).
    const double* edge_shift = nullptr;
    const std::int64_t* edge_cell_shift = nullptr;  ///< (n_edges, 3) same in lattice vectors
    double cell[9] = {0};                           ///< rows are lattice vectors
};

/// What one rank learns from an evaluation, in eV and Angstrom, float64.
struct Evaluation {
    double energy = 0;                    ///< sum over owned rows
    std::vector<double> atomic_energies;  ///< (n_owned,)
    /// (n_edges, 3) dE/d(edge_vector), complete on this rank; for models that see edge vectors.
    std::vector<double> edge_gradients;
    /// (n_edges, 3, 3) sum over atoms k of (x_k - x_receiver)_a dU_k/d(edge_vector)_b, complete on
    /// this rank; filled on request (SessionOptions::edge_moments), empty if they are zero.
    std::vector<double> edge_moments;
    /// (n_rows, 3) -dE/dx of every row, this rank's part, halo rows included; for models that see
    /// positions or compute forces themselves.
    std::vector<double> row_forces;
    bool has_model_virial = false;
    double virial[9] = {0};  ///< the model's own -dE/dstrain, row-major, this rank's part
    /// Further declared outputs by key: per node (n_owned, width), per graph this rank's value.
    struct Extra {
        bool per_node = false;
        std::int64_t width = 1;
        std::vector<double> values;
    };
    std::map<std::string, Extra> extras;
    double seconds_model = 0;  ///< time in the model and its gradient, exchanges included
};

}  // namespace nvalchemi

#endif
