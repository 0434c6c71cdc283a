// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_ATOM_GRAPH_HPP
#define NVALCHEMI_POTENTIALS_ATOM_GRAPH_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nvalchemi {

/// One rank's atoms as rows `[owned | halo]` and directed edges receiver <- sender. Every edge
/// within the model's cutoff whose receiver is owned appears once; receivers are < n_owned.
/// Pointers refer to memory of the caller, valid during the call: the host's, or that of the GPU
/// `cuda_device`. Lengths are in Angstrom.
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
    const double* charge = nullptr;                 ///< (n_rows,) in e; nullptr: atoms have none
    /// What the user gives, in the columns of InputLayout: (n_rows, atom_columns), and
    /// (system_columns,), the latter always in host memory. nullptr: the card's defaults.
    const double* atom_inputs = nullptr;
    const double* system_inputs = nullptr;
    double cell[9] = {0};  ///< rows are lattice vectors; always host memory
    /// (9,) host memory: the cell that the number of wave vectors or of mesh points follows, which
    /// stays the same between re-neighbourings. nullptr: `cell`.
    const double* setup_cell = nullptr;

    int cuda_device = -1;  ///< where the pointers above refer to; -1: host memory
    /// The cudaStream_t that orders work on that memory; the evaluation's work goes there too.
    /// nullptr: the device's default stream.
    void* cuda_stream = nullptr;
    /// Leave results where the model runs (Evaluation::stayed), which is where the pointers refer
    /// to. Otherwise they are copied to the host.
    bool results_stay = false;
    /// With `results_stay`: copy the atomic energies to the host all the same.
    bool wants_host_energies = false;
};

/// Where results are; shapes as in Evaluation. nullptr: not given, or without elements.
struct ResultPointers {
    const double* atomic_energies = nullptr;
    const double* edge_gradients = nullptr;
    const double* edge_moments = nullptr;
    const double* row_forces = nullptr;
};

/// Results in the memory of the model's device.
struct StayedResults : ResultPointers {
    std::vector<std::shared_ptr<const void>> memory;  ///< keeps what the pointers refer to
};

/// What one rank learns from an evaluation, in eV and Angstrom, float64. With
/// AtomGraph::results_stay the vectors over rows and edges are empty and `stayed` is filled.
struct Evaluation {
    double energy = 0;                    ///< sum over owned rows
    std::vector<double> atomic_energies;  ///< (n_owned,)
    /// (n_edges, 3) dE/d(edge_vector), complete on this rank; for models that see edge vectors.
    std::vector<double> edge_gradients;
    /// (n_edges, 3, 3) sum over atoms k of (x_k - x_receiver)_a dU_k/d(edge_vector)_b, complete on
    /// this rank; filled on request (SessionOptions::edge_moments), empty if they are zero.
    std::vector<double> edge_moments;
    /// (n_rows, 3) -dE/dx of every row, this rank's part, halo rows included; for models that see
    /// positions or compute forces themselves. With edge gradients too, forces are the sum of both.
    std::vector<double> row_forces;
    StayedResults stayed;
    bool has_model_virial = false;
    double virial[9] = {0};  ///< the model's own -dE/dstrain, row-major, this rank's part
    /// For models of edge vectors that see positions or the cell as well: what these add to the
    /// virial of the edges, row-major, this rank's part.
    bool has_lattice_virial = false;
    double lattice_virial[9] = {0};
    /// Further declared outputs by key: per node (n_owned, width), per graph this rank's value.
    struct Extra {
        bool per_node = false;
        std::int64_t width = 1;
        std::vector<double> values;
    };
    std::map<std::string, Extra> extras;
    bool replayed = false;     ///< by a CUDA graph, without a call to the exchange
    double seconds_model = 0;  ///< time in the model and its gradient, exchanges included
    /// Of these, until all work for the model's device was launched.
    double seconds_launching = 0;

    bool gives_row_forces() const { return !row_forces.empty() || stayed.row_forces != nullptr; }
};

/// Results where they stayed, or on the host.
inline ResultPointers results_of(const Evaluation& evaluation) {
    if (!evaluation.stayed.memory.empty()) return evaluation.stayed;
    const auto begin = [](const std::vector<double>& values) {
        return values.empty() ? nullptr : values.data();
    };
    return {begin(evaluation.atomic_energies), begin(evaluation.edge_gradients),
            begin(evaluation.edge_moments), begin(evaluation.row_forces)};
}

}  // namespace nvalchemi

#endif
