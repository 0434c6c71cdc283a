// SPDX-License-Identifier: GPL-2.0-only
// Parts of the validator by themselves: patches, checks of partitions, where a divergence starts,
// the search for a spec, and what a report says.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include "potentials/validation.hpp"
#include "potentials/validator/spec_patch.hpp"
#include "potentials/validator/spec_repair.hpp"
#include "spec/parse_mlip_spec.hpp"
#include "spec/presets.hpp"
#include "spec/spec_error.hpp"
#include "spec/write_mlip_spec.hpp"
#include "unittest/potentials/test_validator_support.hpp"

namespace nvalchemi {

namespace {

using namespace testing;
using Kind = ExchangeFault::Kind;

void expect_part(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "expected '" << part << "' in: " << text;
}

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "(nothing was refused)";
}

MLIPSpec spec_of(const ValidationRequest& request) {
    return parse_model_card(*request.session.card_text, "card").distribution();
}

ValidationRequest lacks_scatter() {
    auto request = scripted_request(kLayer + kPush + kLayer, with_op("push", "", ""));
    request.ranks = 3;
    return request;
}

}  // namespace

TEST(SpecPatch, LeadsFromOneSpecToTheOther) {
    const auto& left = *find_preset("SPEC_MPNN_HALO");
    for (const auto& name : preset_names()) {
        const auto& right = *find_preset(name);
        const auto patched = apply_spec_patch(left, make_spec_patch(left, right));
        EXPECT_EQ(write_mlip_spec(patched), write_mlip_spec(right)) << name;
    }
    EXPECT_EQ(make_spec_patch(left, left), "[]");
}

TEST(SpecPatch, RefusesWhatDoesNotApply) {
    const auto& spec = *find_preset("SPEC_MPNN_HALO");
    expect_part(message_of([&] {
                    apply_spec_patch(spec, R"([{"op": "remove", "path": "/core/nothing"}])");
                }),
                "spec patch: got one that does not apply");
    expect_part(message_of([&] {
                    apply_spec_patch(
                        spec, R"([{"op": "replace", "path": "/core/policy/kind", "value": "x"}])");
                }),
                "patched spec /core/policy/kind");
}

TEST(ValidateInParts, RefusesRequestsThatMakeNoSense) {
    auto request = scripted_request(kLayer);
    request.ranks = 0;
    expect_part(message_of([&] { validate_in_parts(request); }),
                "ranks: got 0, expected at least 1");
    request.ranks = 2;
    request.owners = {0, 1};
    expect_part(message_of([&] { validate_in_parts(request); }),
                "owners: expected one of the 2 ranks for each of the 96 atoms");
    request.owners.clear();
    request.system = {};
    expect_part(message_of([&] { validate_in_parts(request); }), "structure: got no atoms");
}

TEST(ValidateInParts, NamesTheOperatorWhereTheDivergenceStarts) {
    const auto report = validate_in_parts(lacks_scatter());
    EXPECT_FALSE(report.ok);
    ASSERT_TRUE(report.evidence.divergence && report.evidence.divergence->found);
    EXPECT_EQ(report.evidence.divergence->call.op, "adaptertest::push");
    expect_part(report.evidence.divergence->call.source, "<string>:");
    EXPECT_GT(report.evidence.divergence->atoms_wrong, 0);
    EXPECT_EQ(report.evidence.divergence->wrong_near_face, report.evidence.divergence->atoms_wrong);
    ASSERT_FALSE(report.diagnostics.empty());
    EXPECT_EQ(report.diagnostics[0].symptom, "missing_scatter_outputs");
    EXPECT_EQ(report.diagnostics[0].patch,
              R"([{"op":"add","path":"/core/custom_ops/0/output_transforms/0",)"
              R"("value":{"type":"scatter_outputs"}}])");
}

TEST(ValidateInParts, RepairsToTheHandWrittenSpec) {
    auto request = lacks_scatter();
    const auto right =
        spec_of(scripted_request(kLayer + kPush + kLayer, with_op("push", "", kScatter)));
    request.autofix = AutoFix::Report;
    const auto proposed = validate_in_parts(request);
    EXPECT_FALSE(proposed.ok);
    EXPECT_EQ(proposed.fix_applied, "");
    EXPECT_EQ(write_mlip_spec(proposed.spec), write_mlip_spec(right));
    expect_part(proposed.next_action,
                "A spec was found that passes, give --write-spec FILE to keep it");

    request.autofix = AutoFix::Apply;
    const auto mended = validate_in_parts(request);
    EXPECT_TRUE(mended.ok);
    EXPECT_EQ(mended.fix_applied, "missing_scatter_outputs");
    EXPECT_EQ(write_mlip_spec(mended.spec), write_mlip_spec(right));
    EXPECT_EQ(write_mlip_spec(apply_spec_patch(spec_of(request), mended.proposed_patch)),
              write_mlip_spec(right));
}

TEST(ValidateInParts, BlamesAToleranceBelowRoundingAndNothingElse) {
    auto request = scripted_request(kLayer + kSystemSum + kLayer);
    request.ranks = 3;
    request.autofix = AutoFix::Apply;
    request.tolerance.absolute = {1e-20, 1e-20, 1e-20, 1e-20};
    const auto report = validate_in_parts(request);
    EXPECT_FALSE(report.ok);
    ASSERT_EQ(report.diagnostics.size(), 1u) << summarize(report);
    EXPECT_EQ(report.diagnostics[0].symptom, "tolerance_below_rounding");
    EXPECT_EQ(report.diagnostics[0].patch, "[]");
    expect_part(report.diagnostics[0].evidence[0], "which the tolerance of 1e-20 forbids");
    expect_part(report.next_action, "Loosen the tolerance");
    EXPECT_EQ(report.attempts.size(), 1u);  // no spec is tried
}

TEST(ValidateInParts, DoesNotTakeAFaultForRounding) {
    auto request = lacks_scatter();
    request.tolerance.absolute = {1e-20, 1e-20, 1e-20, 1e-20};
    const auto report = validate_in_parts(request);
    ASSERT_FALSE(report.diagnostics.empty());
    EXPECT_EQ(report.diagnostics[0].symptom, "missing_scatter_outputs");
}

TEST(RoundingOf, IsNeverMoreThanTheDefaultToleranceAllows) {
    for (const char* dtype : {"float32", "float64"})
        for (const double terms : {1e-3, 1.0, 1e9})
            for (const double noise : {0.0, 1e-12, 1.0})
                EXPECT_LE(rounding_of(1.0, terms, noise, dtype),
                          allowed_difference(0, 1.0, terms, noise, dtype, {}));
    EXPECT_NEAR(rounding_of(1.0, 1.0, 0.0, "float64"), 5.7e-14, 1e-15);
}

TEST(ForPeople, NamesEachSymptomOnceAndTheLastResortOnlyAlone) {
    const Diagnostic first{"a", 0.9, {"x"}, "do", {}, "[]"},
        last{"refused_otherwise", 0.1, {}, "", {}, ""};
    const auto names = [](const std::vector<Diagnostic>& found) {
        std::string text;
        for (const auto& one : for_people(found, {})) text += one.symptom + " ";
        return text;
    };
    EXPECT_EQ(names({first, first, last}), "a ");
    EXPECT_EQ(names({last}), "refused_otherwise ");
}

TEST(Summarize, WrapsLongTextsAndKeepsThePatchWhole) {
    TraceReport report;
    report.attempts.emplace_back();
    report.evidence.attempt.message = "start";
    for (int k = 0; k < 60; ++k) report.evidence.attempt.message += " words" + std::to_string(k);
    std::string patch = R"([{"op":"add","value":"a \"quoted, long\" one")";
    for (int k = 0; k < 30; ++k) patch += R"(,"key, )" + std::to_string(k) + R"(":[1,2])";
    report.diagnostics.push_back({"a", 0.9, {"x"}, "do", {}, patch + "}]"});
    const auto page = summarize(report);
    std::istringstream lines(page.substr(page.find("refused: ")));
    std::string line, joined;
    while (std::getline(lines, line)) {
        EXPECT_LE(line.size(), 120u) << line;
        joined += line.substr(line.find_first_not_of(' '));
    }
    expect_part(joined, patch);
    EXPECT_EQ(page.find("..."), std::string::npos);
    expect_part(page, "words59");
}

TEST(ValidateInParts, KeepsTheSpecThatCommunicatesLeast) {
    // pull is right with scatter_outputs too, which sends as much again
    auto request = scripted_request(kLayer + kPull + kLayer, with_op("pull", kGather, kScatter));
    request.autofix = AutoFix::Apply;
    const auto report = validate_in_parts(request);
    EXPECT_TRUE(report.ok);
    const auto right = spec_of(scripted_request(kLayer + kPull + kLayer, with_op("pull", "", "")));
    EXPECT_EQ(write_mlip_spec(report.spec), write_mlip_spec(right)) << summarize(report);
}

TEST(ValidateInParts, StopsAfterSoManyAttempts) {
    auto request = lacks_scatter();
    request.autofix = AutoFix::Apply;
    request.max_attempts = 1;
    const auto report = validate_in_parts(request);
    EXPECT_FALSE(report.ok);
    EXPECT_EQ(report.attempts.size(), 1u);
}

TEST(ValidateInParts, KeepsTheBestAttemptWhereNonePasses) {
    auto request = lacks_scatter();
    request.autofix = AutoFix::Apply;
    request.parts.wrap_exchange = faulty({Kind::DropForward, 1});  // no spec can mend that
    const auto report = validate_in_parts(request);
    EXPECT_FALSE(report.ok);
    EXPECT_GT(report.attempts.size(), 1u);
    EXPECT_LE(report.attempts.size(), 12u);
    double least = std::numeric_limits<double>::infinity();
    for (const auto& attempt : report.attempts) least = std::min(least, attempt.score);
    const auto kept =
        std::find_if(report.attempts.begin(), report.attempts.end(),
                     [&](const auto& attempt) { return attempt.spec == report.spec; });
    ASSERT_NE(kept, report.attempts.end());
    EXPECT_EQ(kept->score, least);
    expect_part(report.next_action, "specs passes");
}

TEST(ValidateInParts, TriesNoSpecsOnWrongParts) {
    auto request = scripted_request(kLayer + kLayer);
    request.autofix = AutoFix::Apply;
    request.parts.wrap_exchange = faulty({Kind::SwapRows});
    const auto report = validate_in_parts(request);
    EXPECT_FALSE(report.ok);
    EXPECT_EQ(report.attempts.size(), 1u);
    expect_part(report.next_action, "The exchange itself is at fault");
}

TEST(ValidateInParts, DoesNotBelieveASmallStructureInWhichAllRanksSeeAll) {
    // three times the sum over three ranks that all see everything: the ratio is right by chance
    const std::string mean =
        "    t = ops.adaptertest.total(torch.cat([h, torch.ones_like(h)], dim=1))\n"
        "    h = h * torch.cos(t[:4] / t[4:])\n";
    auto request = scripted_request(kLayer + mean, with_op("total", "", kReduce));
    request.ranks = 3;
    request.system = {};
    request.system.cell[0] = request.system.cell[4] = request.system.cell[8] = 5.5;
    for (int site = 0; site < 12; ++site) {
        request.system.species.push_back(site % 3);
        for (int axis = 0; axis < 3; ++axis)
            request.system.positions.push_back(0.46 * ((site * (axis + 3) * 5 + axis) % 12));
    }
    const auto report = validate_in_parts(request);
    ASSERT_TRUE(report.evidence.health.sees_everything);
    EXPECT_FALSE(report.ok);
    expect_part(report.attempts[0].message, "wrong on a chain of 12 atoms");
    ASSERT_FALSE(report.diagnostics.empty());
    EXPECT_EQ(report.diagnostics[0].symptom, "atoms_counted_twice");
}

TEST(ValidateInParts, FindsAnotherNumberOfExchangesThanTheCardExpects) {
    auto request = scripted_request(kLayer + kPull, with_op("pull", "", kScatter));
    auto& card = *request.session.card_text;
    card.insert(card.rfind('}'), R"(, "expected_exchanges": 1)");
    const auto right = validate_in_parts(request);
    EXPECT_FALSE(right.ok);  // scatter_outputs, which changes no number, adds one
    expect_part(right.attempts[0].message, "the model card expects 1 exchanges and there are 2");
    EXPECT_EQ(right.diagnostics.at(0).symptom, "other_exchange_count");
    request.autofix = AutoFix::Apply;
    EXPECT_TRUE(validate_in_parts(request).ok);
}

TEST(ValidateInParts, PlaysMoreRanksThanThereAreAtoms) {
    auto request = scripted_request(kLayer + kSystemSum);
    request.system.species.resize(5);
    request.system.positions.resize(15);
    request.ranks = 8;
    const auto report = validate_in_parts(request);
    EXPECT_TRUE(report.ok) << summarize(report);
    EXPECT_EQ(report.evidence.health.empty_parts, 3);
}

TEST(SessionWithoutDistribution, SaysWhatItLacks) {
    auto request = scripted_request(kLayer);
    request.session.distribute = false;
    const Session session(request.archive, request.session);
    expect_part(message_of([&] { session.listing(); }), "SessionOptions::distribute");
}

TEST(ErrorMap, FindsEnergiesThatBelongToOtherAtoms) {
    auto request = scripted_request(kLayer + kLayer);
    request.alter_parts = [](VirtualParts& parts) {
        auto& atoms = parts.parts[0].atom_of_row;
        std::swap(atoms[0], atoms[1]);
    };
    const auto report = validate_in_parts(request);
    EXPECT_FALSE(report.ok);
    ASSERT_TRUE(report.evidence.errors);
    EXPECT_TRUE(report.evidence.errors->same_multiset);
}

TEST(ErrorMap, TellsForcesOfOtherAtomsFromWrongForces) {
    WholeEvaluation whole;
    whole.atomic_energies = {1, 2};
    whole.forces = {1, 0, 0, 0, 2, 0};
    DecomposedEvaluation exchanged, wrong;
    exchanged.atomic_energies = wrong.atomic_energies = whole.atomic_energies;
    exchanged.forces = {0, 2, 0, 1, 0, 0};
    wrong.forces = {1, 0, 0, 0, 3, 0};
    const PlacedAtoms placed{{0, 1}, 2, {1, 1}, 5.0};

    EXPECT_TRUE(map_errors(whole, exchanged, placed, 1e-9, 1e-9).same_multiset);
    EXPECT_FALSE(map_errors(whole, wrong, placed, 1e-9, 1e-9).same_multiset);
}

TEST(ErrorMap, KeepsBothForcesOfABoundedNumberOfAtoms) {
    constexpr std::size_t kAtoms = 3000, kWrong = 1234;
    WholeEvaluation whole;
    DecomposedEvaluation found;
    for (std::size_t atom = 0; atom < kAtoms; ++atom)
        for (int axis = 0; axis < 3; ++axis)
            whole.forces.push_back(static_cast<double>(10 * atom + axis));
    whole.atomic_energies.assign(kAtoms, 0.0);
    found.forces = whole.forces;
    found.atomic_energies = whole.atomic_energies;
    found.forces[3 * kWrong + 1] += 1;
    const PlacedAtoms placed{std::vector<int>(kAtoms, 0), 1, std::vector<double>(kAtoms, 2.5), 5.0};

    const auto pairs = map_errors(whole, found, placed, 1e-9, 1e-9).force_pairs;

    ASSERT_LE(pairs.size(), kForcePairs);
    EXPECT_GT(pairs.size(), kForcePairs - 20);
    EXPECT_LT(pairs.front().atom, 10);
    EXPECT_GT(pairs.back().atom, 2990);
    const auto wrong = std::find_if(pairs.begin(), pairs.end(),
                                    [](const auto& pair) { return pair.atom == kWrong; });
    ASSERT_NE(wrong, pairs.end());
    EXPECT_EQ(wrong->reference, (std::array<double, 3>{12340, 12341, 12342}));
    EXPECT_EQ(wrong->decomposed, (std::array<double, 3>{12340, 12342, 12342}));
    EXPECT_EQ(wrong->face_distance, 2.5);
    EXPECT_TRUE(std::is_sorted(pairs.begin(), pairs.end(),
                               [](const auto& a, const auto& b) { return a.atom < b.atom; }));
}

TEST(WriteTraceReport, IsOnePageForAPersonAndCompleteForAProgram) {
    auto request = lacks_scatter();
    request.autofix = AutoFix::Apply;
    const auto report = validate_in_parts(request);
    const auto page = summarize(report);
    EXPECT_LE(std::count(page.begin(), page.end(), '\n'), 60);
    const auto text = write_trace_report(report);
    for (const char* key : {"\"format\": \"nvalchemi-trace-report\"", "\"ok\": true",
                            "\"fix_applied\": \"missing_scatter_outputs\"", "\"hash\": \"fnv1a64:",
                            "\"symptom\": \"missing_scatter_outputs\"", "\"ranks\": 3"})
        expect_part(text, key);
}

TEST(ValidateInParts, EndsAtTheSpecThatCommunicatesLeast) {
    const auto right = scripted_request(kLayer + kPull + kLayer, with_op("pull", "", ""));
    auto request = scripted_request(
        kLayer + kPull + kLayer,
        with_ops({adapter("pull", "", kScatter), adapter("of_another_library", "", "")}));
    request.autofix = AutoFix::Apply;
    // in one part every spec sends nothing: then the chain decides
    for (const int ranks : {1, 3}) {
        request.ranks = ranks;
        const auto report = validate_in_parts(request);
        EXPECT_TRUE(report.ok) << summarize(report);
        EXPECT_EQ(write_mlip_spec(report.spec), write_mlip_spec(spec_of(right)))
            << summarize(report);
        EXPECT_EQ(report.attempts[1].verdict, Verdict::Passed);
        EXPECT_GT(report.attempts[1].chain_bytes, 0);
        EXPECT_EQ(report.attempts[1].bytes_per_step > 0, ranks > 1);
    }
}

TEST(ValidateInParts, RefreshesHaloRowsWhereThatCommunicatesLess) {
    auto request = archive_request("toy_index_add", "toy_nacl64");
    request.ranks = 3;
    const auto right = validate_in_parts(request);
    ASSERT_TRUE(right.ok) << summarize(right);
    auto spec = right.spec;
    spec.distribution.policy.gather_mode = GatherMode::Local;
    spec.distribution.custom_ops.push_back({"no_such::op", {}, {}});
    request.session.spec = spec;
    request.autofix = AutoFix::Apply;
    const auto mended = validate_in_parts(request);
    EXPECT_TRUE(mended.ok);
    EXPECT_EQ(write_mlip_spec(mended.spec), write_mlip_spec(right.spec)) << summarize(mended);
    EXPECT_GT(mended.attempts[1].bytes_per_step, right.attempts[0].bytes_per_step);
    EXPECT_EQ(mended.fix_applied, "operator_not_found, less_communication_with_halo_read");
}

TEST(SpecPatch, LeadsFromATextThatNoStrictReaderTakes) {
    const auto spec = *find_preset("SPEC_MPNN_HALO");
    auto text = write_mlip_spec(spec);
    EXPECT_EQ(make_text_patch("no JSON", spec, spec), "[]");
    const auto version = text.find("2");
    ASSERT_NE(text.find("version"), std::string::npos);
    ASSERT_LT(text.find("version"), version);
    text.insert(version + 1, ".0");
    EXPECT_EQ(make_text_patch(text, spec, spec),
              R"([{"op":"replace","path":"/version","value":2}])");
}

TEST(KnownSymptoms, HaveNamesOfTheirOwn) {
    auto names = known_symptoms();
    EXPECT_GE(names.size(), 30u);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(EditRules, AreInOneTableWithNamesAndBounds) {
    EXPECT_GE(edit_rules().size(), 8u);
    for (const auto& rule : edit_rules()) {
        EXPECT_NE(std::string(rule.name), "");
        EXPECT_GT(rule.confidence, 0);
        EXPECT_LT(rule.confidence, 0.6);
    }
}

}  // namespace nvalchemi
