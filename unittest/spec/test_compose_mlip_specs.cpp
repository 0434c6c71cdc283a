// SPDX-License-Identifier: GPL-2.0-only
#include "spec/compose_mlip_specs.hpp"

#include <gtest/gtest.h>

#include "spec/presets.hpp"
#include "unittest/spec/refusal.hpp"

namespace nvalchemi {

namespace {

MLIPSpec preset(const std::string& name) { return *find_preset(name); }

MLIPSpec of_kind(PolicyKind kind) {
    MLIPSpec spec;
    spec.distribution.policy.kind = kind;
    return spec;
}

std::string refusal_of_merge(const MLIPSpec& left, const MLIPSpec& right) {
    return testing::refusal_of([&] { merge(left, right); });
}

OpAdapter slice_owned(const std::string& op) { return {op, {{0, ArgTransform::SliceOwned}}, {}}; }

}  // namespace

TEST(ReplacePolicy, ChangesModesAndNothingElse) {
    const MLIPSpec uma = preset("SPEC_UMA_REFRESH_HALO");
    MLIPSpec expected = uma;
    expected.distribution.policy.scatter_mode = ScatterMode::HaloCorrection;

    EXPECT_EQ(replace_policy(uma, ScatterMode::HaloCorrection), expected);
    expected.distribution.policy.gather_mode = GatherMode::Local;
    EXPECT_EQ(replace_policy(uma, ScatterMode::HaloCorrection, GatherMode::Local), expected);
    EXPECT_EQ(replace_policy(uma, std::nullopt), uma);
}

TEST(ReplacePolicy, RefusesPoliciesWithoutModes) {
    for (const auto& [kind, name] : {std::pair{PolicyKind::Local, "local"},
                                     {PolicyKind::GraphParallel, "graph_parallel"},
                                     {PolicyKind::Shard, "shard"}}) {
        EXPECT_EQ(testing::refusal_of([&] { replace_policy(of_kind(kind), ScatterMode::Local); }),
                  "mlip_spec /core/policy/kind: got \"" + std::string(name) +
                      "\", expected \"halo\" or \"refresh_halo\" (only these have a scatter mode "
                      "and a gather mode)");
    }
}

TEST(Merge, OfASpecWithItselfIsTheSpec) {
    for (const std::string& name : preset_names()) {
        EXPECT_EQ(merge(preset(name), preset(name)), preset(name)) << name;
    }
}

TEST(Merge, KeepsKindsGeometryRefreshAndStress) {
    MLIPSpec geometry = preset("SPEC_MPNN_GP");
    geometry.gp_replicate_geometry = true;
    geometry.compile->stress_via_strain = true;
    MLIPSpec dipole = preset("SPEC_UMA_REFRESH_HALO");
    dipole.output_kinds = {{"dipole", OutputKind::Global}};

    const MLIPSpec blocks = merge(preset("SPEC_MPNN_GP"), geometry);
    const MLIPSpec refresh = merge(preset("SPEC_UMA_REFRESH_HALO"), dipole);

    EXPECT_EQ(blocks, geometry);
    EXPECT_EQ(refresh.distribution.policy.kind, PolicyKind::RefreshHalo);
    EXPECT_EQ(refresh.distribution.policy.scatter_mode, ScatterMode::Local);
    EXPECT_EQ(refresh.output_kinds.size(), 5U);
    EXPECT_EQ(refresh.compile, dipole.compile);
}

TEST(Merge, TakesTheModesThatExchangeMore) {
    MLIPSpec left;
    left.distribution.policy = {PolicyKind::Halo, ScatterMode::Local, GatherMode::HaloRead};
    MLIPSpec right;
    right.distribution.policy = {PolicyKind::Halo, ScatterMode::HaloCorrection, GatherMode::Local};

    EXPECT_EQ(merge(left, right).distribution.policy, StoragePolicy{});
    EXPECT_EQ(merge(right, left).distribution.policy, StoragePolicy{});
    EXPECT_EQ(merge(left, left).distribution.policy, left.distribution.policy);
}

TEST(Merge, TakesThePolicyOfTheOtherWhereOneIsLocal) {
    const MLIPSpec local = of_kind(PolicyKind::Local);

    EXPECT_EQ(merge(local, preset("SPEC_UMA_REFRESH_HALO")).distribution.policy,
              preset("SPEC_UMA_REFRESH_HALO").distribution.policy);
    EXPECT_EQ(merge(preset("SPEC_MPNN_GP"), local).distribution.policy.kind,
              PolicyKind::GraphParallel);
    // Neither an empty list and the default list, nor the other way round, loses a field.
    EXPECT_EQ(merge(local, preset("SPEC_MPNN_GP")).distribution.shard_fields, std::nullopt);
}

TEST(Merge, UnitesFieldsOutputsAndAdapters) {
    MLIPSpec left;
    left.distribution.shard_fields = {"tags"};
    left.distribution.custom_ops = {slice_owned("a::a"), slice_owned("a::b")};
    left.owned_only_outputs = {"forces"};
    left.system_reductions = false;
    left.node_energy_key = "e";
    MLIPSpec right;
    right.distribution.shard_fields = {"positions", "tags"};
    right.distribution.custom_ops = {slice_owned("a::b"), slice_owned("a::c")};
    right.distribution.third_party_helpers = {PythonAdapter{"m", "f", "r:g"}};
    right.all_reduce_outputs = {"stress"};
    right.node_virial_key = "v";

    const MLIPSpec both = merge(left, right);

    EXPECT_EQ(both.distribution.shard_fields, (std::vector<std::string>{"tags", "positions"}));
    EXPECT_EQ(
        both.distribution.custom_ops,
        (std::vector<OpAdapter>{slice_owned("a::a"), slice_owned("a::b"), slice_owned("a::c")}));
    EXPECT_EQ(both.distribution.third_party_helpers, right.distribution.third_party_helpers);
    EXPECT_EQ(both.owned_only_outputs, left.owned_only_outputs);
    EXPECT_EQ(both.all_reduce_outputs, right.all_reduce_outputs);
    EXPECT_TRUE(both.system_reductions);
    EXPECT_EQ(both.node_energy_key, "e");
    EXPECT_EQ(both.node_virial_key, "v");
}

TEST(Merge, LetsUnknownKindsAndAbsentCompilePoliciesYield) {
    MLIPSpec left;
    left.output_kinds = {{"a", OutputKind::Unknown}, {"b", OutputKind::Global}};
    MLIPSpec right;
    right.output_kinds = {{"a", OutputKind::PerNode}, {"b", OutputKind::Unknown}};
    right.compile = CompilePolicy{};

    const MLIPSpec both = merge(left, right);

    EXPECT_EQ(both.output_kinds, (std::map<std::string, OutputKind>{{"a", OutputKind::PerNode},
                                                                    {"b", OutputKind::Global}}));
    EXPECT_EQ(both.compile, CompilePolicy{});
    EXPECT_EQ(merge(right, left).compile, CompilePolicy{});
}

TEST(Merge, RefusesUnlikePoliciesNamingBoth) {
    const auto refusal = [](PolicyKind left, PolicyKind right) {
        return refusal_of_merge(of_kind(left), of_kind(right));
    };
    const std::string expected =
        " to merge, expected one kind, or \"local\" on one side (the parts of one model share "
        "their rows)";

    EXPECT_EQ(refusal(PolicyKind::Halo, PolicyKind::GraphParallel),
              "mlip_spec /core/policy/kind: got \"halo\" and \"graph_parallel\"" + expected);
    EXPECT_EQ(refusal(PolicyKind::RefreshHalo, PolicyKind::Halo),
              "mlip_spec /core/policy/kind: got \"refresh_halo\" and \"halo\"" + expected);
}

TEST(Merge, RefusesContradictionsNamingBoth) {
    MLIPSpec left;
    left.output_kinds = {{"a", OutputKind::PerNode}};
    left.node_energy_key = "e";
    left.owned_only_outputs = {"s"};
    const auto refusal = [&](const auto& change) {
        MLIPSpec right;
        change(right);
        return refusal_of_merge(left, right);
    };

    EXPECT_EQ(
        refusal([](MLIPSpec& s) {
            s.output_kinds = {{"a", OutputKind::Global}};
        }),
        "mlip_spec /output_kinds: got \"a\" as \"per_node\" and \"global\" to merge, expected "
        "one kind of each output");
    EXPECT_EQ(refusal([](MLIPSpec& s) { s.node_energy_key = "energies"; }),
              "mlip_spec /node_energy_key: got \"e\" and \"energies\" to merge, expected one "
              "output (give it one name in both parts)");
    EXPECT_EQ(refusal([](MLIPSpec& s) { s.all_reduce_outputs = {"s"}; }),
              "mlip_spec /all_reduce_outputs: got \"s\" in \"owned_only_outputs\" of one spec and "
              "in \"all_reduce_outputs\" of another to merge, expected one of the two (sum it over "
              "ranks or keep owned rows, not both)");
}

TEST(Merge, RefusesTwoCompilePoliciesNamingBoth) {
    const MLIPSpec left = with_compile(MLIPSpec{}, CompilePolicy{});
    const MLIPSpec right =
        with_compile(MLIPSpec{}, CompilePolicy{true, ForceStrategy::FrameworkFromNodeEnergy, true});

    EXPECT_EQ(refusal_of_merge(left, right),
              "mlip_spec /compile: got {\"static_shapes\": true, \"force_strategy\": "
              "\"model_internal\", \"stress_via_strain\": false} and {\"static_shapes\": true, "
              "\"force_strategy\": \"framework_from_node_energy\", \"stress_via_strain\": true} to "
              "merge, expected one \"force_strategy\" and one \"static_shapes\" (one energy is "
              "differentiated once)");
}

TEST(WithAdapters, AppendsAndKeepsTheRest) {
    MLIPSpec geometry = preset("SPEC_MPNN_GP");
    geometry.gp_replicate_geometry = true;
    const OpAdapter op = {"a::b", {{0, ArgTransform::GatherInputsFull}}, {}};
    const HelperAdapter helper = MethodAdapter{"m", "C", "f", "r:g", false};

    const MLIPSpec spec = with_adapters(geometry, {op, op}, {helper});

    MLIPSpec expected = geometry;
    expected.distribution.custom_ops = {op};
    expected.distribution.third_party_helpers = {helper};
    EXPECT_EQ(spec, expected);
    EXPECT_EQ(with_adapters(spec, {op}, {helper}), expected);
}

TEST(WithAdapters, RefusesContradictionsAndTransformsWithoutRows) {
    const MLIPSpec halo =
        with_adapters(MLIPSpec{}, {slice_owned("a::b")}, {PythonAdapter{"m", "f", std::nullopt}});

    EXPECT_EQ(testing::refusal_of([&] {
                  with_adapters(halo, {{"a::b", {}, {}}});
              }),
              "mlip_spec /core/custom_ops: got two for operator \"a::b\", {\"op\": \"a::b\", "
              "\"arg_transforms\": {\"0\": {\"type\": \"slice_owned\"}}, \"output_transforms\": "
              "{}} and {\"op\": \"a::b\", \"arg_transforms\": {}, \"output_transforms\": {}}, "
              "expected one (keep the right one)");
    EXPECT_EQ(testing::refusal_of([&] {
                  with_adapters(halo, {}, {PythonAdapter{"m", "f", "r:g"}});
              })
                  .find("mlip_spec /core/third_party_helpers: got two for python adapter of "
                        "\"m.f\", {\"kind\": \"python\""),
              0U);
    EXPECT_EQ(
        testing::refusal_of([&] { with_adapters(preset("SPEC_MPNN_GP"), {slice_owned("a::b")}); }),
        "mlip_spec /core/custom_ops: got transform \"slice_owned\" of operator \"a::b\" "
        "under policy \"graph_parallel\", expected policy \"halo\" or \"refresh_halo\"");
    EXPECT_EQ(testing::refusal_of([&] {
                  with_adapters(MLIPSpec{},
                                {{"a::b", {}, {{0, {OutputTransform::Kind::SliceOutputsOwned}}}}});
              }),
              "mlip_spec /core/custom_ops: got transform \"slice_outputs_owned\" of operator "
              "\"a::b\" under policy \"halo\", expected policy \"graph_parallel\"");
}

TEST(WithCompile, KeepsTheRest) {
    MLIPSpec expected = preset("SPEC_MPNN_GP");
    expected.gp_replicate_geometry = true;
    const MLIPSpec spec = with_compile(expected, CompilePolicy{});

    expected.compile = CompilePolicy{};
    EXPECT_EQ(spec, expected);
    EXPECT_EQ(with_compile(spec, std::nullopt).compile, std::nullopt);
}

}  // namespace nvalchemi
