// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <array>
#include <cmath>

#include "potentials/neighbor_search.hpp"
#include "potentials/validator/exchange_probe.hpp"
#include "potentials/validator/partition_checks.hpp"

namespace nvalchemi {

namespace {

constexpr std::size_t kShown = 10;

/// A sender with its vector in steps of 1e-6 Angstrom.
using Neighbor = std::array<std::int64_t, 4>;

struct Neighborhood {
    int times_owned = 0, rank = -1;
    std::vector<Neighbor> seen, expected;
};

Neighbor neighbor(std::int64_t sender, const double* vector) {
    Neighbor key{sender};
    for (int axis = 0; axis < 3; ++axis) key[axis + 1] = std::llround(vector[axis] * 1e6);
    return key;
}

bool close(const Neighbor& left, const Neighbor& right) {
    if (left[0] != right[0]) return false;
    for (int axis = 1; axis < 4; ++axis)
        if (std::llabs(left[axis] - right[axis]) > 1) return false;
    return true;
}

/// Same neighbours, whatever their order; rounding may order two images of one atom differently.
bool same(std::vector<Neighbor> left, std::vector<Neighbor> right) {
    if (left.size() != right.size()) return false;
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    std::vector<bool> taken(right.size(), false);
    for (const auto& one : left) {
        // images of one atom stand together; taken one by one
        auto at = static_cast<std::size_t>(
            std::lower_bound(right.begin(), right.end(), one[0],
                             [](const auto& r, std::int64_t sender) { return r[0] < sender; }) -
            right.begin());
        while (at < right.size() && right[at][0] == one[0] && (taken[at] || !close(one, right[at])))
            ++at;
        if (at == right.size() || right[at][0] != one[0]) return false;
        taken[at] = true;
    }
    return true;
}

void add_seen(const VirtualParts& parts, std::vector<Neighborhood>& atoms) {
    for (std::size_t rank = 0; rank < parts.parts.size(); ++rank) {
        const auto& part = parts.parts[rank];
        for (std::int64_t row = 0; row < part.rows.owned; ++row) {
            auto& atom = atoms[part.atom_of_row[row]];
            ++atom.times_owned;
            atom.rank = static_cast<int>(rank);
        }
        for (std::size_t edge = 0; edge < part.graph.receiver.size(); ++edge)
            atoms[part.atom_of_row[part.graph.receiver[edge]]].seen.push_back(neighbor(
                part.atom_of_row[part.graph.sender[edge]], &part.graph.edge_vector[3 * edge]));
    }
}

/// What a rank was told of its rows, against their atoms.
void count_wrong_rows(const VirtualParts& parts, RowMode mode, Completeness& result) {
    for (const auto& part : parts.parts) {
        const auto& graph = part.graph;
        for (std::size_t row = 0; row < part.atom_of_row.size(); ++row)
            result.rows_wrong +=
                graph.species[row] != parts.structure.species[part.atom_of_row[row]];
        if (mode != RowMode::Raw) continue;
        for (std::size_t edge = 0; edge < graph.receiver.size(); ++edge) {
            double largest = 0;
            for (int axis = 0; axis < 3; ++axis)
                largest =
                    std::max(largest, std::fabs(graph.position[3 * graph.sender[edge] + axis] -
                                                graph.position[3 * graph.receiver[edge] + axis] -
                                                graph.edge_vector[3 * edge + axis]));
            result.positions_wrong += !(largest < 1e-6);
        }
    }
}

}  // namespace

Completeness check_completeness(const WholeSystem& system, const ModelCard& card,
                                const VirtualParts& parts) {
    std::vector<Neighborhood> atoms(static_cast<std::size_t>(system.size()));
    const auto edges = neighbor_search(system.positions, system.cell, system.periodic, card.cutoff);
    for (std::int64_t edge = 0; edge < edges.size(); ++edge)
        atoms[edges.receiver[edge]].expected.push_back(
            neighbor(edges.sender[edge], &edges.vector[3 * edge]));
    add_seen(parts, atoms);

    Completeness result;
    count_wrong_rows(parts, card.rows, result);
    for (std::size_t atom = 0; atom < atoms.size(); ++atom) {
        const auto& found = atoms[atom];
        result.edges_seen += static_cast<std::int64_t>(found.seen.size());
        result.edges_expected += static_cast<std::int64_t>(found.expected.size());
        result.atoms_owned_otherwise += found.times_owned != 1;
        if (same(found.seen, found.expected)) continue;
        ++result.atoms_wrong;
        if (result.first.size() < kShown)
            result.first.push_back({static_cast<std::int64_t>(atom), found.rank,
                                    static_cast<std::int64_t>(found.seen.size()),
                                    static_cast<std::int64_t>(found.expected.size())});
    }
    result.complete = result.atoms_wrong == 0 && result.atoms_owned_otherwise == 0 &&
                      result.rows_wrong == 0 && result.positions_wrong == 0;
    return result;
}

PlanCheck check_plan(const VirtualParts& parts, const PartsOptions& options) {
    std::vector<HaloRowName> halo;
    std::vector<RankRows> rows;
    for (std::size_t rank = 0; rank < parts.parts.size(); ++rank) {
        const auto& part = parts.parts[rank];
        const auto total = static_cast<std::int64_t>(part.atom_of_row.size());
        for (std::int64_t row = part.rows.owned; row < total; ++row)
            halo.push_back({static_cast<std::int64_t>(rank), row, part.atom_of_row[row]});
        rows.push_back(part.rows);
    }
    const auto sums = returned_sums(halo);
    std::vector<PlanCheck> found(parts.parts.size());
    PlanCheck result;
    try {
        InMemoryGroup group(rows);
        group.run([&](int rank, HaloExchange& memory) {
            const auto wrapped =
                options.wrap_exchange ? options.wrap_exchange(rank, memory) : nullptr;
            found[rank] = probe_exchange(
                wrapped ? *wrapped : memory,
                {parts.parts[rank].atom_of_row, static_cast<std::int64_t>(parts.owners.size())},
                sums);
        });
    } catch (const std::exception& error) {
        result.failure = error.what();
    }
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
        if (!found[rank].first.empty())
            found[rank].first = "rank " + std::to_string(rank) + ": " + found[rank].first;
        add_check(result, found[rank]);
    }
    result.halo_rows = static_cast<std::int64_t>(halo.size());
    return result;
}

}  // namespace nvalchemi
