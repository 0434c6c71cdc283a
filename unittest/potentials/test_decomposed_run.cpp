// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/decomposed_run.hpp"

#include <gtest/gtest.h>

#include <string>

#include "potentials/validation.hpp"
#include "potentials/validator/trace_report.hpp"

namespace nvalchemi {
namespace {

constexpr double kCutoff = 2.5;

/// Three atoms in a row, 2 A apart, in an open box; the middle one has two neighbours.
RunAtoms three_atoms() {
    RunAtoms atoms;
    atoms.system.species = {0, 0, 0};
    atoms.system.positions = {0, 0, 0, 2, 0, 0, 4, 0, 0};
    atoms.system.cell[0] = atoms.system.cell[4] = atoms.system.cell[8] = 10;
    for (bool& periodic : atoms.system.periodic) periodic = false;
    atoms.ids = {11, 12, 15};
    atoms.owners = {0, 0, 1};
    atoms.seen.resize(3);
    atoms.seen[0] = {1, hash_of_atom(12), {2, 0, 0}};
    atoms.seen[1] = {2, hash_of_atom(11) + hash_of_atom(15), {0, 0, 0}};
    atoms.seen[2] = {1, hash_of_atom(12), {-2, 0, 0}};
    return atoms;
}

TEST(CheckSeenNeighbors, PassesWhatExists) {
    const auto found = check_seen_neighbors(three_atoms(), kCutoff);

    EXPECT_TRUE(found.complete);
    EXPECT_EQ(found.edges_seen, 4);
    EXPECT_EQ(found.edges_expected, 4);
}

TEST(CheckSeenNeighbors, NamesAtomsByIdThatMissOne) {
    auto atoms = three_atoms();
    atoms.seen[2] = {};

    const auto found = check_seen_neighbors(atoms, kCutoff);

    EXPECT_FALSE(found.complete);
    ASSERT_EQ(found.first.size(), 1u);
    EXPECT_EQ(found.first[0].atom, 15);
    EXPECT_EQ(found.first[0].rank, 1);
    EXPECT_EQ(found.first[0].seen, 0);
    EXPECT_EQ(found.first[0].expected, 1);
}

TEST(CheckSeenNeighbors, SeesAnotherSenderAndAReversedVector) {
    auto other = three_atoms();
    other.seen[0].senders = hash_of_atom(15);
    auto reversed = three_atoms();
    reversed.seen[0].vectors[0] = -2;

    EXPECT_EQ(check_seen_neighbors(other, kCutoff).atoms_wrong, 1);
    EXPECT_EQ(check_seen_neighbors(reversed, kCutoff).atoms_wrong, 1);
}

TEST(CheckSeenNeighbors, LetsAPairAtTheCutoffBeSeenOrNot) {
    auto blind = three_atoms();
    blind.seen[0] = {};
    blind.seen[1] = {1, hash_of_atom(15), {2, 0, 0}};

    EXPECT_TRUE(check_seen_neighbors(three_atoms(), 2.0).complete);
    EXPECT_TRUE(check_seen_neighbors(blind, 2.0).complete);
    EXPECT_FALSE(check_seen_neighbors(blind, 2.0 + 1e-5).complete);
}

TEST(CheckSeenNeighbors, SeesAnIdThatOccursTwice) {
    auto atoms = three_atoms();
    atoms.ids = {11, 12, 12};

    EXPECT_EQ(check_seen_neighbors(atoms, kCutoff).atoms_owned_otherwise, 1);
}

RunPart part(std::int64_t owned, std::int64_t remote, double width) {
    RunPart result;
    result.owned = owned;
    result.remote = remote;
    for (double& one : result.width) one = 40;
    result.width[0] = width;
    result.is_cut[0] = 1;
    return result;
}

std::string advice_on(const std::vector<RunPart>& parts) {
    std::string text;
    for (const auto& advice : judge_run_parts(parts, 5.0, 2.0).advice) text += advice + "\n";
    return text;
}

TEST(JudgeRunParts, HasNoAdviceForWideParts) {
    EXPECT_EQ(advice_on({part(10, 5, 20), part(10, 5, 20)}), "");
    EXPECT_EQ(judge_run_parts({part(10, 5, 20), part(10, 5, 15)}, 5.0, 2.0).narrowest, 15);
}

TEST(JudgeRunParts, AdvisesOnNarrowEmptyAndAllSeeingParts) {
    const auto has = [](const std::string& text, const char* words) {
        return text.find(words) != std::string::npos;
    };

    EXPECT_TRUE(
        has(advice_on({part(10, 5, 6), part(10, 5, 20)}), "cutoff and skin together (7 A)"));
    EXPECT_TRUE(has(advice_on({part(10, 5, 4), part(10, 5, 20)}), "less than the cutoff of 5 A"));
    EXPECT_TRUE(has(advice_on({part(10, 5, 20), part(0, 10, 20)}), "1 of the ranks own no atom"));
    EXPECT_TRUE(has(advice_on({part(10, 0, 20), part(10, 5, 20)}), "every atom of the system"));
    EXPECT_TRUE(has(advice_on({part(10, 0, 20)}), "one rank exchanges nothing"));
}

/// The report of parts with a verdict, without anything else.
TraceReport report_of(Verdict verdict) {
    TraceReport report;
    report.ok = verdict == Verdict::Passed;
    report.attempts.resize(1);
    report.attempts[0].verdict = verdict;
    report.attempts[0].message = verdict == Verdict::Refused ? "no such operator" : "";
    report.next_action = "Nothing to do.";
    report.proposed_patch = "[]";
    report.ranks = 2;
    return report;
}

DecomposedRun run_with(double difference) {
    DecomposedRun run;
    run.ranks = 2;
    run.quantities = {{.quantity = "forces", .unit = "eV/A", .largest = 1}};
    run.quantities[0].difference = difference;
    run.quantities[0].tolerance = 1e-9;
    return run;
}

TraceReport joined(Verdict parts, DecomposedRun run, const ProposedSpec& proposed = {}) {
    auto report = report_of(parts);
    join_run(report, {}, std::move(run), proposed);
    return report;
}

TEST(JoinRun, BlamesNothingWhereBothPass) {
    const auto report = joined(Verdict::Passed, run_with(0));

    EXPECT_TRUE(report.ok);
    EXPECT_EQ(report.run->blame, Blame::Nothing);
    EXPECT_EQ(report.next_action, "Nothing to do.");
}

TEST(JoinRun, BlamesTheRunWhereItsPartsPass) {
    const auto report = joined(Verdict::Passed, run_with(1));

    EXPECT_FALSE(report.ok);
    EXPECT_EQ(report.run->blame, Blame::Run);
    ASSERT_EQ(report.diagnostics.size(), 1u);
    EXPECT_EQ(report.diagnostics[0].symptom, "run_differs_from_parts");
    EXPECT_EQ(report.next_action.find("Do not change the spec: the same atoms on the same 2"), 0u);
}

TEST(JoinRun, NamesTheExchangeOfTheRun) {
    auto run = run_with(0);
    run.plan.good = false;
    run.plan.halo_rows = 4;
    run.plan.forward_wrong = 3;

    const auto report = joined(Verdict::Passed, run);

    EXPECT_EQ(report.run->blame, Blame::Run);
    EXPECT_EQ(report.diagnostics[0].symptom, "exchange_plan");
}

TEST(JoinRun, BlamesTheSpecOrBothWherePartsFail) {
    auto unsound = run_with(1);
    unsound.completeness.complete = false;

    EXPECT_EQ(joined(Verdict::Failed, run_with(1)).run->blame, Blame::Spec);
    EXPECT_EQ(joined(Verdict::Failed, run_with(0)).run->blame, Blame::Spec);
    EXPECT_EQ(joined(Verdict::Failed, unsound).run->blame, Blame::Both);
}

TEST(JoinRun, SaysWhyPartsCouldNotBePlayed) {
    const auto report = joined(Verdict::Refused, run_with(1));

    EXPECT_EQ(report.run->blame, Blame::Unknown);
    EXPECT_NE(report.next_action.find("could not be played in one process: no such operator"),
              std::string::npos);
}

TEST(JoinRun, TellsToRerunWithASpecThatWasFound) {
    auto report = report_of(Verdict::Failed);
    report.attempts.resize(2);
    report.attempts[1].verdict = Verdict::Passed;
    auto looked_at = report;

    join_run(report, {}, run_with(1), {"found.spec.json", true});
    join_run(looked_at, {}, run_with(1), {"found.spec.json", false});

    EXPECT_EQ(report.next_action.find("Rerun with pair_style nvalchemi spec found.spec.json:"), 0u);
    EXPECT_EQ(looked_at.next_action.find("The spec in found.spec.json passes"), 0u);
}

/// Two atoms with one virial component each.
WholeEvaluation with_virials() {
    WholeEvaluation whole;
    whole.atomic_virials = {3, 0, 0, 0, 0, 0, -4, 0, 0, 0, 0, 0};
    whole.atomic_virial_terms = 4;
    return whole;
}

Deviation compare_virials(double error, const ValidationTolerance& tolerance = {}) {
    WholeSystem system;
    system.species = {0, 0};
    system.cell[0] = system.cell[4] = system.cell[8] = 2;
    DecomposedEvaluation found;
    found.atomic_virials = with_virials().atomic_virials;
    if (!found.atomic_virials.empty()) found.atomic_virials[7] += error;
    return compare_atomic_virials(system, with_virials(), found, {true, true}, "float64", 0,
                                  tolerance);
}

TEST(CompareAtomicVirials, FindsTheAtom) {
    const auto wrong = compare_virials(1e-6);

    EXPECT_TRUE(compare_virials(0).passed());
    EXPECT_FALSE(wrong.passed());
    EXPECT_EQ(wrong.worst, 1);
    EXPECT_EQ(wrong.largest, 4);
    EXPECT_NEAR(wrong.difference, 1e-6, 1e-15);
}

TEST(CompareAtomicVirials, TakesTheToleranceOfTheStressTimesTheVolume) {
    ValidationTolerance tolerance;
    tolerance.absolute = {1, 1, 1, 1e-6};

    EXPECT_DOUBLE_EQ(compare_virials(0, tolerance).tolerance, 8e-6);
}

TEST(CompareAtomicVirials, ComparesNothingWithoutAReference) {
    const auto found = compare_atomic_virials({}, {}, {}, {}, "float64", 0, {});

    EXPECT_FALSE(found.compared);
    EXPECT_TRUE(found.passed());
}

}  // namespace
}  // namespace nvalchemi
