// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>

#include "potentials/neighbor_search.hpp"
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

namespace {

// Far above the numbers that tell rows apart, so that float32 cannot hold their sum.
constexpr double kAboveRows = 1099511627776.0;  // 2^40
constexpr double kGarbage = -1;

/// What is sent forward for an atom, and what a halo row sends back for it: both tell atoms, ranks
/// and rows apart, and sums of thousands of them are exact in float64.
double name_of_atom(std::int64_t atom) { return kAboveRows + static_cast<double>(atom + 1); }
double name_of_halo_row(std::size_t rank, std::int64_t row) {
    return kAboveRows + static_cast<double>(row + 1) + 1048576.0 * static_cast<double>(rank + 1);
}

/// As far as float32 can tell, the two are the same.
bool only_rounded(double got, double expected) {
    return expected != 0 && std::fabs(got - expected) < 1e-6 * std::fabs(expected) &&
           got == static_cast<double>(static_cast<float>(got));
}

class PlanProbe {
  public:
    PlanProbe(const VirtualParts& parts, const PartsOptions& options)
        : parts_(parts), options_(options) {
        for (std::size_t rank = 0; rank < parts.parts.size(); ++rank) {
            const auto& part = parts.parts[rank];
            const auto rows = static_cast<std::int64_t>(part.atom_of_row.size());
            for (std::int64_t row = part.rows.owned; row < rows; ++row)
                expected_[part.atom_of_row[row]] += name_of_halo_row(rank, row);
            result_.halo_rows += rows - part.rows.owned;
        }
    }

    PlanCheck run() {
        std::vector<RankRows> rows;
        for (const auto& part : parts_.parts) rows.push_back(part.rows);
        try {
            InMemoryGroup group(rows);
            group.run([&](int rank, HaloExchange& memory) {
                const auto wrapped =
                    options_.wrap_exchange ? options_.wrap_exchange(rank, memory) : nullptr;
                probe(rank, wrapped ? *wrapped : memory);
            });
        } catch (const std::exception& error) {
            result_.failure = error.what();
        }
        result_.good = result_.failure.empty() && result_.forward_wrong == 0 &&
                       result_.reverse_wrong == 0 && result_.sums_wrong == 0 &&
                       result_.rounded == 0;
        return result_;
    }

  private:
    void probe(int rank, HaloExchange& exchange) {
        const auto& part = parts_.parts[rank];
        const auto owned = part.rows.owned;
        const auto rows = static_cast<std::int64_t>(part.atom_of_row.size());
        std::vector<double> block(static_cast<std::size_t>(rows), kGarbage);
        for (std::int64_t row = 0; row < owned; ++row)
            block[row] = name_of_atom(part.atom_of_row[row]);
        exchange.forward({block.data(), rows, 1});
        for (std::int64_t row = owned; row < rows; ++row)
            compare(result_.forward_wrong, block[row], name_of_atom(part.atom_of_row[row]),
                    "rank " + std::to_string(rank) + " halo row " + std::to_string(row - owned) +
                        ": got " + atom_text(block[row]) + ", expected atom " +
                        std::to_string(part.atom_of_row[row]));
        std::fill(block.begin(), block.begin() + owned, 0.0);
        for (std::int64_t row = owned; row < rows; ++row)
            block[row] = name_of_halo_row(static_cast<std::size_t>(rank), row);
        exchange.reverse({block.data(), rows, 1});
        for (std::int64_t row = 0; row < rows; ++row) {
            const auto found = expected_.find(part.atom_of_row[row]);
            const bool receives = row < owned && found != expected_.end();
            compare(result_.reverse_wrong, block[row], receives ? found->second : 0.0,
                    "rank " + std::to_string(rank) +
                        (row < owned ? ": atom " + std::to_string(part.atom_of_row[row]) +
                                           " did not receive the sum of its halo rows"
                                     : ": a halo row was not zeroed after it was sent"));
        }
        const auto ranks = static_cast<double>(parts_.parts.size());
        double sum = rank + 1;
        exchange.system_sum({&sum, 1, 1});
        if (sum != ranks * (ranks + 1) / 2)
            note(result_.sums_wrong, "rank " + std::to_string(rank) + ": got " +
                                         std::to_string(sum) + " as the sum over ranks, expected " +
                                         std::to_string(ranks * (ranks + 1) / 2));
    }

    void compare(std::int64_t& count, double got, double expected, const std::string& text) {
        if (got == expected) return;
        if (only_rounded(got, expected))
            note(result_.rounded, "a number arrived as float32 would hold it");
        else
            note(count, text);
    }

    std::string atom_text(double value) const {
        const auto atom = std::llround(value - kAboveRows) - 1;
        const bool exists = atom >= 0 && atom < static_cast<long long>(parts_.owners.size());
        return exists ? "atom " + std::to_string(atom) : "nothing";
    }

    void note(std::int64_t& count, const std::string& text) {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++count;
        if (result_.first.empty()) result_.first = text;
    }

    const VirtualParts& parts_;
    const PartsOptions& options_;
    std::map<std::int64_t, double> expected_;
    PlanCheck result_;
    std::mutex mutex_;
};

}  // namespace

PlanCheck check_plan(const VirtualParts& parts, const PartsOptions& options) {
    return PlanProbe(parts, options).run();
}

}  // namespace nvalchemi
