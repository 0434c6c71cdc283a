// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "potentials/sample_structure.hpp"
#include "potentials/session.hpp"
#include "potentials/validator/sampled_choice.hpp"
#include "potentials/validator/sampled_cluster.hpp"
#include "potentials/validator/sampled_slope.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {
namespace {

const std::string kLayer = "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";
// the aggregate goes to the sender of each edge
const std::string kSenderLayer =
    "    h = h + torch.tanh(torch.zeros_like(h).index_add(0, j, (h[i] @ self.w) * m))\n";

std::unique_ptr<Session> network(const std::string& body, const std::string& more_of_card = "") {
    SessionOptions options;
    options.path = "network.pt";
    options.device = "cpu";
    options.card_text = scripted_card("", more_of_card);
    options.card_path = "network.card.json";
    options.self_test = false;
    return std::make_unique<Session>(scripted_archive(message_network(body)), options);
}

Session& two_layers() {
    static const auto session = network(kLayer + kLayer);
    return *session;
}

/// Atoms along a line, with small displacements, so that each sees its next neighbours only.
WholeSystem chain(std::int64_t atoms) {
    WholeSystem system;
    std::mt19937 random(3);
    std::uniform_real_distribution<double> shift(-0.2, 0.2);
    for (std::int64_t k = 0; k < atoms; ++k) {
        system.species.push_back(k % 3);
        // the middle first: 0, 1, -1, 2, -2 ...
        const double place =
            k % 2 == 1 ? static_cast<double>((k + 1) / 2) : -static_cast<double>(k / 2);
        system.positions.insert(system.positions.end(),
                                {3.5 * place + shift(random), shift(random), shift(random)});
    }
    for (int k = 0; k < 3; ++k) {
        system.cell[4 * k] = 100;
        system.periodic[k] = false;
    }
    return system;
}

std::vector<Stratum> three_strata() {
    return {{2, {0, 1, 2, 3}}, {5, {3, 4}}, {kInterior, {5, 6, 7, 8, 9}}};
}

std::vector<std::uint64_t> keys(std::int64_t rows, std::uint64_t seed) {
    std::vector<std::uint64_t> key;
    for (std::int64_t row = 0; row < rows; ++row) key.push_back(spread(seed, 0, row));
    return key;
}

// --- the choice ---

TEST(ChooseSample, TakesDistinctRowsAndOneOfEachStratumFirst) {
    const auto strata = three_strata();
    const auto choice = choose_sample(strata, keys(10, 1), 2);

    EXPECT_EQ(std::set<std::int64_t>(choice.rows.begin(), choice.rows.end()).size(),
              choice.rows.size());
    for (const auto& stratum : strata) {
        const auto is_first = [&](std::int64_t row) {
            return std::count(stratum.rows.begin(), stratum.rows.end(), row) > 0;
        };
        EXPECT_TRUE(std::any_of(choice.rows.begin(), choice.rows.begin() + 3, is_first));
    }
}

TEST(ChooseSample, DrawsTheCountOfEachStratumOrAllOfIt) {
    const auto choice = choose_sample(three_strata(), keys(10, 1), 3);

    ASSERT_EQ(choice.strata.size(), 3U);
    EXPECT_EQ(choice.strata[0].drawn.size(), 3U);
    EXPECT_EQ(choice.strata[1].drawn.size(), 2U);
    EXPECT_EQ(choice.strata[1].rows, 2);
    EXPECT_EQ(choice.strata[2].drawn.size(), 3U);
    EXPECT_EQ(choose_sample(three_strata(), keys(10, 1), 100).rows.size(), 10U);
}

TEST(ChooseSample, DrawsRowsOfAStratumAsOftenWhereverElseTheyAre) {
    // row 3 belongs to two strata
    std::map<std::int64_t, int> times;
    for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
        const auto choice = choose_sample(three_strata(), keys(10, seed), 1);
        for (const auto row : choice.strata[0].drawn) ++times[row];
    }

    for (std::int64_t row = 0; row < 4; ++row) EXPECT_NEAR(times[row], 1000, 120);
}

TEST(ChooseSample, DependsOnKeysAndNotOnTheOrderOfRows) {
    auto turned = three_strata();
    for (auto& stratum : turned) std::reverse(stratum.rows.begin(), stratum.rows.end());

    const auto rows = choose_sample(three_strata(), keys(10, 1), 2).rows;

    EXPECT_EQ(choose_sample(turned, keys(10, 1), 2).rows, rows);
    EXPECT_NE(choose_sample(three_strata(), keys(10, 2), 2).rows, rows);
}

TEST(ChooseSample, FindsOneWrongRowInTenOfAStratumAtThirtyRows) {
    Stratum stratum{4, {}};
    for (std::int64_t row = 0; row < 1000; ++row) stratum.rows.push_back(row);
    const auto detections = [&](std::int64_t count) {
        int found = 0;
        for (std::uint64_t seed = 1; seed <= 400; ++seed) {
            const auto choice = choose_sample({stratum}, keys(1000, seed), count);
            found += std::any_of(choice.rows.begin(), choice.rows.end(),
                                 [](std::int64_t row) { return row < 100; });
        }
        return found;
    };

    // 1 - 0.9^30 = 95.8 %, and 41 % for five rows
    EXPECT_GT(detections(30), 370);
    EXPECT_LT(detections(5), 220);
}

TEST(BoundOnWrong, IsThreeOverTheSampleAndZeroForAll) {
    EXPECT_DOUBLE_EQ(bound_on_wrong(1000, 30), 0.1);
    EXPECT_EQ(bound_on_wrong(1000, 2), 1.0);
    EXPECT_EQ(bound_on_wrong(1000, 0), 1.0);
    EXPECT_EQ(bound_on_wrong(5, 5), 0.0);
}

// --- how far energies reach ---

TEST(ReachOf, IsOneStepMoreThanExchanges) {
    EXPECT_EQ(reach_of(*network(kLayer)).hops, 1);
    EXPECT_EQ(reach_of(two_layers()).hops, 2);
    EXPECT_FALSE(reach_of(two_layers()).sums_over_senders);
    EXPECT_FALSE(reach_of(two_layers()).endless);
}

TEST(ReachOf, SeesSumsOverSendersAndOverTheSystem) {
    const auto sender = reach_of(*network(kSenderLayer + kLayer));
    const auto mean = reach_of(*network("    h = h + h.mean(0)\n"));

    EXPECT_EQ(sender.hops, 2);
    EXPECT_TRUE(sender.sums_over_senders);
    EXPECT_TRUE(mean.endless);
}

TEST(EnergySchedule, IsTheForwardPartOfTheSchedule) {
    auto& session = two_layers();

    const auto energies = session.energy_schedule();

    ASSERT_LT(energies.size(), session.schedule().size());
    EXPECT_TRUE(std::equal(energies.begin(), energies.end(), session.schedule().begin()));
}

TEST(EvaluateEnergies, AreThoseOfTheWholeEvaluation) {
    auto& session = two_layers();
    const auto graph = undecomposed_graph(sample_structure(session.card()));
    SerialExchange exchange(graph.view().n_rows);

    const auto whole = session.evaluate(graph.view(), exchange);

    EXPECT_EQ(session.evaluate_energies(graph.view(), exchange).atomic_energies,
              whole.atomic_energies);
    EXPECT_EQ(session.undecomposed_energies(graph.view()).atomic_energies, whole.atomic_energies);
    EXPECT_TRUE(session.evaluate_energies(graph.view(), exchange).edge_gradients.empty());
}

// --- clusters ---

TEST(CutCluster, KeepsAtomsWithinTheStepsAndEdgesToTheInnerOnes) {
    const auto cluster = cut_cluster(chain(11), 1, 5.0, 2, false);

    EXPECT_EQ(cluster.atoms.size(), 5);
    // two edges to each of the middle and its two neighbours
    EXPECT_EQ(cluster.edges.size(), 6);
    EXPECT_EQ(cut_cluster(chain(11), 1, 5.0, 2, true).edges.size(), 8);
}

class ClusterEnergy : public testing::TestWithParam<std::string> {};

TEST_P(ClusterEnergy, IsExactAtTheReachAndNotOneStepBefore) {
    const auto session = network(GetParam());
    const auto reach = reach_of(*session);
    const auto system = chain(25);
    const auto energy = [&](int hops) {
        return energies_of_centers(*session,
                                   cut_cluster(system, 1, 5.0, hops, reach.sums_over_senders))[0];
    };

    const double expected = evaluate_whole(*session, system).atomic_energies[0];

    EXPECT_NEAR(energy(reach.hops), expected, 1e-13);
    EXPECT_GT(std::fabs(energy(reach.hops - 1) - expected), 1e-7);
}

TEST_P(ClusterEnergy, ForceIsExactAtTwiceTheReachAndNotOneStepBefore) {
    const auto session = network(GetParam());
    const auto reach = reach_of(*session);
    const auto system = chain(25);
    const auto error = [&](int hops) {
        const auto expected = evaluate_whole(*session, system).forces;
        const auto found =
            forces_on_centers(*session, cut_cluster(system, 1, 5.0, hops, reach.sums_over_senders));
        double largest = 0;
        for (int k = 0; k < 3; ++k)
            largest = std::max(largest, std::fabs(found.forces[k] - expected[k]));
        return largest;
    };

    EXPECT_LT(error(2 * reach.hops), 1e-13);
    EXPECT_GT(error(2 * reach.hops - 1), 1e-9);
}

TEST_P(ClusterEnergy, OfSeveralAtomsTogetherIsThatOfEachAlone) {
    const auto session = network(GetParam());
    const auto reach = reach_of(*session);
    const auto system = chain(25);
    const auto expected = evaluate_whole(*session, system);

    const auto energies = energies_of_centers(
        *session, cut_cluster(system, 4, 5.0, reach.hops, reach.sums_over_senders));
    const auto forces = forces_on_centers(
        *session, cut_cluster(system, 4, 5.0, 2 * reach.hops, reach.sums_over_senders));

    ASSERT_EQ(energies.size(), 4U);
    ASSERT_EQ(forces.forces.size(), 12U);
    for (int atom = 0; atom < 4; ++atom)
        EXPECT_NEAR(energies[atom], expected.atomic_energies[atom], 1e-13);
    for (int k = 0; k < 12; ++k) EXPECT_NEAR(forces.forces[k], expected.forces[k], 1e-13);
}

INSTANTIATE_TEST_SUITE_P(Networks, ClusterEnergy,
                         testing::Values(kLayer + kLayer, kLayer + kLayer + kLayer,
                                         kSenderLayer + kLayer));

// --- the slope ---

TEST(RandomDirection, IsNormalAndTheSameForTheSameAtom) {
    double sum = 0, squares = 0;
    constexpr int kAtoms = 20000;
    for (int id = 1; id <= kAtoms; ++id)
        for (const double u : random_direction(7, 3, id)) {
            sum += u;
            squares += u * u;
            ASSERT_LT(std::fabs(u), kLongestDirection);
        }

    EXPECT_NEAR(sum / (3 * kAtoms), 0.0, 0.02);
    EXPECT_NEAR(squares / (3 * kAtoms), 1.0, 0.02);
    EXPECT_EQ(random_direction(7, 3, 5), random_direction(7, 3, 5));
    EXPECT_NE(random_direction(7, 4, 5), random_direction(7, 3, 5));
}

TEST(SlopeOf, IsExactForAPolynomialOfFourthDegree) {
    const auto points = slope_points("float32");
    std::array<std::vector<double>, 4> energies;
    for (std::size_t p = 0; p < points.size(); ++p) {
        const double h = points[p].step;
        energies[p] = {1e3 + 2 * h - 5 * h * h, 7 * h + h * h * h + 4 * h * h * h * h};
    }

    EXPECT_NEAR(slope_of(points, energies), 9.0, 1e-9);
}

TEST(SlopeTolerance, GrowsWithForcesAndEnergiesAndIsReplacedByAnAbsoluteOne) {
    ValidationTolerance absolute;
    absolute.absolute = {1, 1, 0.5, 1};

    EXPECT_DOUBLE_EQ(slope_tolerance("float64", 1e3, 0, 12, {}), 1e-4);
    EXPECT_GT(slope_tolerance("float64", 0, 1e9, 12, {}), 1e-1);
    EXPECT_DOUBLE_EQ(slope_tolerance("float64", 1e3, 0, 12, absolute), 3.0);
}

}  // namespace
}  // namespace nvalchemi
