// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "potentials/whole_system.hpp"

namespace nvalchemi {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Two atoms in a box of volume 8.
WholeSystem two_atoms() {
    WholeSystem system;
    system.species = {0, 0};
    system.positions = {0, 0, 0, 1, 0, 0};
    system.cell[0] = system.cell[4] = system.cell[8] = 2;
    return system;
}

WholeEvaluation reference() {
    WholeEvaluation whole;
    whole.energy = -3;
    whole.atomic_energies = {-1, -2};
    whole.forces = {4, 0, 0, -4, 0, 0};
    whole.has_virial = true;
    for (int k = 0; k < 9; ++k) whole.virial[k] = 8.0 * (k + 1);
    return whole;
}

DecomposedEvaluation same_as(const WholeEvaluation& whole) {
    DecomposedEvaluation decomposed;
    decomposed.energy = whole.energy;
    decomposed.atomic_energies = whole.atomic_energies;
    decomposed.forces = whole.forces;
    const double six[6] = {whole.virial[0], whole.virial[4], whole.virial[8],
                           whole.virial[1], whole.virial[2], whole.virial[5]};
    std::copy_n(six, 6, decomposed.virial);
    return decomposed;
}

Deviations compare(const DecomposedEvaluation& decomposed, const WholeEvaluation& whole,
                   const ValidationTolerance& tolerance = {},
                   const std::vector<bool>& selected = {true, true},
                   const std::array<double, 4>& noise = {0, 0, 0, 0}) {
    return compare_evaluations(two_atoms(), whole, decomposed, selected, "float64", noise,
                               tolerance);
}

bool all_passed(const Deviations& deviations) {
    for (const auto& deviation : deviations)
        if (!deviation.passed()) return false;
    return true;
}

TEST(CompareEvaluations, PassesWhenBothAreTheSame) {
    EXPECT_TRUE(all_passed(compare(same_as(reference()), reference())));
}

TEST(CompareEvaluations, NamesTheAtomWithTheLargestForceDifference) {
    auto decomposed = same_as(reference());
    decomposed.forces[1] = 1e-6;
    decomposed.forces[5] = 1e-3;

    const auto forces = compare(decomposed, reference())[2];

    EXPECT_FALSE(forces.passed());
    EXPECT_DOUBLE_EQ(forces.difference, 1e-3);
    EXPECT_EQ(forces.worst, 1);
    EXPECT_DOUBLE_EQ(forces.tolerance, 4e-10);
}

TEST(CompareEvaluations, FailsOnNaNInEveryQuantity) {
    auto decomposed = same_as(reference());
    decomposed.energy = kNaN;
    decomposed.atomic_energies[0] = kNaN;
    decomposed.forces[0] = kNaN;
    decomposed.virial[5] = kNaN;

    for (const auto& deviation : compare(decomposed, reference())) {
        EXPECT_FALSE(deviation.passed()) << deviation.quantity;
        EXPECT_TRUE(std::isnan(deviation.difference)) << deviation.quantity;
    }
}

TEST(CompareEvaluations, KeepsANaNThatIsFollowedByNumbers) {
    auto decomposed = same_as(reference());
    decomposed.atomic_energies = {kNaN, -5};

    const auto energies = compare(decomposed, reference())[1];

    EXPECT_TRUE(std::isnan(energies.difference));
    EXPECT_EQ(energies.worst, 0);
}

TEST(CompareEvaluations, DividesTheVirialByTheVolumeOfAPeriodicBox) {
    auto decomposed = same_as(reference());
    decomposed.virial[3] += 0.8;

    const auto stress = compare(decomposed, reference())[3];

    EXPECT_EQ(stress.quantity, "stress");
    EXPECT_NEAR(stress.difference, 0.1, 1e-14);
    EXPECT_DOUBLE_EQ(stress.largest, 9);
}

TEST(CompareEvaluations, ComparesTheVirialOfAnOpenSystem) {
    auto decomposed = same_as(reference());
    decomposed.virial[3] += 0.8;
    auto system = two_atoms();
    system.periodic[2] = false;

    const auto virial = compare_evaluations(system, reference(), decomposed, {true, true},
                                            "float64", {0, 0, 0, 0}, {})[3];

    EXPECT_EQ(virial.quantity, "virial");
    EXPECT_NEAR(virial.difference, 0.8, 1e-14);
}

TEST(CompareEvaluations, LeavesOutAVirialWithoutReference) {
    auto whole = reference();
    auto decomposed = same_as(whole);
    whole.has_virial = false;
    decomposed.virial[0] = 1e9;

    const auto stress = compare(decomposed, whole)[3];

    EXPECT_FALSE(stress.compared);
    EXPECT_TRUE(stress.passed());
}

TEST(CompareEvaluations, IgnoresAtomsOutsideOfTheSelection) {
    auto decomposed = same_as(reference());
    decomposed.forces[3] += 1;
    decomposed.atomic_energies[1] += 1;

    EXPECT_TRUE(all_passed(compare(decomposed, reference(), {}, {true, false})));
    EXPECT_FALSE(all_passed(compare(decomposed, reference(), {}, {false, true})));
}

TEST(CompareEvaluations, RaisesTheToleranceToTenTimesTheNoise) {
    const auto usual = compare(same_as(reference()), reference(), {}, {true, true});
    std::array<double, 4> noise{};
    for (int k = 0; k < 4; ++k) noise[k] = 1e-6 * usual[k].largest;
    const auto deviations = compare(same_as(reference()), reference(), {}, {true, true}, noise);

    for (int k = 0; k < 4; ++k) EXPECT_DOUBLE_EQ(deviations[k].tolerance, 10 * noise[k]);
}

TEST(CompareEvaluations, TakesADependenceOnOrderForNoNoise) {
    const auto deviations =
        compare(same_as(reference()), reference(), {}, {true, true}, {1e3, 1e3, 1e3, 1e3});

    for (const auto& deviation : deviations)
        EXPECT_LE(deviation.tolerance, 1e-3 * std::max(1.0, deviation.largest));
}

TEST(CompareEvaluations, RaisesTheForceToleranceWhereForcesCancel) {
    auto whole = reference();
    whole.forces.assign(6, 0.0);
    whole.force_terms = 100;

    const auto forces = compare(same_as(whole), whole)[2];

    EXPECT_DOUBLE_EQ(forces.tolerance, 32 * std::numeric_limits<double>::epsilon() * 100);
}

TEST(CompareEvaluations, AllowsTheRoundingOfASumThatIsLargerThanItsTerms) {
    auto whole = reference();
    whole.energy = 5000;
    ValidationTolerance tolerance;
    tolerance.relative = 1e-18;

    const auto energy = compare(same_as(whole), whole, tolerance)[0];

    EXPECT_DOUBLE_EQ(energy.tolerance, 32 * std::numeric_limits<double>::epsilon() * 5000);
}

TEST(CompareEvaluations, UsesAbsoluteTolerancesAsTheyAre) {
    ValidationTolerance tolerance;
    tolerance.absolute = {1e-1, 1e-2, 1e-3, 1e-4};

    const auto deviations = compare(same_as(reference()), reference(), tolerance);

    for (int k = 0; k < 4; ++k) EXPECT_EQ(deviations[k].tolerance, (*tolerance.absolute)[k]);
}

TEST(CompareEvaluations, ScalesTheRelativeToleranceByTheLargestValue) {
    ValidationTolerance tolerance;
    tolerance.relative = 1e-3;

    const auto deviations = compare(same_as(reference()), reference(), tolerance);

    EXPECT_DOUBLE_EQ(deviations[0].tolerance, 3e-3);
    EXPECT_DOUBLE_EQ(deviations[2].tolerance, 4e-3);
}

TEST(CompareEvaluations, IsWiderForFloat32) {
    const auto deviations = compare_evaluations(two_atoms(), reference(), same_as(reference()),
                                                {true, true}, "float32", {0, 0, 0, 0}, {});

    EXPECT_DOUBLE_EQ(deviations[2].tolerance, 4 * 32 * std::numeric_limits<float>::epsilon());
}

TEST(CompareEvaluations, AcceptsASystemWithoutAtoms) {
    const WholeSystem nothing;

    const auto deviations = compare_evaluations(nothing, {}, {}, {}, "float64", {0, 0, 0, 0}, {});

    EXPECT_TRUE(deviations[0].passed() && deviations[1].passed() && deviations[2].passed());
}

TEST(MeasureNoise, IsTheDifferenceOfTwoEvaluations) {
    auto second = reference();
    second.energy += 0.5;
    second.forces[0] += 0.25;
    second.virial[1] += 0.8;

    const auto noise = measure_noise(two_atoms(), reference(), second);

    EXPECT_DOUBLE_EQ(noise[0], 0.5);
    EXPECT_DOUBLE_EQ(noise[1], 0.0);
    EXPECT_DOUBLE_EQ(noise[2], 0.25);
    EXPECT_NEAR(noise[3], 0.1, 1e-14);
}

// --- further outputs ---

WholeEvaluation with_outputs() {
    auto whole = reference();
    whole.extras["charges"] = {true, 2, {1, 2, 3, 4}};
    whole.extras["gap"] = {false, 1, {7}};
    return whole;
}

/// Two ranks, each with its own value of the gap.
DecomposedEvaluation same_outputs() {
    auto decomposed = same_as(reference());
    decomposed.extras["charges"] = {true, 2, {1, 2, 3, 4}};
    decomposed.extras["gap"] = {false, 1, {7, 7}};
    return decomposed;
}

std::vector<Deviation> compare_outputs(const DecomposedEvaluation& decomposed,
                                       const std::map<std::string, double>& noise = {},
                                       const ValidationTolerance& tolerance = {},
                                       const std::vector<bool>& selected = {true, true}) {
    return compare_extras(with_outputs(), decomposed, selected, "float64", noise, tolerance);
}

TEST(CompareExtras, PassesWhenBothAreTheSame) {
    const auto found = compare_outputs(same_outputs());

    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].quantity, "output charges");
    EXPECT_EQ(found[0].largest, 4);
    EXPECT_TRUE(found[0].passed());
    EXPECT_TRUE(found[1].passed());
}

TEST(CompareExtras, NamesTheAtomOfARow) {
    auto decomposed = same_outputs();
    decomposed.extras["charges"].values[3] += 1e-6;

    const auto found = compare_outputs(decomposed)[0];

    EXPECT_FALSE(found.passed());
    EXPECT_EQ(found.worst, 1);
    EXPECT_NEAR(found.difference, 1e-6, 1e-12);
    EXPECT_TRUE(compare_outputs(decomposed, {}, {}, {true, false})[0].passed());
}

TEST(CompareExtras, NamesTheRankOfAValueOfTheSystem) {
    auto decomposed = same_outputs();
    decomposed.extras["gap"].values[1] = 8;

    const auto found = compare_outputs(decomposed, {}, {}, {false, false})[1];

    EXPECT_FALSE(found.passed());
    EXPECT_EQ(found.worst, -1);
    EXPECT_EQ(found.rank, 1);
    EXPECT_EQ(found.difference, 1);
}

TEST(CompareExtras, FailsWhereAnOutputIsMissingOrHasAnotherShape) {
    auto missing = same_outputs(), narrow = same_outputs(), other = same_outputs();
    missing.extras.erase("charges");
    narrow.extras["charges"] = {true, 1, {1, 2}};
    other.extras["charges"].per_node = false;

    for (const auto& decomposed : {missing, narrow, other})
        EXPECT_TRUE(std::isnan(compare_outputs(decomposed)[0].difference));
}

TEST(CompareExtras, AllowsForNoiseAndARelativeToleranceButForNoAbsoluteOne) {
    auto decomposed = same_outputs();
    decomposed.extras["charges"].values[0] += 1e-6;
    ValidationTolerance relative, absolute;
    relative.relative = 1e-6;
    absolute.absolute = {1, 1, 1, 1};

    EXPECT_TRUE(compare_outputs(decomposed, {{"charges", 1e-6}})[0].passed());
    EXPECT_TRUE(compare_outputs(decomposed, {}, relative)[0].passed());
    EXPECT_FALSE(compare_outputs(decomposed, {}, absolute)[0].passed());
}

TEST(MeasureExtraNoise, IsTheDifferenceOfTwoEvaluations) {
    auto other = with_outputs();
    other.extras["charges"].values[2] += 0.5;

    const auto noise = measure_extra_noise(with_outputs(), other);

    EXPECT_EQ(noise.at("charges"), 0.5);
    EXPECT_EQ(noise.at("gap"), 0);
}

}  // namespace
}  // namespace nvalchemi
