// SPDX-License-Identifier: GPL-2.0-only
// One small model on parts of small structures, against the same model undecomposed; for tests.
#ifndef NVALCHEMI_UNITTEST_POTENTIALS_PARTS_COMPARISON_HPP
#define NVALCHEMI_UNITTEST_POTENTIALS_PARTS_COMPARISON_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "potentials/sample_structure.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

/// A structure with a name for messages.
struct NamedStructure {
    std::string name;
    SampleStructure structure;
};

/// Atoms at `points` (in Angstrom, not periodic) that see each other within 5 Angstrom.
inline SampleStructure open_structure(const std::vector<std::array<double, 3>>& points) {
    SampleStructure structure;
    for (std::size_t atom = 0; atom < points.size(); ++atom) {
        structure.species.push_back(static_cast<std::int64_t>(atom % 3));
        structure.positions.insert(structure.positions.end(), points[atom].begin(),
                                   points[atom].end());
    }
    for (int axis = 0; axis < 3; ++axis) structure.cell[4 * axis] = 100.0;
    const bool open[3] = {false, false, false};
    structure.edges = neighbor_search(structure.positions, structure.cell, open, 5.0);
    return structure;
}

/// Structures whose counts of rows, edges, systems (1) and features (1, 3, 4) collide.
inline std::vector<NamedStructure> colliding_structures() {
    return {
        // 1 row, no edge: rows = systems = 1
        {"one atom", open_structure({{0, 0, 0}})},
        // 2 rows, 2 edges
        {"a pair", open_structure({{0, 0, 0}, {2.1, 0.3, 0.7}})},
        // 3 rows, 4 edges = width
        {"a chain of three", open_structure({{0, 0, 0}, {3.6, 0.2, 0}, {7.1, -0.4, 0.9}})},
        // 4 rows = 4 edges = width
        {"two pairs", open_structure({{0, 0, 0}, {30, 0, 0}, {2.2, 0.5, 0.1}, {31.7, 1.3, 0.4}})},
        // split in two: each rank has 2 owned + 2 halo rows = 4 edges = width
        {"a ring of four",
         open_structure({{0, 0, 0}, {3.9, 0.1, 0.3}, {4.1, 3.8, -0.2}, {-0.2, 4.0, 0.1}})},
    };
}

/// The colliding structures, a cluster with an atom that is alone, and for folded rows a periodic
/// one in which atoms have several images and are their own neighbours.
inline std::vector<NamedStructure> test_structures(const ModelCard& card) {
    auto structures = colliding_structures();
    structures.push_back({"a cluster", sample_cluster(card)});
    if (card.rows == RowMode::Folded)
        structures.push_back({"a periodic cell", sample_structure(card)});
    return structures;
}

/// Unequal parts. With `leave_one_empty` the first rank owns nothing if there are two or more.
inline std::vector<int> unequal_ranks(std::int64_t atoms, int ranks, bool leave_one_empty) {
    const int first = leave_one_empty && ranks > 1 ? 1 : 0;
    std::vector<int> rank_of_atom;
    for (std::int64_t atom = 0; atom < atoms; ++atom) {
        // 0, 1, 1, 2, 2, 2, ...
        const auto part = static_cast<int>((std::sqrt(8.0 * double(atom) + 1) - 1) / 2);
        rank_of_atom.push_back(first + part % (ranks - first));
    }
    return rank_of_atom;
}

/// What an evaluation says of a whole structure.
struct WholeNumbers {
    std::vector<double> energies;        ///< (n + 1,) of each atom, and of all
    std::vector<double> edge_gradients;  ///< (n_edges, 3), empty for models of positions
    std::vector<double> forces;          ///< (n, 3), of models that do not see edge vectors alone
};

inline WholeNumbers undecomposed(Session& session, const SampleStructure& structure) {
    const auto found = session.evaluate_undecomposed(undecomposed_graph(structure).view());
    WholeNumbers numbers{found.atomic_energies, found.edge_gradients, found.row_forces};
    numbers.energies.push_back(found.energy);
    return numbers;
}

inline std::vector<RankRows> rows_of(const std::vector<RankPart>& parts) {
    std::vector<RankRows> rows;
    for (const auto& part : parts) rows.push_back(part.rows);
    return rows;
}

inline WholeNumbers in_parts(Session& session, const SampleStructure& structure,
                             const std::vector<RankPart>& parts) {
    WholeNumbers sum{std::vector<double>(structure.size() + 1),
                     std::vector<double>(3 * structure.edges.size()),
                     std::vector<double>(3 * structure.size())};
    InMemoryGroup group(rows_of(parts));
    std::mutex mutex;
    group.run([&](int rank, HaloExchange& exchange) {
        const auto& part = parts[rank];
        const auto found = session.evaluate(part.graph.view(), exchange);
        const std::lock_guard<std::mutex> lock(mutex);
        sum.energies.back() += found.energy;
        for (std::int64_t row = 0; row < part.rows.owned; ++row)
            sum.energies[part.atom_of_row[row]] += found.atomic_energies[row];
        for (std::size_t k = 0; k < found.edge_gradients.size(); ++k)
            sum.edge_gradients[3 * part.edge_of_edge[k / 3] + k % 3] += found.edge_gradients[k];
        for (std::size_t k = 0; k < found.row_forces.size(); ++k)
            sum.forces[3 * part.atom_of_row[k / 3] + k % 3] += found.row_forces[k];
    });
    return sum;
}

inline WholeNumbers in_parts(Session& session, const SampleStructure& structure, int ranks,
                             bool leave_one_empty) {
    return in_parts(session, structure,
                    decompose(structure, session.card(),
                              unequal_ranks(structure.size(), ranks, leave_one_empty), ranks));
}

/// Largest difference relative to the largest value; infinite if one is no number.
inline double relative_difference(const std::vector<double>& left,
                                  const std::vector<double>& right) {
    double difference = 0, largest = 0;
    for (std::size_t k = 0; k < right.size(); ++k) {
        const double here = std::abs(left[k] - right[k]);
        if (!std::isfinite(here)) return std::numeric_limits<double>::infinity();
        difference = std::max(difference, here);
        largest = std::max(largest, std::abs(right[k]));
    }
    return difference == 0 ? 0 : difference / std::max(largest, 1e-3);
}

inline double relative_difference(const WholeNumbers& left, const WholeNumbers& right) {
    return std::max({relative_difference(left.energies, right.energies),
                     relative_difference(left.edge_gradients, right.edge_gradients),
                     relative_difference(left.forces, right.forces)});
}

/// The largest difference between parts and whole, and where it was found.
struct PartsDifference {
    double relative = 0;
    std::string where;

    void add(double other, const std::string& place) {
        if (other <= relative) return;
        relative = other;
        where = place;
    }
};

/// 1 to 4 ranks, unequal parts, with and without a rank that owns nothing.
inline PartsDifference difference_in_parts(Session& session,
                                           const std::vector<NamedStructure>& structures) {
    PartsDifference largest;
    for (const auto& [name, structure] : structures) {
        const auto whole = undecomposed(session, structure);
        for (int ranks = 1; ranks <= 4; ++ranks)
            for (const bool leave_one_empty : {false, true})
                largest.add(relative_difference(
                                in_parts(session, structure, ranks, leave_one_empty), whole),
                            name + " on " + std::to_string(ranks) + " ranks");
    }
    return largest;
}

}  // namespace nvalchemi

#endif
