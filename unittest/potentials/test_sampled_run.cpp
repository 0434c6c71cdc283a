// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/sampled_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "potentials/validator/diagnosis.hpp"

namespace nvalchemi {
namespace {

/// Ten atoms of each kind were compared, all of them right.
SampledRun right_run() {
    SampledRun run;
    run.natoms = 1000;
    for (auto* quantity : {&run.energies, &run.forces}) {
        quantity->atoms = 20;
        quantity->largest = 1;
        quantity->tolerance = 1e-9;
    }
    run.strata = {{0, 1, 100, 10, 0, 0}, {0, kInterior, 400, 10, 0, 0}};
    run.slope_tolerance = 1e-7;
    return run;
}

/// Wrong energies of `beside` and `inside` of ten atoms each; the slope is wrong too.
SampledRun wrong_energies(std::int64_t beside, std::int64_t inside) {
    auto run = right_run();
    run.energies.difference = 0.1;
    run.strata[0].wrong = beside;
    run.strata[1].wrong = inside;
    run.slope = 1;
    return run;
}

Diagnostic only_finding(const SampledRun& run) {
    const auto found = diagnose_sampled(run);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? Diagnostic{} : found[0];
}

TEST(DiagnoseSampled, FindsNothingWhereAllIsRight) {
    EXPECT_TRUE(diagnose_sampled(right_run()).empty());
}

TEST(DiagnoseSampled, TellsAtomsBesideOtherRanksFromTheOthers) {
    EXPECT_EQ(only_finding(wrong_energies(3, 0)).symptom, "energies_wrong_beside_ranks");
    EXPECT_EQ(only_finding(wrong_energies(3, 1)).symptom, "energies_wrong_everywhere");
    EXPECT_EQ(only_finding(wrong_energies(3, 1)).evidence[1],
              "atoms with neighbours of another rank, or with images of their own rank's atoms: "
              "3 wrong of 10");
}

TEST(DiagnoseSampled, IsLessSureWhereNoAtomIsInside) {
    auto run = wrong_energies(3, 0);
    const double sure = only_finding(run).confidence;
    run.strata.pop_back();

    EXPECT_LT(only_finding(run).confidence, sure);
    EXPECT_EQ(only_finding(run).symptom, "energies_wrong_beside_ranks");
}

TEST(DiagnoseSampled, SaysThatEnergiesAloneDiffer) {
    auto run = wrong_energies(3, 3);
    run.slope = 0;

    EXPECT_EQ(only_finding(run).symptom, "energies_alone_differ");
    run.forces.not_compared = "keyword force_room is 0";
    EXPECT_EQ(only_finding(run).symptom, "energies_wrong_everywhere");
}

TEST(DiagnoseSampled, ReadsAWrongSlopeByTheForcesOfSampledAtoms) {
    auto run = right_run();
    run.slope = 1;
    EXPECT_EQ(only_finding(run).symptom, "non_conservative_forces");

    run.forces.difference = 0.1;
    EXPECT_EQ(only_finding(run).symptom, "backward_exchange");

    run.forces.not_compared = "keyword force_room is 0";
    EXPECT_EQ(only_finding(run).symptom, "forces_are_no_slopes");
    EXPECT_EQ(only_finding(run).evidence.back(),
              "forces were not compared: keyword force_room is 0");
}

TEST(DiagnoseSampled, UsesNamesThatAreKnown) {
    const auto names = known_symptoms();
    for (const auto& run : {wrong_energies(3, 0), wrong_energies(0, 3)})
        EXPECT_NE(std::find(names.begin(), names.end(), only_finding(run).symptom), names.end());
}

TEST(QuantitiesOf, SaysWhatASampleDoesNotCompare) {
    auto run = right_run();
    run.energies.tag = 7;
    run.energies.owner = 2;
    run.slope = NAN;
    const auto quantities = quantities_of(run, /*has_volume=*/true);

    ASSERT_EQ(quantities.size(), 5u);
    EXPECT_FALSE(quantities[0].compared);
    EXPECT_FALSE(quantities[3].compared);
    EXPECT_EQ(quantities[3].quantity, "stress");
    EXPECT_EQ(quantities_of(run, false)[3].quantity, "virial");
    EXPECT_EQ(quantities[1].worst, 7);
    EXPECT_EQ(quantities[1].rank, 2);
    EXPECT_EQ(quantities[2].worst, -1);
    EXPECT_TRUE(std::isinf(quantities[4].difference));
    EXPECT_FALSE(quantities[4].passed());
}

TEST(HasReference, NeedsEnergiesOrForcesAndNotTheSlopeAlone) {
    auto run = right_run();
    EXPECT_TRUE(run.has_reference());
    run.energies.not_compared = "no reach";
    EXPECT_TRUE(run.has_reference());
    run.forces.not_compared = "no reach";
    EXPECT_FALSE(run.has_reference());
    EXPECT_TRUE(run.numbers_agree());
}

TEST(WorstFirst, OrdersStrataByTheirBounds) {
    const auto strata = worst_first({{0, 1, 10, 10}, {1, 0, 100, 30}, {2, 0, 100, 3}});

    EXPECT_EQ(strata[0].rank, 2);
    EXPECT_EQ(strata[1].rank, 1);
    EXPECT_EQ(strata[2].bound(), 0);
}

}  // namespace
}  // namespace nvalchemi
