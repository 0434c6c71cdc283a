// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_WHOLE_SYSTEM_HPP
#define NVALCHEMI_POTENTIALS_WHOLE_SYSTEM_HPP

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "potentials/atom_graph.hpp"

namespace nvalchemi {

class Session;
struct EdgeList;

/// All atoms of a system in one process, in Angstrom.
struct WholeSystem {
    std::vector<std::int64_t> species;  ///< (n,) position in ModelCard::species
    std::vector<double> positions;      ///< (n, 3); may lie outside of the cell
    std::vector<double> charges;        ///< (n,) in e; empty: atoms have none
    /// (n, atom_columns) and (system_columns,) of InputLayout; empty: the card's defaults.
    std::vector<double> atom_inputs, system_inputs;
    double cell[9] = {0};                             ///< rows are lattice vectors
    std::optional<std::array<double, 9>> setup_cell;  ///< see AtomGraph; none: `cell`
    bool periodic[3] = {true, true, true};

    std::int64_t size() const { return static_cast<std::int64_t>(species.size()); }
    double volume() const;
};

/// A declared output other than energies, forces and virial, in the units of the model: per node
/// (n, width); of the system (width,), or (ranks, width) where the values of several ranks are
/// together.
using ExtraOutput = Evaluation::Extra;
using ExtraOutputs = std::map<std::string, ExtraOutput>;  ///< by key

/// What the archive as it is says about a whole system, in eV and Angstrom, float64.
struct WholeEvaluation {
    double energy = 0;
    std::vector<double> atomic_energies;  ///< (n,)
    std::vector<double> forces;           ///< (n, 3)
    bool has_virial = false;
    double virial[9] = {0};  ///< -dE/dstrain, row-major
    /// (n, 6) half of each edge's virial to either end, xx, yy, zz, xy, xz, yz; empty for models
    /// that give no edge gradients.
    std::vector<double> atomic_virials;
    /// Sizes of the terms that forces and virial are summed from, which bound their rounding:
    /// the largest, over atoms, of the root of the sum of |g_e|^2, and the root of the sum of
    /// |r_e|^2 |g_e|^2. Zero for models that give no edge gradients.
    double force_terms = 0;
    double virial_terms = 0;
    double atomic_virial_terms = 0;  ///< as force_terms, of |r_e| |g_e| / 2
    ExtraOutputs extras;             ///< further declared outputs, per node (n, width)
};

/// Evaluate the archive without the distribution pass, one row an atom, with the independent
/// neighbor_search(). `edge_order`: 0 keeps the edges in order; other values shuffle them and round
/// their vectors otherwise: the result changes by rounding only. Not collective. Throws ModelError.
WholeEvaluation evaluate_whole(Session& session, const WholeSystem& system,
                               std::uint64_t edge_order = 0);

/// The same with given edges, for a part of a system whose outermost atoms need none.
WholeEvaluation evaluate_with_edges(Session& session, const WholeSystem& system,
                                    const EdgeList& edges, std::uint64_t edge_order = 0);

/// Its atomic energies (n,) in eV alone, which cost less.
std::vector<double> energies_with_edges(Session& session, const WholeSystem& system,
                                        const EdgeList& edges, std::uint64_t edge_order = 0);

}  // namespace nvalchemi

#endif
