// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/whole_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "potentials/session.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {
namespace {

Session& two_layers() {
    static const auto session = [] {
        const std::string layer =
            "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";
        SessionOptions options;
        options.path = "network.pt";
        options.device = "cpu";
        options.card_text = scripted_card();
        options.card_path = "network.card.json";
        options.self_test = false;
        return std::make_unique<Session>(scripted_archive(message_network(layer + layer)), options);
    }();
    return *session;
}

/// Four atoms in a skewed cell that is shorter than the cutoff of 5 Angstrom.
WholeSystem four_atoms() {
    WholeSystem system;
    system.species = {1, 2, 1, 2};
    system.positions = {0.1, 0.2, 0.3, 2.4, 0.1, 0.4, 0.2, 2.3, 0.1, 2.2, 2.5, 2.1};
    const double cell[9] = {4.6, 0, 0, 0.7, 4.4, 0, -0.5, 0.6, 4.8};
    std::copy_n(cell, 9, system.cell);
    return system;
}

double energy_of(const WholeSystem& system) { return evaluate_whole(two_layers(), system).energy; }

/// Central difference of the energy while `change(system, h)` is applied.
template <typename Change>
double slope(const WholeSystem& system, Change change) {
    const double h = 1e-4;
    const auto at = [&](double step) {
        auto moved = system;
        change(moved, step);
        return energy_of(moved);
    };
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
}

TEST(WholeSystem, HasTheVolumeOfItsCell) { EXPECT_NEAR(four_atoms().volume(), 97.152, 1e-12); }

TEST(EvaluateWhole, ForcesAreTheSlopesOfTheEnergy) {
    const auto whole = evaluate_whole(two_layers(), four_atoms());

    for (std::size_t k = 0; k < whole.forces.size(); ++k) {
        const double expected =
            -slope(four_atoms(), [k](WholeSystem& s, double h) { s.positions[k] += h; });
        EXPECT_NEAR(whole.forces[k], expected, 1e-8);
    }
}

TEST(EvaluateWhole, VirialIsTheSlopeAlongAStrain) {
    const auto whole = evaluate_whole(two_layers(), four_atoms());

    ASSERT_TRUE(whole.has_virial);
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            const double expected = -slope(four_atoms(), [a, b](WholeSystem& s, double h) {
                for (std::size_t k = 0; k < s.positions.size(); k += 3)
                    s.positions[k + b] += h * s.positions[k + a];
                for (int k = 0; k < 9; k += 3) s.cell[k + b] += h * s.cell[k + a];
            });
            EXPECT_NEAR(whole.virial[3 * a + b], expected, 1e-7);
        }
}

TEST(EvaluateWhole, DoesNotDependOnTheChoiceOfImages) {
    auto moved = four_atoms();
    for (int k = 0; k < 3; ++k) moved.positions[3 + k] += 2 * moved.cell[k] - moved.cell[6 + k];

    EXPECT_NEAR(energy_of(moved), energy_of(four_atoms()), 1e-12);
}

TEST(EvaluateWhole, ShufflingEdgesChangesRoundingOnly) {
    const auto first = evaluate_whole(two_layers(), four_atoms());
    const auto second = evaluate_whole(two_layers(), four_atoms(), /*edge_order=*/1);

    EXPECT_NE(first.forces, second.forces);
    for (std::size_t k = 0; k < first.forces.size(); ++k)
        EXPECT_NEAR(first.forces[k], second.forces[k], 1e-13);
    for (int k = 0; k < 9; ++k) EXPECT_NEAR(first.virial[k], second.virial[k], 1e-12);
}

TEST(EvaluateWhole, AnotherOrderRoundsEdgeVectorsAsFarFromTheOriginAsAtomsAre) {
    // without, a model of one edge to each atom would show no noise at all
    auto pair = four_atoms();
    pair.species = {0, 1};
    pair.positions = {1, 2, 3, 2.5, 3.25, 3};
    for (bool& periodic : pair.periodic) periodic = false;
    auto far = pair;
    for (double& coordinate : far.positions) coordinate += 4096;
    const auto change = [](const WholeSystem& system) {
        const auto first = evaluate_whole(two_layers(), system);
        const auto second = evaluate_whole(two_layers(), system, /*edge_order=*/1);
        double largest = 0;
        for (std::size_t k = 0; k < first.forces.size(); ++k)
            largest = std::max(largest, std::fabs(first.forces[k] - second.forces[k]));
        return largest;
    };

    EXPECT_LT(change(pair), 1e-14);
    EXPECT_GT(change(far), 20 * change(pair));
    EXPECT_LT(change(far), 1e-10);
}

TEST(EvaluateWhole, MeasuresTheTermsThatForcesAreSummedFrom) {
    const auto whole = evaluate_whole(two_layers(), four_atoms());

    EXPECT_GT(whole.force_terms, 0);
    EXPECT_GT(whole.virial_terms, 0);
}

TEST(EvaluateWhole, AcceptsAtomsWithoutNeighbours) {
    auto alone = four_atoms();
    alone.species = {1};
    alone.positions = {1, 2, 3};
    for (bool& periodic : alone.periodic) periodic = false;

    const auto whole = evaluate_whole(two_layers(), alone);

    EXPECT_EQ(whole.atomic_energies.size(), 1u);
    EXPECT_EQ(whole.forces, (std::vector<double>{0, 0, 0}));
    EXPECT_TRUE(whole.has_virial);
}

TEST(EvaluateWhole, AcceptsASystemWithoutAtoms) {
    auto nothing = four_atoms();
    nothing.species.clear();
    nothing.positions.clear();

    const auto whole = evaluate_whole(two_layers(), nothing);

    EXPECT_EQ(whole.energy, 0);
    EXPECT_TRUE(whole.atomic_energies.empty());
}

}  // namespace
}  // namespace nvalchemi
