// SPDX-License-Identifier: GPL-2.0-only
#include "spec/write_mlip_spec.hpp"

#include <gtest/gtest.h>

#include "unittest/spec/spec_texts.hpp"

namespace nvalchemi {

namespace {

/// A spec in which nothing is at its default.
MLIPSpec full_spec() {
    using Kind = OutputTransform::Kind;
    MLIPSpec spec;
    spec.distribution.policy = {PolicyKind::RefreshHalo, ScatterMode::Local, GatherMode::Local};
    spec.distribution.custom_ops = {
        {"demo::stage1",
         {{10, ArgTransform::SliceOwned}, {2, ArgTransform::GatherInputs}},
         {{0, {Kind::AllReduceSum, true}}, {1, {Kind::ScatterOutputs}}}}};
    spec.distribution.third_party_helpers = {
        JitAdapter{"m", "f", "r:g", true}, PythonAdapter{"m", "f", std::nullopt},
        MethodAdapter{"m", "C", "f", "r:h", false}, ModuleForward{"m.C.forward", "label"}};
    spec.distribution.shard_fields = {"velocities", "positions"};
    spec.system_reductions = false;
    spec.node_energy_key = "e";
    spec.node_virial_key = "v";
    spec.owned_only_outputs = {"forces", "charges"};
    spec.all_reduce_outputs = {"stress"};
    spec.output_kinds = {{"stress", OutputKind::Global}, {"forces", OutputKind::PerNode}};
    spec.compile = CompilePolicy{false, ForceStrategy::FrameworkFromNodeEnergy, true};
    return spec;
}

/// The text up to and including `last`, which must occur.
std::string upto(const std::string& text, const std::string& last) {
    const std::size_t position = text.find(last);
    return position == std::string::npos ? "(" + last + " is missing)"
                                         : text.substr(0, position + last.size());
}

}  // namespace

TEST(WriteMlipSpec, WritesTheSmallestSpecWithEveryKey) {
    EXPECT_EQ(write_mlip_spec(MLIPSpec{}), R"({
  "version": 2,
  "core": {
    "policy": {
      "kind": "halo",
      "scatter_mode": "halo_correction",
      "gather_mode": "halo_read"
    },
    "custom_ops": [],
    "third_party_helpers": []
  },
  "system_reductions": true,
  "node_energy_key": null,
  "node_virial_key": null,
  "gp_replicate_geometry": false,
  "owned_only_outputs": [],
  "all_reduce_outputs": [],
  "output_kinds": [],
  "compile": null
})");
}

TEST(WriteMlipSpec, WritesPositionsInNumericOrderAndReplicatedConsumerAlways) {
    MLIPSpec spec = full_spec();
    spec.distribution.policy = {};
    spec.distribution.custom_ops[0].output_transforms[2] = {OutputTransform::Kind::AllReduceSum};

    EXPECT_EQ(upto(write_mlip_spec(spec), R"("third_party_helpers")"), R"({
  "version": 2,
  "core": {
    "policy": {
      "kind": "halo",
      "scatter_mode": "halo_correction",
      "gather_mode": "halo_read"
    },
    "custom_ops": [
      {
        "op": "demo::stage1",
        "arg_transforms": {
          "2": {
            "type": "gather_inputs"
          },
          "10": {
            "type": "slice_owned"
          }
        },
        "output_transforms": {
          "0": {
            "type": "all_reduce_sum",
            "replicated_consumer": true
          },
          "1": {
            "type": "scatter_outputs"
          },
          "2": {
            "type": "all_reduce_sum",
            "replicated_consumer": false
          }
        }
      }
    ],
    "third_party_helpers")");
}

TEST(WriteMlipSpec, IsReadAgainWithoutLoss) {
    const std::string text = write_mlip_spec(full_spec());

    EXPECT_EQ(parse_mlip_spec(text), full_spec());
    EXPECT_EQ(write_mlip_spec(parse_mlip_spec(text)), text);
}

TEST(WriteMlipSpec, WritesShardFieldsOnlyWhereTheyAreNotTheDefault) {
    const auto written = [](const std::optional<std::vector<std::string>>& fields) {
        MLIPSpec spec;
        spec.distribution.shard_fields = fields;
        const std::string text = write_mlip_spec(spec);
        const std::size_t start = text.find("\"shard_fields\"");
        return start == std::string::npos ? "" : text.substr(start, text.find(']') - start);
    };

    EXPECT_EQ(written(std::nullopt), "");
    EXPECT_EQ(written({{"positions", "charges", "atomic_numbers"}}), "");
    EXPECT_EQ(written(std::vector<std::string>{}).find("\"shard_fields\": []"), 0U);
    EXPECT_NE(written({{"positions"}}), "");
}

TEST(WriteMlipSpec, WritesModesOfPoliciesThatHaveThemOnly) {
    MLIPSpec spec;
    spec.distribution.policy.kind = PolicyKind::GraphParallel;

    EXPECT_EQ(upto(write_mlip_spec(spec), "\"custom_ops\""), R"({
  "version": 2,
  "core": {
    "policy": {
      "kind": "graph_parallel"
    },
    "custom_ops")");
}

TEST(WriteMlipSpec, KeepsNamesInAnyAlphabet) {
    MLIPSpec spec;
    spec.owned_only_outputs = {"kr\303\244fte", "\xF0\x9F\x98\x80", "a\"\\\n\x7F"};

    const std::string text = write_mlip_spec(spec);

    // As json.dumps of Python writes them, in ascending order of code points.
    EXPECT_NE(text.find("\"a\\\"\\\\\\n\\u007f\",\n    \"kr\\u00e4fte\",\n    \"\\ud83d\\ude00\""),
              std::string::npos)
        << text;
    EXPECT_EQ(parse_mlip_spec(text), spec);
}

TEST(WriteMlipSpec, RefusesNamesThatAreNotUtf8) {
    MLIPSpec spec;
    spec.node_energy_key = "a\xFF";

    EXPECT_EQ(testing::refusal_of([&] { write_mlip_spec(spec); }),
              "JSON text /: got a string with a byte that is not UTF-8 at position 1 of 2, "
              "expected UTF-8");
}

TEST(MigrateMlipSpec, WritesTheCanonicalFormOfADoubtfulText) {
    std::vector<std::string> warnings;

    const std::string text =
        migrate_mlip_spec(testing::spec_with(R"("owned_only_outputs": "forces", "compile": null)"),
                          "old.json", warnings);

    MLIPSpec expected;
    expected.owned_only_outputs = {"forces"};
    EXPECT_EQ(text, write_mlip_spec(expected));
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0].find("old.json /owned_only_outputs: got \"forces\""), 0U);
}

}  // namespace nvalchemi
