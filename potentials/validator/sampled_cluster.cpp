// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/sampled_cluster.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

constexpr int kFarAway = -1;

/// Steps from the nearest of the first `centers` atoms to each atom, kFarAway for more than `hops`.
/// Edges are ordered by receiver.
std::vector<int> steps_from_centers(const EdgeList& edges, std::int64_t atoms, std::int64_t centers,
                                    int hops) {
    std::vector<std::int64_t> first_edge(static_cast<std::size_t>(atoms) + 1, 0);
    for (const auto receiver : edges.receiver) ++first_edge[receiver + 1];
    for (std::int64_t k = 0; k < atoms; ++k) first_edge[k + 1] += first_edge[k];

    std::vector<int> steps(static_cast<std::size_t>(atoms), kFarAway);
    std::vector<std::int64_t> front(static_cast<std::size_t>(centers));
    std::iota(front.begin(), front.end(), 0);
    for (const auto atom : front) steps[atom] = 0;
    for (int step = 1; step <= hops; ++step) {
        std::vector<std::int64_t> next;
        for (const auto atom : front)
            for (auto edge = first_edge[atom]; edge < first_edge[atom + 1]; ++edge) {
                const auto sender = edges.sender[edge];
                if (steps[sender] != kFarAway) continue;
                steps[sender] = step;
                next.push_back(sender);
            }
        front = std::move(next);
    }
    return steps;
}

void append_edge(const EdgeList& from, std::int64_t edge, const std::vector<std::int64_t>& row,
                 EdgeList& to) {
    to.receiver.push_back(row[from.receiver[edge]]);
    to.sender.push_back(row[from.sender[edge]]);
    for (int k = 0; k < 3; ++k) {
        to.vector.push_back(from.vector[3 * edge + k]);
        to.shift.push_back(from.shift[3 * edge + k]);
        to.cell_shift.push_back(from.cell_shift[3 * edge + k]);
    }
}

}  // namespace

Reach reach_of(Session& session) {
    using Kind = ExchangeEvent::Kind;
    Reach reach;
    std::int64_t exchanges = 0;
    bool reversed = false;
    for (const auto& event : session.energy_schedule()) {
        // a forward that completes a reverse is the same exchange
        if (event.kind == Kind::Reverse || (event.kind == Kind::Forward && !reversed)) ++exchanges;
        reversed = event.kind == Kind::Reverse;
        reach.sums_over_senders |= reversed;
        reach.endless |= event.kind == Kind::SystemSum;
    }
    const auto expected = session.card().expected_exchanges.value_or(0);
    reach.hops = 1 + static_cast<int>(std::max(exchanges, expected));
    return reach;
}

Cluster cut_cluster(const WholeSystem& surroundings, std::int64_t centers, double cutoff, int hops,
                    bool outermost_edges) {
    const auto edges =
        neighbor_search(surroundings.positions, surroundings.cell, surroundings.periodic, cutoff);
    const auto steps = steps_from_centers(edges, surroundings.size(), centers, hops);

    Cluster cluster;
    cluster.centers = centers;
    std::copy_n(surroundings.cell, 9, cluster.atoms.cell);
    std::copy_n(surroundings.periodic, 3, cluster.atoms.periodic);
    cluster.atoms.setup_cell = surroundings.setup_cell;
    cluster.atoms.system_inputs = surroundings.system_inputs;
    const auto columns = surroundings.atom_inputs.size() / std::max<std::size_t>(steps.size(), 1);
    std::vector<std::int64_t> row(steps.size(), -1);
    for (std::size_t atom = 0; atom < steps.size(); ++atom) {
        if (steps[atom] == kFarAway) continue;
        row[atom] = cluster.atoms.size();
        cluster.atoms.species.push_back(surroundings.species[atom]);
        if (!surroundings.charges.empty())
            cluster.atoms.charges.push_back(surroundings.charges[atom]);
        const auto& inputs = surroundings.atom_inputs;
        cluster.atoms.atom_inputs.insert(cluster.atoms.atom_inputs.end(),
                                         inputs.begin() + atom * columns,
                                         inputs.begin() + (atom + 1) * columns);
        for (int k = 0; k < 3; ++k)
            cluster.atoms.positions.push_back(surroundings.positions[3 * atom + k]);
    }
    const int last = outermost_edges ? hops : hops - 1;
    for (std::int64_t edge = 0; edge < edges.size(); ++edge) {
        const int receiver = steps[edges.receiver[edge]];
        if (receiver != kFarAway && receiver <= last && row[edges.sender[edge]] >= 0)
            append_edge(edges, edge, row, cluster.edges);
    }
    return cluster;
}

std::vector<double> energies_of_centers(Session& session, const Cluster& cluster,
                                        std::uint64_t edge_order) {
    auto energies = energies_with_edges(session, cluster.atoms, cluster.edges, edge_order);
    energies.resize(static_cast<std::size_t>(cluster.centers));
    return energies;
}

ForcesOnCenters forces_on_centers(Session& session, const Cluster& cluster,
                                  std::uint64_t edge_order) {
    auto whole = evaluate_with_edges(session, cluster.atoms, cluster.edges, edge_order);
    whole.forces.resize(static_cast<std::size_t>(3 * cluster.centers));
    return {std::move(whole.forces), whole.force_terms};
}

}  // namespace nvalchemi
