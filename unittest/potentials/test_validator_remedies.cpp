// SPDX-License-Identifier: GPL-2.0-only
// What is said of a spec that was refused, and which specs are refused as attempts.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "potentials/validator/refusal_remedy.hpp"
#include "spec/parse_mlip_spec.hpp"
#include "spec/spec_error.hpp"
#include "spec/write_mlip_spec.hpp"
#include "unittest/potentials/test_validator_support.hpp"

namespace nvalchemi {

namespace {

using namespace testing;

const std::string kHalo = R"({"version": 2, "core": {"policy": {"kind": "halo"}})";

std::string remedy_of(const ValidationRequest& request, const std::string& spec_name = "") {
    return remedy_of_refusal(request.archive, request.session, spec_name);
}

/// A file of this text, in the scratch folder of the tests.
std::string file_with(const std::string& text) {
    const auto path = std::filesystem::path(::testing::TempDir()) / "refused.spec.json";
    std::ofstream(path) << text;
    return path.string();
}

void expect_part(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "got: " << text << "\nexpected: " << part;
}

/// The first diagnosis of a spec that was read leniently, and whether an edit mends it.
void expect_mended(const std::string& body, const std::string& spec, const std::string& symptom) {
    auto request = scripted_request(body);
    request.session.spec = parse_mlip_spec(spec, "spec", "", {/*lenient=*/true, nullptr});
    request.autofix = AutoFix::Apply;
    const auto report = validate_in_parts(request);
    EXPECT_EQ(report.attempts[0].verdict, Verdict::Refused) << spec;
    ASSERT_FALSE(report.diagnostics.empty()) << spec;
    EXPECT_EQ(report.diagnostics[0].symptom, symptom) << spec;
    EXPECT_TRUE(report.ok) << spec << "\n" << summarize(report);
}

std::string with_policy(const std::string& policy, const std::string& op, const std::string& rest) {
    return R"({"version": 2, "core": {"policy": )" + policy + op + "}" + rest + "}";
}

}  // namespace

TEST(RemedyOfRefusal, IsAnEditThatPassesOnAChain) {
    const auto request =
        scripted_request(kLayer + kLayer, "", "",
                         R"("kind": "halo", "scatter_mode": "local", "gather_mode": "local")");
    const auto text = remedy_of(request);
    expect_part(text,
                "What would mend it (stale_halo_rows): the edit "
                R"([{"op":"replace","path":"/core/policy/gather_mode","value":"halo_read"}])"
                " of the model card's spec passes on a chain of atoms; make it");
    expect_part(text,
                "'nvalchemi-validate --archive network.pt --card network.card.json "
                "--structure STRUCTURE.json --ranks 4 --autofix apply --write-spec "
                "mended.spec.json' and then 'pair_style nvalchemi spec mended.spec.json'");
}

TEST(RemedyOfRefusal, NamesTheSpecAndTheLibrariesThatWereGiven) {
    auto request = scripted_request(kLayer + kLayer);
    request.session.spec = parse_mlip_spec(with_policy(R"({"kind": "local"})", "", ""));
    const auto text = remedy_of(request, "mine.json");
    expect_part(text, " of mine.json passes on a chain");
    expect_part(text, " --card network.card.json --spec mine.json --structure");
}

TEST(RemedyOfRefusal, ReadsAFileThatTheStrictReaderRefuses) {
    const auto shard = file_with(with_policy(R"({"kind": "shard"})", "", ""));
    expect_part(remedy_of(scripted_request(kLayer + kLayer), shard),
                "What would mend it (policy_not_supported): the edit [{");
    const auto unsorted =
        file_with(kHalo + R"(, "output_kinds": [["z", "per_node"], ["energies", "per_node"]]})");
    EXPECT_EQ(
        remedy_of(scripted_request(kLayer + kLayer), unsorted),
        "What was meant passes on a chain of atoms: write it anew by 'nvalchemi-spec migrate " +
            unsorted + " --output mended.spec.json'");
}

TEST(RemedyOfRefusal, SaysHowToLookWhereNoEditIsKnown) {
    // a dead end: the network assigns rows by their number
    const auto request = scripted_request(kLayer + "    h[0] = h[0] * 2\n" + kLayer);
    const auto text = remedy_of(request);
    expect_part(text,
                "Look for a spec that passes on a structure of your own, by "
                "'nvalchemi-validate --archive network.pt");
    EXPECT_EQ(text.find("What would mend it"), std::string::npos) << text;
}

TEST(RemedyOfRefusal, IsSilentWhereNoSpecIsToBlame) {
    auto request = scripted_request(kLayer);
    request.archive = "no archive";
    EXPECT_EQ(remedy_of(request), "");
    EXPECT_EQ(remedy_of(scripted_request(kLayer), file_with("{")), "");
    EXPECT_EQ(remedy_of(scripted_request(kLayer), "/nowhere/spec.json"), "");
    auto device = scripted_request(kLayer);
    device.session.device = "cuda:99";  // refused, whatever the spec
    EXPECT_EQ(remedy_of(device), "");
    device.session.spec = parse_mlip_spec(with_policy(R"({"kind": "halo"})", "", ""));
    EXPECT_EQ(remedy_of(device, "mine.json"), "");
}

TEST(ValidateInParts, MendsSpecsThatOnlyALenientReaderTakes) {
    const auto push = R"(, "custom_ops": [{"op": "adaptertest::push", "arg_transforms": {},
        "output_transforms": {"0": {"type": "scatter_outputs"}}}])";
    const auto sliced = R"(, "custom_ops": [{"op": "adaptertest::pull", "arg_transforms": {},
        "output_transforms": {"0": {"type": "slice_outputs_owned"}}}])";
    const auto blocks = R"(, "custom_ops": [{"op": "adaptertest::push", "arg_transforms": {},
        "output_transforms": {"0": {"type": "slice_outputs_owned"}}}])";
    const std::string halo = R"({"kind": "halo"})", local = R"({"kind": "local"})";
    expect_mended(kLayer + kPush, with_policy(local, push, ""), "transform_of_other_policy");
    expect_mended(kLayer + kPull, with_policy(halo, sliced, ""), "transform_of_other_policy");
    expect_mended(kLayer + kPush, with_policy(halo, blocks, ""), "transform_of_other_policy");
    expect_mended(kLayer, with_policy(halo, "", R"(, "gp_replicate_geometry": true)"),
                  "geometry_not_replicated");
    expect_mended(kLayer, with_policy(R"({"kind": "shard"})", "", ""), "policy_not_supported");
}

TEST(ValidateInParts, KeepsTheRightOneOfTwoAdapters) {
    const std::string halo = R"({"kind": "halo"})";
    const auto empty = adapter("push", "", ""), scatters = adapter("push", "", kScatter);
    for (const auto& both : {std::vector{empty, scatters}, std::vector{scatters, empty}})
        expect_mended(kLayer + kPush, with_policy(halo, with_ops(both), ""), "duplicate_adapter");
}

TEST(ValidateInParts, ReportsASpecThatAStrictReaderTakes) {
    // no spec is right for this network
    auto request = scripted_request(kLayer + "    h = h + 0.1 * h.max()\n" + kPush);
    const auto twice =
        with_policy(R"({"kind": "halo"})",
                    with_ops({adapter("push", "", ""), adapter("push", "", kScatter)}), "");
    EXPECT_THROW(parse_mlip_spec(twice, "spec"), SpecError);
    request.session.spec = parse_mlip_spec(twice, "spec", "", {/*lenient=*/true, nullptr});
    request.autofix = AutoFix::Apply;
    const auto report = validate_in_parts(request);
    EXPECT_FALSE(report.ok);
    EXPECT_EQ(report.spec.distribution.custom_ops.size(), 1u);
    EXPECT_NO_THROW(parse_mlip_spec(write_mlip_spec(report.spec), "spec"));
}

TEST(ValidateInParts, MendsSpecsOfAnotherModelAtOnce) {
    auto request = scripted_request(kLayer + kLayer);
    request.session.spec = parse_mlip_spec(with_policy(
        R"({"kind": "halo"})", R"(, "custom_ops": [{"op": "no_such::op"}], "third_party_helpers": [
            {"kind": "python", "module_path": "some.where", "attr_name": "add_up"},
            {"kind": "module_forward", "target": "other.model.Block.forward", "label": "block"},
            {"kind": "python", "module_path": "else.where", "attr_name": "add_down"}])",
        ""));
    request.autofix = AutoFix::Apply;
    const auto report = validate_in_parts(request);
    EXPECT_TRUE(report.ok) << summarize(report);
    EXPECT_TRUE(report.spec.distribution.custom_ops.empty());
    EXPECT_TRUE(report.spec.distribution.third_party_helpers.empty());
    ASSERT_GE(report.attempts.size(), 3u);
    EXPECT_EQ(report.attempts[2].verdict, Verdict::Passed) << summarize(report);
}

TEST(ValidateInParts, ProposesNoHelperWhereTheArchiveHasNone) {
    for (const char* body : {"    h = h + torch.arange(n).to(h.dtype).unsqueeze(-1)\n",
                             "    h = h + torch.rand_like(h)\n", "    h = h + 0.1 * h.max()\n",
                             "    h = h * (1.0 + 0.1 * float(n))\n"}) {
        const auto report = validate_in_parts(scripted_request(kLayer + body + kLayer));
        EXPECT_EQ(report.attempts[0].verdict, Verdict::Refused) << body;
        EXPECT_FALSE(report.evidence.free_functions.empty());
        for (const auto& found : report.diagnostics)
            EXPECT_NE(found.symptom, "undeclared_helper") << body;
    }
}

TEST(ValidateInParts, CountsExchangesOfTheCardsOwnSpecOnly) {
    auto request = scripted_request(kLayer + kPull, with_op("pull", "", kScatter));
    auto& card = *request.session.card_text;
    card.insert(card.rfind('}'), R"(, "expected_exchanges": 1)");
    EXPECT_FALSE(validate_in_parts(request).ok);
    request.session.spec = parse_model_card(card, "card").spec;
    EXPECT_TRUE(validate_in_parts(request).ok);
}

}  // namespace nvalchemi
