// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/sample_structure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "potentials/input_layout.hpp"

namespace nvalchemi {

namespace {

std::int64_t pick_species(const ModelCard& card, std::int64_t atom) {
    // three species at most: the first, the middle and the last of the card
    const auto count = static_cast<std::int64_t>(card.species.size());
    const std::array<std::int64_t, 3> choice{0, count / 2, count - 1};
    return choice[atom % 3];
}

/// A length within which structures have edges: the cutoff or, of a large one, less. A part of the
/// model may see no edges beyond it, such as a network to which a dispersion energy is added.
double near_length(const ModelCard& card) {
    constexpr double COMMON = 5.0;    // Angstrom
    constexpr double MOST_SHARE = 4;  // limits the neighbours within the cutoff
    return std::min(card.cutoff, std::max(COMMON, card.cutoff / MOST_SHARE));
}

/// Charges that do not add up to zero.
double pick_charge(std::int64_t atom) {
    constexpr std::array<double, 5> choice{0.8, -1.1, 0.5, -0.4, 0.7};
    return choice[atom % 5];
}

/// Halo rows of one rank, made as they are asked for.
class HaloRows {
  public:
    HaloRows(const SampleStructure& structure, RowMode mode, RankPart& part)
        : structure_(structure), mode_(mode), part_(part) {}

    /// The row of the image that an edge leads to.
    std::int64_t row_of(std::int64_t edge, int owner_rank, std::int64_t owner_row, int own_rank) {
        const auto atom = structure_.edges.sender[edge];
        if (mode_ == RowMode::Folded) return row_of_atom(atom, owner_rank, owner_row, own_rank);
        std::array<std::int64_t, 3> shift;
        std::copy_n(&structure_.edges.cell_shift[3 * edge], 3, shift.begin());
        return row_of_image(atom, shift, &structure_.edges.shift[3 * edge], owner_rank, owner_row,
                            own_rank);
    }

    std::int64_t row_of_atom(std::int64_t atom, int owner_rank, std::int64_t owner_row,
                             int own_rank) {
        const double nowhere[3] = {0, 0, 0};
        return row_of_image(atom, {0, 0, 0}, nowhere, owner_rank, owner_row, own_rank);
    }

  private:
    std::int64_t row_of_image(std::int64_t atom, const std::array<std::int64_t, 3>& shift,
                              const double* translation, int owner_rank, std::int64_t owner_row,
                              int own_rank) {
        const bool moved = shift != std::array<std::int64_t, 3>{0, 0, 0};
        if (owner_rank == own_rank && !moved) return owner_row;
        const auto next = static_cast<std::int64_t>(part_.atom_of_row.size());
        const auto [found, is_new] = rows_.emplace(std::make_pair(atom, shift), next);
        if (is_new) {
            part_.atom_of_row.push_back(atom);
            part_.rows.halo.push_back({owner_rank, owner_row});
            for (int axis = 0; axis < 3; ++axis)
                part_.graph.position.push_back(structure_.positions[3 * atom + axis] +
                                               translation[axis]);
        }
        return found->second;
    }

    const SampleStructure& structure_;
    RowMode mode_;
    RankPart& part_;
    std::map<std::pair<std::int64_t, std::array<std::int64_t, 3>>, std::int64_t> rows_;
};

}  // namespace

AtomGraph GraphStorage::view() const {
    AtomGraph graph;
    graph.n_owned = n_owned;
    graph.n_rows = static_cast<std::int64_t>(species.size());
    graph.n_edges = static_cast<std::int64_t>(receiver.size());
    graph.species = species.data();
    graph.receiver = receiver.data();
    graph.sender = sender.data();
    graph.edge_vector = edge_vector.data();
    graph.position = position.data();
    if (!charge.empty()) graph.charge = charge.data();
    if (!atom_inputs.empty()) graph.atom_inputs = atom_inputs.data();
    if (!system_inputs.empty()) graph.system_inputs = system_inputs.data();
    if (setup_cell) graph.setup_cell = setup_cell->data();
    graph.edge_shift = has_shifts ? edge_shift.data() : nullptr;
    graph.edge_cell_shift = has_shifts ? cell_shift.data() : nullptr;
    std::copy_n(cell, 9, graph.cell);
    return graph;
}

GraphStorage random_graph(const ModelCard& card, std::int64_t n_owned, std::int64_t n_rows,
                          std::int64_t n_edges, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.3, 0.98);
    GraphStorage graph;
    graph.n_owned = n_owned;
    graph.atom_inputs = sample_atom_inputs(card, n_rows);
    graph.system_inputs = sample_system_inputs(card);
    for (int axis = 0; axis < 3; ++axis) graph.cell[4 * axis] = 3 * card.cutoff;
    for (std::int64_t row = 0; row < n_rows; ++row) {
        graph.species.push_back(pick_species(card, row));
        graph.charge.push_back(pick_charge(row));
        for (int axis = 0; axis < 3; ++axis) graph.position.push_back(card.cutoff * normal(random));
    }
    for (std::int64_t edge = 0; edge < n_edges; ++edge) {
        graph.receiver.push_back(edge < n_owned ? edge : random() % n_owned);
        graph.sender.push_back(random() % n_rows);
        double vector[3], length = 0;
        for (auto& component : vector) {
            component = normal(random);
            length += component * component;
        }
        const double reach = edge % 2 == 0 ? near_length(card) : card.cutoff;
        const double scale = reach * uniform(random) / std::sqrt(length);
        for (const auto component : vector) graph.edge_vector.push_back(scale * component);
    }
    return graph;
}

SampleStructure sample_structure(const ModelCard& card) {
    // 14 of the 27 sites of a 3 x 3 x 3 grid in a box of 1.3 cutoffs, if these are not large: about
    // 27 neighbours an atom
    constexpr int ATOMS = 14;
    constexpr double BOX = 1.3;
    std::mt19937 random(2026);
    std::uniform_real_distribution<double> shake(-0.05, 0.05);
    SampleStructure structure;
    const double length = BOX * near_length(card);
    const double cell[9] = {length,        0,           0, 0.1 * length, length, 0, -0.07 * length,
                            0.05 * length, 1.1 * length};
    std::copy_n(cell, 9, structure.cell);
    for (int atom = 0; atom < ATOMS; ++atom) {
        const int site = (atom * 2) % 27;
        const double fraction[3] = {(site % 3) / 3.0 + shake(random),
                                    (site / 3 % 3) / 3.0 + shake(random),
                                    (site / 9) / 3.0 + shake(random)};
        for (int axis = 0; axis < 3; ++axis)
            structure.positions.push_back(fraction[0] * cell[axis] + fraction[1] * cell[3 + axis] +
                                          fraction[2] * cell[6 + axis]);
        structure.species.push_back(pick_species(card, atom));
        structure.charges.push_back(pick_charge(atom));
    }
    structure.atom_inputs = sample_atom_inputs(card, ATOMS);
    structure.system_inputs = sample_system_inputs(card);
    const bool periodic[3] = {true, true, true};
    structure.edges = neighbor_search(structure.positions, structure.cell, periodic, card.cutoff);
    return structure;
}

SampleStructure sample_cluster(const ModelCard& card) {
    // centres of groups in cutoffs, distances within a group in the length that has edges
    const double centres[6][3] = {{0.0, 0.0, 0.0}, {5.0, 0.0, 0.0}, {5.0, 0.0, 0.0},
                                  {5.0, 0.0, 0.0}, {0.0, 5.0, 0.0}, {0.0, 5.0, 0.0}};
    const double offsets[6][3] = {{0.0, 0.0, 0.0}, {0.0, 0.1, 0.0}, {0.4, 0.3, 0.1},
                                  {0.1, 0.5, 0.3}, {0.2, 0.0, 0.0}, {0.5, 0.2, 0.3}};
    SampleStructure structure;
    for (int atom = 0; atom < 6; ++atom) {
        structure.species.push_back(pick_species(card, atom));
        structure.charges.push_back(pick_charge(atom));
        for (int axis = 0; axis < 3; ++axis)
            structure.positions.push_back(centres[atom][axis] * card.cutoff +
                                          offsets[atom][axis] * near_length(card));
    }
    structure.atom_inputs = sample_atom_inputs(card, 6);
    structure.system_inputs = sample_system_inputs(card);
    for (int axis = 0; axis < 3; ++axis) structure.cell[4 * axis] = 7 * card.cutoff;
    const bool open[3] = {false, false, false};
    structure.edges = neighbor_search(structure.positions, structure.cell, open, card.cutoff);
    return structure;
}

SampleStructure with_reversed_edges(SampleStructure structure) {
    auto& edges = structure.edges;
    std::reverse(edges.receiver.begin(), edges.receiver.end());
    std::reverse(edges.sender.begin(), edges.sender.end());
    const auto reverse_triples = [](auto& values) {
        std::reverse(values.begin(), values.end());
        for (std::size_t k = 0; k + 2 < values.size(); k += 3) std::swap(values[k], values[k + 2]);
    };
    reverse_triples(edges.vector);
    reverse_triples(edges.shift);
    reverse_triples(edges.cell_shift);
    return structure;
}

GraphStorage undecomposed_graph(const SampleStructure& structure) {
    GraphStorage graph;
    graph.n_owned = structure.size();
    graph.species = structure.species;
    graph.position = structure.positions;
    graph.charge = structure.charges;
    graph.atom_inputs = structure.atom_inputs;
    graph.system_inputs = structure.system_inputs;
    graph.setup_cell = structure.setup_cell;
    graph.receiver = structure.edges.receiver;
    graph.sender = structure.edges.sender;
    graph.edge_vector = structure.edges.vector;
    graph.edge_shift = structure.edges.shift;
    graph.cell_shift = structure.edges.cell_shift;
    graph.has_shifts = true;
    std::copy_n(structure.cell, 9, graph.cell);
    return graph;
}

std::vector<RankPart> decompose(const SampleStructure& structure, const ModelCard& card,
                                const std::vector<int>& rank_of_atom, int ranks) {
    const bool all_rows = card.distribution().distribution.policy.kind == PolicyKind::GraphParallel;
    std::vector<RankPart> parts(ranks);
    std::vector<std::int64_t> row_of_atom(structure.size());
    for (std::int64_t atom = 0; atom < structure.size(); ++atom) {
        auto& part = parts[rank_of_atom[atom]];
        row_of_atom[atom] = part.rows.owned++;
        part.atom_of_row.push_back(atom);
        part.graph.position.insert(part.graph.position.end(), &structure.positions[3 * atom],
                                   &structure.positions[3 * atom] + 3);
    }
    for (int rank = 0; rank < ranks; ++rank) {
        auto& part = parts[rank];
        HaloRows halo(structure, card.rows, part);
        if (all_rows)
            for (std::int64_t atom = 0; atom < structure.size(); ++atom)
                halo.row_of_atom(atom, rank_of_atom[atom], row_of_atom[atom], rank);
        for (std::int64_t edge = 0; edge < structure.edges.size(); ++edge) {
            const auto receiver = structure.edges.receiver[edge];
            if (rank_of_atom[receiver] != rank) continue;
            const auto sender = structure.edges.sender[edge];
            part.graph.receiver.push_back(row_of_atom[receiver]);
            part.graph.sender.push_back(
                halo.row_of(edge, rank_of_atom[sender], row_of_atom[sender], rank));
            part.graph.edge_vector.insert(part.graph.edge_vector.end(),
                                          &structure.edges.vector[3 * edge],
                                          &structure.edges.vector[3 * edge] + 3);
            if (card.rows == RowMode::Folded) {
                const auto& edges = structure.edges;
                part.graph.edge_shift.insert(part.graph.edge_shift.end(), &edges.shift[3 * edge],
                                             &edges.shift[3 * edge] + 3);
                part.graph.cell_shift.insert(part.graph.cell_shift.end(),
                                             &edges.cell_shift[3 * edge],
                                             &edges.cell_shift[3 * edge] + 3);
            }
            part.edge_of_edge.push_back(edge);
        }
        part.graph.n_owned = part.rows.owned;
        part.graph.has_shifts = card.rows == RowMode::Folded;
        for (const auto atom : part.atom_of_row)
            part.graph.species.push_back(structure.species[atom]);
        for (const auto atom : part.atom_of_row)
            if (!structure.charges.empty()) part.graph.charge.push_back(structure.charges[atom]);
        const auto columns =
            structure.atom_inputs.size() / std::max<std::size_t>(structure.species.size(), 1);
        for (const auto atom : part.atom_of_row)
            part.graph.atom_inputs.insert(part.graph.atom_inputs.end(),
                                          structure.atom_inputs.begin() + atom * columns,
                                          structure.atom_inputs.begin() + (atom + 1) * columns);
        part.graph.system_inputs = structure.system_inputs;
        part.graph.setup_cell = structure.setup_cell;
        std::copy_n(structure.cell, 9, part.graph.cell);
    }
    return parts;
}

}  // namespace nvalchemi
