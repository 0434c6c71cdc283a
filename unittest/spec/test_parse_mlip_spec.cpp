// SPDX-License-Identifier: GPL-2.0-only
#include "spec/parse_mlip_spec.hpp"

#include <gtest/gtest.h>

#include "unittest/spec/spec_texts.hpp"

namespace nvalchemi {

using testing::core_with;
using testing::helper_with;
using testing::op_with;
using testing::policy_of;
using testing::spec_with;

TEST(ParseMlipSpec, FillsDefaultsOfTheSmallestSpec) {
    const MLIPSpec spec = parse_mlip_spec(policy_of(R"("kind": "halo")"));

    EXPECT_EQ(spec, MLIPSpec{});
    EXPECT_EQ(spec.distribution.policy.scatter_mode, ScatterMode::HaloCorrection);
    EXPECT_EQ(spec.distribution.policy.gather_mode, GatherMode::HaloRead);
    EXPECT_TRUE(spec.system_reductions);
    EXPECT_FALSE(spec.distribution.shard_fields.has_value());
    EXPECT_FALSE(spec.compile.has_value());
}

TEST(ParseMlipSpec, ReadsEveryField) {
    const MLIPSpec spec = parse_mlip_spec(R"({
        "version": 2,
        "core": {"policy": {"kind": "halo", "scatter_mode": "local", "gather_mode": "local"},
                 "custom_ops": [], "third_party_helpers": [],
                 "shard_fields": ["positions", "charges"]},
        "system_reductions": false,
        "node_energy_key": "atomic_energies", "node_virial_key": "atomic_virial",
        "gp_replicate_geometry": false,
        "owned_only_outputs": ["charges", "forces"], "all_reduce_outputs": ["stress"],
        "output_kinds": [["a", "per_node"], ["b", "per_graph"], ["c", "global"]],
        "compile": {"static_shapes": false, "force_strategy": "framework_from_node_energy",
                    "stress_via_strain": true}})");

    MLIPSpec expected;
    expected.distribution.policy = {PolicyKind::Halo, ScatterMode::Local, GatherMode::Local};
    expected.distribution.shard_fields = {"positions", "charges"};
    expected.system_reductions = false;
    expected.node_energy_key = "atomic_energies";
    expected.node_virial_key = "atomic_virial";
    expected.owned_only_outputs = {"charges", "forces"};
    expected.all_reduce_outputs = {"stress"};
    expected.output_kinds = {
        {"a", OutputKind::PerNode}, {"b", OutputKind::PerGraph}, {"c", OutputKind::Global}};
    expected.compile = CompilePolicy{false, ForceStrategy::FrameworkFromNodeEnergy, true};
    EXPECT_EQ(spec, expected);
}

TEST(ParseMlipSpec, ReadsBothVariantsOfVersionTwo) {
    const MLIPSpec without_compile = parse_mlip_spec(spec_with(R"("output_kinds": [])"));
    const MLIPSpec with_null = parse_mlip_spec(spec_with(R"("compile": null)"));
    const MLIPSpec with_object =
        parse_mlip_spec(spec_with(R"("compile": {"force_strategy": "model_internal"})"));

    EXPECT_EQ(without_compile, with_null);
    EXPECT_EQ(with_object.compile, CompilePolicy{});
}

TEST(ParseMlipSpec, DistinguishesAbsentFromEmptyShardFields) {
    const auto absent = parse_mlip_spec(policy_of(R"("kind": "halo")")).distribution.shard_fields;
    const auto empty =
        parse_mlip_spec(core_with(R"("shard_fields": [])")).distribution.shard_fields;

    EXPECT_EQ(absent, std::nullopt);
    EXPECT_EQ(empty, std::vector<std::string>{});
    EXPECT_NE(absent, empty);
}

TEST(ParseMlipSpec, NamesDocumentAndRootInMessages) {
    const std::string message = testing::refusal_of(
        [] { parse_mlip_spec(R"({"version": 3})", "model.pt:nvalchemi.json", "/spec"); });

    EXPECT_EQ(message.find("model.pt:nvalchemi.json /spec/version: got 3"), 0U) << message;
}

TEST(ParseMlipSpec, ReadsTheDefaultListOfShardFieldsAsAbsent) {
    const auto fields = [](const std::string& list) {
        return parse_mlip_spec(core_with("\"shard_fields\": " + list)).distribution.shard_fields;
    };

    EXPECT_EQ(fields(R"(["positions", "charges", "atomic_numbers"])"), std::nullopt);
    // Another order is another list.
    EXPECT_NE(fields(R"(["charges", "positions", "atomic_numbers"])"), std::nullopt);
}

TEST(ParseMlipSpec, ReadsEveryPolicy) {
    const auto policy = [](const std::string& members) {
        return parse_mlip_spec(policy_of(members)).distribution.policy;
    };
    const auto correction = ScatterMode::HaloCorrection;

    EXPECT_EQ(policy(R"("kind": "halo", "gather_mode": "local")"),
              (StoragePolicy{PolicyKind::Halo, correction, GatherMode::Local}));
    // The one default that depends on the policy.
    EXPECT_EQ(policy(R"("kind": "refresh_halo")"),
              (StoragePolicy{PolicyKind::RefreshHalo, ScatterMode::Local, GatherMode::HaloRead}));
    EXPECT_EQ(policy(R"("kind": "refresh_halo", "scatter_mode": "halo_correction")"),
              (StoragePolicy{PolicyKind::RefreshHalo, correction, GatherMode::HaloRead}));
    EXPECT_EQ(policy(R"("kind": "local")"), StoragePolicy{PolicyKind::Local});
    EXPECT_EQ(policy(R"("kind": "graph_parallel")"), StoragePolicy{PolicyKind::GraphParallel});
}

TEST(ParseMlipSpec, ReadsReplicatedGeometryUnderGraphParallel) {
    const MLIPSpec spec = parse_mlip_spec(
        R"({"version": 2, "core": {"policy": {"kind": "graph_parallel"}},
            "gp_replicate_geometry": true})");

    EXPECT_TRUE(spec.gp_replicate_geometry);
}

TEST(ParseMlipSpec, ReadsEveryTransform) {
    const MLIPSpec spec = parse_mlip_spec(op_with(
        R"("arg_transforms": {"10": {"type": "slice_owned"}, "2": {"type": "gather_inputs"}},
           "output_transforms": {"0": {"type": "scatter_outputs"}, "1": {"type": "all_reduce_sum"},
                                 "2": {"type": "all_reduce_sum", "replicated_consumer": true}})"));
    const MLIPSpec blocks =
        parse_mlip_spec(op_with(R"("arg_transforms": {"0": {"type": "gather_inputs_full"}},
                   "output_transforms": {"0": {"type": "slice_outputs_owned"}})",
                                "graph_parallel"));

    using Kind = OutputTransform::Kind;
    const OpAdapter expected = {
        "demo::stage1",
        {{2, ArgTransform::GatherInputs}, {10, ArgTransform::SliceOwned}},
        {{0, {Kind::ScatterOutputs}}, {1, {Kind::AllReduceSum}}, {2, {Kind::AllReduceSum, true}}}};
    EXPECT_EQ(spec.distribution.custom_ops, std::vector<OpAdapter>{expected});
    EXPECT_EQ(blocks.distribution.custom_ops.at(0).arg_transforms.at(0),
              ArgTransform::GatherInputsFull);
    EXPECT_EQ(blocks.distribution.custom_ops.at(0).output_transforms.at(0).kind,
              Kind::SliceOutputsOwned);
}

TEST(ParseMlipSpec, ReadsEveryHelperAdapter) {
    const auto helper = [](const std::string& members) {
        return parse_mlip_spec(helper_with(members)).distribution.third_party_helpers.at(0);
    };

    EXPECT_EQ(helper(R"("kind": "jit", "module_path": "m", "attr_name": "f",
                        "replacement": "r:g", "mode": "marshal")"),
              HelperAdapter(JitAdapter{"m", "f", "r:g", true}));
    EXPECT_EQ(helper(R"("kind": "jit", "module_path": "m", "attr_name": "f", "mode": "eager")"),
              HelperAdapter(JitAdapter{"m", "f", std::nullopt, false}));
    EXPECT_EQ(helper(R"("kind": "python", "module_path": "m.n", "attr_name": "f",
                        "replacement": null)"),
              HelperAdapter(PythonAdapter{"m.n", "f", std::nullopt}));
    EXPECT_EQ(helper(R"("kind": "method", "module_path": "m", "class_name": "C",
                        "method_name": "forward", "replacement": "a.b:C.d", "mode": "wrap")"),
              HelperAdapter(MethodAdapter{"m", "C", "forward", "a.b:C.d", false}));
    EXPECT_EQ(helper(R"("kind": "method", "module_path": "m", "class_name": "C",
                        "method_name": "forward", "mode": "marshal")"),
              HelperAdapter(MethodAdapter{"m", "C", "forward", std::nullopt, true}));
    EXPECT_EQ(helper(R"("kind": "module_forward", "target": "a.B.forward", "label": "")"),
              HelperAdapter(ModuleForward{"a.B.forward", ""}));
}

TEST(ParseMlipSpec, NotesDeclarationsWithoutEffect) {
    std::vector<std::string> notes;

    parse_mlip_spec(op_with(R"("output_transforms":
                        {"0": {"type": "all_reduce_sum", "replicated_consumer": true}})"),
                    "mlip_spec", "", {false, &notes});
    parse_mlip_spec(core_with(R"("custom_ops": [{"op": "a::b"}, {"op": "a::b"}])"), "mlip_spec", "",
                    {false, &notes});

    ASSERT_EQ(notes.size(), 2U);
    EXPECT_EQ(notes[0],
              "mlip_spec /core/custom_ops/0/output_transforms/0/replicated_consumer: got true, "
              "which is kept but has no effect: the adjoint of a sum over ranks is a sum over "
              "ranks here in any case");
    EXPECT_EQ(notes[1],
              "mlip_spec /core/custom_ops/1: got operator \"a::b\" a second time with the same "
              "transforms, expected each operator once (remove one of the two; it counts once)");
}

}  // namespace nvalchemi
