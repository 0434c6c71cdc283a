// SPDX-License-Identifier: GPL-2.0-only
// The moment form against its definition: for an open cluster that moves with velocities v,
//     sum_j W_j v_j = sum_k x_k dU_k/dt + sum_j x_j (F_j . v_j),
// the right side by finite differences of the per-atom energies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "potentials/sample_structure.hpp"
#include "potentials/session.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {

namespace {

using Vector = std::array<double, 3>;

std::string layers(int count) {
    std::string body;
    for (int layer = 0; layer < count; ++layer)
        body +=
            "    h = h + torch.tanh(torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m))\n";
    return scripted_archive(message_network(body));
}

SessionOptions with_moments() {
    SessionOptions options;
    options.path = "network.pt";
    options.device = "cpu";
    options.card_text = scripted_card();
    options.card_path = "network.card.json";
    options.edge_moments = true;
    return options;
}

SampleStructure moved(SampleStructure cluster, double time) {
    const bool open[3] = {false, false, false};
    for (std::size_t k = 0; k < cluster.positions.size(); ++k)
        cluster.positions[k] += time * std::cos(3.1 * double(k) + 0.4);
    cluster.edges = neighbor_search(cluster.positions, cluster.cell, open, 5.0);
    return cluster;
}

double velocity(std::size_t component) { return std::cos(3.1 * double(component) + 0.4); }

Evaluation evaluate(Session& session, const SampleStructure& cluster) {
    SerialExchange exchange(cluster.size());
    return session.evaluate(undecomposed_graph(cluster).view(), exchange, true);
}

/// sum_j W_j v_j from gradients and moments of edges.
Vector flux(const SampleStructure& cluster, const Evaluation& evaluation) {
    Vector sum{};
    for (std::int64_t edge = 0; edge < cluster.edges.size(); ++edge)
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b) {
                const double moment = evaluation.edge_moments.empty()
                                          ? 0.0
                                          : evaluation.edge_moments[9 * edge + 3 * a + b];
                const double r_g =
                    cluster.edges.vector[3 * edge + a] * evaluation.edge_gradients[3 * edge + b];
                sum[a] += (moment - r_g) * velocity(3 * cluster.edges.sender[edge] + b) -
                          moment * velocity(3 * cluster.edges.receiver[edge] + b);
            }
    return sum;
}

Vector definition(Session& session, const SampleStructure& cluster) {
    const double h = 1e-4;
    std::vector<double> rate(cluster.size(), 0.0);
    for (const auto& [step, weight] : {std::pair{1, 8.0}, {-1, -8.0}, {2, -1.0}, {-2, 1.0}}) {
        const auto energies = evaluate(session, moved(cluster, step * h)).atomic_energies;
        for (std::size_t k = 0; k < rate.size(); ++k) rate[k] += weight * energies[k] / (12 * h);
    }
    Vector sum{};
    for (std::size_t k = 0; k < rate.size(); ++k)
        for (int a = 0; a < 3; ++a) sum[a] += cluster.positions[3 * k + a] * rate[k];
    const auto evaluation = evaluate(session, cluster);
    for (std::int64_t edge = 0; edge < cluster.edges.size(); ++edge)
        for (int b = 0; b < 3; ++b) {
            const double g = evaluation.edge_gradients[3 * edge + b];
            const auto i = cluster.edges.receiver[edge], j = cluster.edges.sender[edge];
            for (int a = 0; a < 3; ++a)
                sum[a] += cluster.positions[3 * i + a] * g * velocity(3 * i + b) -
                          cluster.positions[3 * j + a] * g * velocity(3 * j + b);
        }
    return sum;
}

void expect_same(const Vector& left, const Vector& right, double relative) {
    double largest = 0;
    for (const double value : right) largest = std::max(largest, std::abs(value));
    for (int a = 0; a < 3; ++a) EXPECT_NEAR(left[a], right[a], relative * largest) << "axis " << a;
}

}  // namespace

class HeatFlux : public ::testing::TestWithParam<int> {};

TEST_P(HeatFlux, IsTheRateOfChangeOfTheEnergyMoment) {
    Session session(layers(GetParam()), with_moments());
    const auto cluster = moved(sample_structure(session.card()), 0.0);

    const auto measured = flux(cluster, evaluate(session, cluster));

    expect_same(measured, definition(session, cluster), 1e-8);
}

INSTANTIATE_TEST_SUITE_P(Layers, HeatFlux, ::testing::Values(1, 2, 3, 4, 5));

TEST(HeatFluxControl, WithoutMomentsThreeLayersAreWrong) {
    Session session(layers(3), with_moments());
    const auto cluster = moved(sample_structure(session.card()), 0.0);
    auto evaluation = evaluate(session, cluster);
    evaluation.edge_moments.clear();

    const auto wrong = flux(cluster, evaluation), right = definition(session, cluster);

    double difference = 0, largest = 0;
    for (int a = 0; a < 3; ++a) {
        difference = std::max(difference, std::abs(wrong[a] - right[a]));
        largest = std::max(largest, std::abs(right[a]));
    }
    EXPECT_GT(difference, 0.01 * largest);
}

TEST(EdgeMoments, AreTheSameInThreeParts) {
    Session session(layers(3), with_moments());
    const auto structure = sample_structure(session.card());
    const auto whole = evaluate(session, structure);
    std::vector<int> rank_of_atom(structure.size());
    for (std::size_t atom = 0; atom < rank_of_atom.size(); ++atom) rank_of_atom[atom] = atom % 3;
    const auto parts = decompose(structure, session.card(), rank_of_atom, 3);
    std::vector<RankRows> rows;
    for (const auto& part : parts) rows.push_back(part.rows);
    InMemoryGroup group(rows);
    std::vector<double> moments(9 * structure.edges.size(), 0.0);
    std::mutex mutex;

    group.run([&](int rank, HaloExchange& exchange) {
        const auto part = session.evaluate(parts[rank].graph.view(), exchange, true);
        const std::lock_guard<std::mutex> lock(mutex);
        for (std::size_t k = 0; k < part.edge_moments.size(); ++k)
            moments[9 * parts[rank].edge_of_edge[k / 9] + k % 9] += part.edge_moments[k];
    });

    double largest = 0;
    for (const double moment : whole.edge_moments) largest = std::max(largest, std::abs(moment));
    EXPECT_GT(largest, 0.0);
    for (std::size_t k = 0; k < moments.size(); ++k)
        ASSERT_NEAR(moments[k], whole.edge_moments[k], 1e-10 * largest);
    EXPECT_EQ(group.events(1), session.schedule(true));
}

}  // namespace nvalchemi
