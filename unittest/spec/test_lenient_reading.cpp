// SPDX-License-Identifier: GPL-2.0-only
// What a lenient reading makes of each doubt: one warning, and the data as stated there.
#include <gtest/gtest.h>

#include "spec/json_cursor.hpp"
#include "unittest/spec/spec_texts.hpp"

namespace nvalchemi {

using testing::core_with;
using testing::helper_with;
using testing::lenient_refusal_of_spec;
using testing::LenientReading;
using testing::op_with;
using testing::policy_of;
using testing::read_leniently;
using testing::refusal_of_spec;
using testing::spec_with;

namespace {

/// Read a text that has one doubt: the warning must say what the strict refusal says, and then
/// `consequence`.
MLIPSpec read_one_doubt(const std::string& text, const std::string& consequence) {
    const LenientReading reading = read_leniently(text);
    EXPECT_EQ(reading.warnings,
              std::vector<std::string>{refusal_of_spec(text) + "; lenient: " + consequence});
    return reading.spec;
}

}  // namespace

TEST(LenientReading, WarnsOfNothingInACleanSpec) {
    const LenientReading reading = read_leniently(spec_with(R"("owned_only_outputs": ["a", "b"])"));

    EXPECT_TRUE(reading.warnings.empty());
}

TEST(LenientReading, NeedsNoPlaceForWarnings) {
    const MLIPSpec spec =
        parse_mlip_spec(spec_with(R"("frobnicate": 1)"), "mlip_spec", "", {true, nullptr});

    EXPECT_EQ(spec, MLIPSpec{});
}

TEST(LenientReading, IgnoresUnknownKeys) {
    for (const std::string& text :
         {spec_with(R"("outputs": {"energy": {"kind": "per_graph"}})"),
          core_with(R"("frobnicate": 1)"), policy_of(R"("kind": "halo", "width": 1)")}) {
        EXPECT_EQ(read_one_doubt(text, "the key is ignored"), MLIPSpec{}) << text;
    }
    EXPECT_EQ(read_leniently(spec_with(R"("a": 1, "b": 2)")).warnings.size(), 2U);
}

TEST(LenientReading, TakesTheLastOfRepeatedKeys) {
    const MLIPSpec spec = read_one_doubt(
        spec_with(R"("node_energy_key": "a", "node_energy_key": "b")"), "its last value counts");

    EXPECT_EQ(spec.node_energy_key, "b");
    EXPECT_EQ(read_leniently(R"({"version": 1, "core": {"policy": {"kind": "halo"}}, "version": 2,
                                 "version": 2})")
                  .warnings.size(),
              2U);
}

TEST(LenientReading, TakesAFloatingPointVersion) {
    read_one_doubt(R"({"version": 2.0, "core": {"policy": {"kind": "halo"}}})", "taken as 2");
}

TEST(LenientReading, TakesOtherModesAsLocal) {
    const MLIPSpec scatter = read_one_doubt(
        policy_of(R"("kind": "halo", "scatter_mode": "distributed")"), "acts as \"local\"");
    const MLIPSpec gather =
        read_one_doubt(policy_of(R"("kind": "halo", "gather_mode": null)"), "acts as \"local\"");

    EXPECT_EQ(scatter.distribution.policy.scatter_mode, ScatterMode::Local);
    EXPECT_EQ(gather.distribution.policy.gather_mode, GatherMode::Local);
}

TEST(LenientReading, KeepsThePolicyShardAndItsTransforms) {
    const MLIPSpec spec = read_one_doubt(
        op_with(R"("arg_transforms": {"0": {"type": "gather_inputs_full"}})", "shard"),
        "kept, but no model can run with it");

    EXPECT_EQ(spec.distribution.policy.kind, PolicyKind::Shard);
    EXPECT_EQ(spec.distribution.custom_ops.at(0).arg_transforms.at(0),
              ArgTransform::GatherInputsFull);
}

TEST(LenientReading, TakesFlagsByTheirTruth) {
    const auto flag = [](const std::string& value, const std::string& consequence) {
        return read_one_doubt(spec_with("\"system_reductions\": " + value), consequence)
            .system_reductions;
    };

    EXPECT_TRUE(flag("\"false\"", "taken as true, as any text is that is not empty"));
    EXPECT_TRUE(flag("0.5", "taken as true"));
    EXPECT_TRUE(flag("[false]", "taken as true"));
    EXPECT_TRUE(flag("{\"a\": 1}", "taken as true"));
    for (const char* value : {"\"\"", "0", "0.0", "null", "[]", "{}"}) {
        EXPECT_FALSE(flag(value, "taken as false")) << value;
    }
}

TEST(LenientReading, TakesAStringForAnArrayOfOneName) {
    const MLIPSpec names =
        read_one_doubt(spec_with(R"("owned_only_outputs": "forces")"), "taken as the one name");
    const MLIPSpec fields =
        read_one_doubt(core_with(R"("shard_fields": "positions")"), "taken as the one name");
    const MLIPSpec none = read_one_doubt(core_with(R"("shard_fields": "")"), "taken as no name");

    EXPECT_EQ(names.owned_only_outputs, std::set<std::string>{"forces"});
    EXPECT_EQ(fields.distribution.shard_fields, std::vector<std::string>{"positions"});
    EXPECT_EQ(none.distribution.shard_fields, std::vector<std::string>{});
}

TEST(LenientReading, TakesTheKeysOfAnObjectForNames) {
    const MLIPSpec spec = read_one_doubt(
        spec_with(R"("all_reduce_outputs": {"u": 1, "stress": 2})"), "its keys are the names");

    EXPECT_EQ(spec.all_reduce_outputs, (std::set<std::string>{"stress", "u"}));
}

TEST(LenientReading, SortsAndUnifiesNames) {
    const MLIPSpec sorted =
        read_one_doubt(spec_with(R"("owned_only_outputs": ["c", "b", "a"])"), "sorted");
    const MLIPSpec unified =
        read_one_doubt(spec_with(R"("owned_only_outputs": ["a", "a"])"), "it counts once");
    const MLIPSpec empty = read_one_doubt(spec_with(R"("owned_only_outputs": [""])"), "kept");

    EXPECT_EQ(sorted.owned_only_outputs, (std::set<std::string>{"a", "b", "c"}));
    EXPECT_EQ(unified.owned_only_outputs, std::set<std::string>{"a"});
    EXPECT_EQ(empty.owned_only_outputs, std::set<std::string>{""});
}

TEST(LenientReading, KeepsUnknownAndRepeatedShardFields) {
    const MLIPSpec unknown = read_one_doubt(core_with(R"("shard_fields": ["no_such_field"])"),
                                            "kept, but no field has this name");
    const MLIPSpec repeated =
        read_one_doubt(core_with(R"("shard_fields": ["tags", "tags"])"), "it counts once");

    EXPECT_EQ(unknown.distribution.shard_fields, std::vector<std::string>{"no_such_field"});
    EXPECT_EQ(repeated.distribution.shard_fields, (std::vector<std::string>{"tags", "tags"}));
}

TEST(LenientReading, KeepsANameInBothReductions) {
    const MLIPSpec spec = read_one_doubt(
        spec_with(R"("owned_only_outputs": ["s"], "all_reduce_outputs": ["s"])"), "kept in both");

    EXPECT_EQ(spec.owned_only_outputs, spec.all_reduce_outputs);
}

TEST(LenientReading, TakesOtherFormsOfOutputKinds) {
    const auto kinds = [](const std::string& value, const std::string& consequence) {
        return read_one_doubt(spec_with("\"output_kinds\": " + value), consequence).output_kinds;
    };
    using Kinds = std::map<std::string, OutputKind>;

    EXPECT_EQ(kinds("null", "taken as none"), Kinds{});
    EXPECT_EQ(kinds(R"({"f": "per_node", "e": "global"})", "taken as pairs"),
              (Kinds{{"e", OutputKind::Global}, {"f", OutputKind::PerNode}}));
    EXPECT_EQ(kinds(R"([["e", "per_node"], ["e", "global"]])", "the last one counts"),
              (Kinds{{"e", OutputKind::Global}}));
    EXPECT_EQ(kinds(R"([["f", "global"], ["e", "global"]])", "sorted").size(), 2U);
    EXPECT_EQ(kinds(R"([["x", "unknown"]])", "kept"), (Kinds{{"x", OutputKind::Unknown}}));
}

TEST(LenientReading, TakesAnEmptyCompileObjectAsNull) {
    EXPECT_EQ(read_one_doubt(spec_with(R"("compile": {})"), "taken as null").compile, std::nullopt);
}

TEST(LenientReading, KeepsReplicatedGeometryOutsideGraphParallel) {
    EXPECT_TRUE(read_one_doubt(spec_with(R"("gp_replicate_geometry": true)"),
                               "kept, without effect under policy \"halo\"")
                    .gp_replicate_geometry);
}

TEST(LenientReading, ReadsPositionsLikePython) {
    const auto position = [](const std::string& text, const std::string& consequence) {
        const std::string transforms =
            "\"arg_transforms\": {\"" + text + "\": {\"type\": \"slice_owned\"}}";
        return read_one_doubt(op_with(transforms), consequence)
            .distribution.custom_ops.at(0)
            .arg_transforms.begin()
            ->first;
    };

    EXPECT_EQ(position("-1", "kept, without effect"), -1);
    EXPECT_EQ(position("007", "taken as 7"), 7);
    EXPECT_EQ(position(" +1_0\\n", "taken as 10"), 10);
    EXPECT_EQ(position("-0", "taken as 0"), 0);
}

TEST(LenientReading, TakesTheLastTransformOfAPosition) {
    const LenientReading reading = read_leniently(op_with(
        R"("arg_transforms": {"1": {"type": "slice_owned"}, "01": {"type": "gather_inputs"}})"));

    ASSERT_EQ(reading.warnings.size(), 2U);
    EXPECT_EQ(reading.warnings[1],
              "mlip_spec /core/custom_ops/0/arg_transforms/01: got position 1 a second time, "
              "expected each position once; lenient: the last one counts");
    EXPECT_EQ(reading.spec.distribution.custom_ops.at(0).arg_transforms,
              (std::map<int, ArgTransform>{{1, ArgTransform::GatherInputs}}));
}

TEST(LenientReading, KeepsTransformsOfAnotherStorage) {
    const MLIPSpec spec =
        read_one_doubt(op_with(R"("output_transforms": {"0": {"type": "slice_outputs_owned"}})"),
                       "kept, without effect under policy \"halo\"");

    EXPECT_EQ(spec.distribution.custom_ops.at(0).output_transforms.at(0).kind,
              OutputTransform::Kind::SliceOutputsOwned);
}

TEST(LenientReading, KeepsOperatorsWithTwoMeanings) {
    const MLIPSpec spec = read_one_doubt(core_with(R"("custom_ops": [{"op": "a::b"},
        {"op": "a::b", "arg_transforms": {"0": {"type": "slice_owned"}}}])"),
                                         "both are kept, and the last one counts");

    EXPECT_EQ(spec.distribution.custom_ops.size(), 2U);
}

TEST(LenientReading, KeepsReplacementsThatBindToNothing) {
    for (const std::string name : {"m.f", "m:f.<locals>.g"}) {
        const MLIPSpec spec = read_one_doubt(
            helper_with(R"("kind": "jit", "module_path": "m", "attr_name": "f", "replacement": ")" +
                        name + "\""),
            "kept, but it binds to nothing");

        const auto& helper = std::get<JitAdapter>(spec.distribution.third_party_helpers.at(0));
        EXPECT_EQ(helper.replacement, name);
    }
}

TEST(LenientReading, TakesOtherModesOfHelpersAsTheDefault) {
    const MLIPSpec spec =
        read_one_doubt(helper_with(R"("kind": "method", "module_path": "m", "class_name": "C",
                       "method_name": "f", "mode": "Marshal")"),
                       "acts as \"wrap\"");

    EXPECT_FALSE(std::get<MethodAdapter>(spec.distribution.third_party_helpers.at(0)).marshal);
}

TEST(LenientReading, RefusesWhatPythonRefusesAndWhatCannotBeKept) {
    for (const std::string& text :
         {spec_with(R"("owned_only_outputs": null)"), spec_with(R"("owned_only_outputs": [1])"),
          spec_with(R"("node_energy_key": 3)"), spec_with(R"("output_kinds": [["e"]])"),
          spec_with(R"("output_kinds": [["e", "per_system"]])"),
          spec_with(R"("compile": {"static_shapes": true})"), policy_of(R"("kind": "replicated")"),
          op_with(R"("arg_transforms": {"x": {"type": "slice_owned"}})"),
          op_with(R"("arg_transforms": {"0": {"type": "slice_owned", "foo": 1}})"),
          op_with(R"("arg_transforms": {"99999999999": {"type": "slice_owned"}})"),
          helper_with(R"("kind": "python", "module_path": "m")"),
          helper_with(R"("kind": "python", "module_path": 3, "attr_name": "f")"),
          std::string(R"({"version": 2, "core": {"policy": {"kind": "halo"}}, "x": NaN})")}) {
        EXPECT_NE(lenient_refusal_of_spec(text), "(accepted)") << text;
        EXPECT_EQ(lenient_refusal_of_spec(text), refusal_of_spec(text));
    }
}

TEST(LenientReading, CoversASpecInsideAnotherDocument) {
    const JsonCursor card = JsonCursor::parse(
        R"({"spec": {"version": 2, "core": {"policy": {"kind": "halo"}, "x": 1}}})", "card.json");
    std::vector<std::string> warnings;

    read_mlip_spec(card.at("spec"), {true, &warnings});

    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0].find("card.json /spec/core/x: got the unknown key"), 0U);
}

}  // namespace nvalchemi
