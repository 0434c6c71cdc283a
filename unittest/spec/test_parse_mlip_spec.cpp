// SPDX-License-Identifier: GPL-2.0-only
#include "spec/parse_mlip_spec.hpp"

#include <gtest/gtest.h>

#include "unittest/spec/refusal.hpp"

namespace nvalchemi {

namespace {

/// A spec with `members` after the smallest valid one's.
std::string spec_with(const std::string& members) {
    return R"({"version": 2, "core": {"policy": {"kind": "halo"}}, )" + members + "}";
}

/// A spec with `members` after the policy in "core".
std::string core_with(const std::string& members) {
    return R"({"version": 2, "core": {"policy": {"kind": "halo"}, )" + members + "}}";
}

std::string policy(const std::string& members) {
    return R"({"version": 2, "core": {"policy": {)" + members + "}}}";
}

std::string refusal_of_spec(const std::string& text) {
    return testing::refusal_of([&] { parse_mlip_spec(text); });
}

}  // namespace

TEST(ParseMlipSpec, FillsDefaultsOfTheSmallestSpec) {
    const MLIPSpec spec = parse_mlip_spec(policy(R"("kind": "halo")"));

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
        "output_kinds": [["a", "per_node"], ["b", "per_graph"], ["c", "global"], ["d", "unknown"]],
        "compile": {"static_shapes": false, "force_strategy": "framework_from_node_energy",
                    "stress_via_strain": true}})");

    MLIPSpec expected;
    expected.distribution.policy = {ScatterMode::Local, GatherMode::Local};
    expected.distribution.shard_fields = {"positions", "charges"};
    expected.system_reductions = false;
    expected.node_energy_key = "atomic_energies";
    expected.node_virial_key = "atomic_virial";
    expected.owned_only_outputs = {"charges", "forces"};
    expected.all_reduce_outputs = {"stress"};
    expected.output_kinds = {{"a", OutputKind::PerNode},
                             {"b", OutputKind::PerGraph},
                             {"c", OutputKind::Global},
                             {"d", OutputKind::Unknown}};
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
    const auto absent = parse_mlip_spec(policy(R"("kind": "halo")")).distribution.shard_fields;
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

TEST(ParseMlipSpec, RejectsOtherVersions) {
    const std::string remedy =
        ", expected the integer 2 (no other version of the format is understood; save the spec "
        "again with a current version of the package that wrote it)";

    // The flat keys of version 1 must not be blamed before its version is.
    EXPECT_EQ(refusal_of_spec(R"({"version": 1, "storage": "halo"})"),
              "mlip_spec /version: got 1" + remedy);
    EXPECT_EQ(refusal_of_spec(R"({"version": 2.0})"), "mlip_spec /version: got 2.0" + remedy);
    EXPECT_EQ(refusal_of_spec(R"({"version": "2"})"), "mlip_spec /version: got \"2\"" + remedy);
    EXPECT_EQ(refusal_of_spec("{}"),
              "mlip_spec /: got no key \"version\", expected one (add \"version\": 2)");
    EXPECT_EQ(refusal_of_spec("[]"), "mlip_spec /: got an empty array, expected an object");
}

TEST(ParseMlipSpec, RejectsMissingParts) {
    EXPECT_EQ(refusal_of_spec(R"({"version": 2})"),
              "mlip_spec /: got no key \"core\", expected one (the smallest is {\"policy\": "
              "{\"kind\": \"halo\"}})");
    EXPECT_EQ(refusal_of_spec(R"({"version": 2, "core": {}})"),
              "mlip_spec /core: got no key \"policy\", expected one (add \"policy\": {\"kind\": "
              "\"halo\"})");
    EXPECT_EQ(refusal_of_spec(policy("")),
              "mlip_spec /core/policy: got no key \"kind\", expected one (add \"kind\": \"halo\")");
    EXPECT_EQ(refusal_of_spec(spec_with(R"("compile": {})")),
              "mlip_spec /compile: got no key \"force_strategy\", expected one (name who "
              "differentiates the energy, or write null for the whole object if the model does)");
}

TEST(ParseMlipSpec, RejectsUnknownPolicyKind) {
    EXPECT_EQ(refusal_of_spec(policy(R"("kind": "replicated")")),
              "mlip_spec /core/policy/kind: got \"replicated\", expected \"halo\" (no such policy; "
              "the format has also \"refresh_halo\", \"graph_parallel\", \"shard\" and \"local\", "
              "which are not supported by this version)");
}

TEST(ParseMlipSpec, RejectsPoliciesOfTheFormatByName) {
    const auto message = [](const std::string& kind, const std::string& remedy) {
        return "mlip_spec /core/policy/kind: got \"" + kind + "\", expected \"halo\" (policy \"" +
               kind + "\" is not supported by this version; " + remedy + ")";
    };

    EXPECT_EQ(
        refusal_of_spec(policy(R"("kind": "refresh_halo", "scatter_mode": "local")")),
        message("refresh_halo", "use \"halo\": it places the refreshes from the model itself"));
    EXPECT_EQ(refusal_of_spec(policy(R"("kind": "graph_parallel")")),
              message("graph_parallel", "save the spec for \"halo\" storage"));
    EXPECT_EQ(refusal_of_spec(policy(R"("kind": "shard")")),
              message("shard", "save the spec for \"halo\" storage"));
    EXPECT_EQ(refusal_of_spec(policy(R"("kind": "local")")),
              message("local",
                      "for a model that exchanges nothing use \"halo\" with scatter_mode "
                      "\"local\" and gather_mode \"local\""));
}

TEST(ParseMlipSpec, RejectsUnknownModes) {
    EXPECT_EQ(refusal_of_spec(policy(R"("kind": "halo", "scatter_mode": "distributed")")),
              "mlip_spec /core/policy/scatter_mode: got \"distributed\", expected one of "
              "\"halo_correction\", \"local\"");
    EXPECT_EQ(refusal_of_spec(policy(R"("kind": "halo", "gather_mode": null)")),
              "mlip_spec /core/policy/gather_mode: got null, expected one of \"halo_read\", "
              "\"local\"");
    EXPECT_EQ(refusal_of_spec(spec_with(R"("compile": {"force_strategy": "magic"})")),
              "mlip_spec /compile/force_strategy: got \"magic\", expected one of "
              "\"model_internal\", \"framework_from_node_energy\", "
              "\"framework_from_global_energy\"");
}

TEST(ParseMlipSpec, RejectsOperatorAdaptersByName) {
    const std::string message = refusal_of_spec(core_with(
        R"("custom_ops": [{"op": "demo::stage1",
                           "arg_transforms": {"0": {"type": "slice_owned"},
                                              "1": {"type": "slice_owned"}},
                           "output_transforms": {"0": {"type": "all_reduce_sum"}}}])"));

    EXPECT_EQ(message,
              "mlip_spec /core/custom_ops/0: got an adapter of operator \"demo::stage1\" with "
              "transforms \"slice_owned\", \"all_reduce_sum\", expected none (operator adapters "
              "and their transforms are not supported by this version; use a model made of "
              "operators that torch itself has, and leave \"custom_ops\" empty)");
}

TEST(ParseMlipSpec, RejectsMalformedAdaptersToo) {
    for (const char* op : {R"(null)", R"("x")", R"({"op": null})", R"({"arg_transforms": []})"}) {
        const std::string message =
            refusal_of_spec(core_with(std::string(R"("custom_ops": [)") + op + "]"));
        EXPECT_EQ(message.find("mlip_spec /core/custom_ops/0: got an adapter of operator \"\", "
                               "expected none"),
                  0U)
            << message;
    }
    EXPECT_EQ(refusal_of_spec(core_with(R"("custom_ops": {})")),
              "mlip_spec /core/custom_ops: got an empty object, expected an array of operator "
              "adapters");
}

TEST(ParseMlipSpec, RejectsHelperAdaptersByName) {
    const std::string remedy =
        ", expected none (helper adapters are not supported by this version; the archive holds "
        "the helper's code, so leave \"third_party_helpers\" empty and let the exchanges be "
        "placed from it)";

    EXPECT_EQ(refusal_of_spec(core_with(
                  R"("third_party_helpers": [{"kind": "python", "module_path": "aimnet.nbops",
                                              "attr_name": "mol_sum", "replacement": null}])")),
              "mlip_spec /core/third_party_helpers/0: got a helper adapter of kind \"python\" for "
              "\"aimnet.nbops.mol_sum\"" +
                  remedy);
    EXPECT_EQ(refusal_of_spec(core_with(
                  R"("third_party_helpers": [{"kind": "method", "module_path": "m",
                                              "class_name": "C", "method_name": "f"}])")),
              "mlip_spec /core/third_party_helpers/0: got a helper adapter of kind \"method\" for "
              "\"m.C.f\"" +
                  remedy);
}

TEST(ParseMlipSpec, RejectsReplicatedGeometry) {
    EXPECT_EQ(refusal_of_spec(spec_with(R"("gp_replicate_geometry": true)")),
              "mlip_spec /gp_replicate_geometry: got true, expected false (a replicated geometry "
              "belongs to policy \"graph_parallel\", which is not supported by this version; with "
              "\"halo\" leave it false)");
}

TEST(ParseMlipSpec, RejectsUnknownKeysAndListsTheKnownOnes) {
    EXPECT_EQ(refusal_of_spec(spec_with(R"("outputs": {})")),
              "mlip_spec /outputs: got the unknown key \"outputs\", expected one of \"version\", "
              "\"core\", \"system_reductions\", \"node_energy_key\", \"node_virial_key\", "
              "\"gp_replicate_geometry\", \"owned_only_outputs\", \"all_reduce_outputs\", "
              "\"output_kinds\", \"compile\"");
    EXPECT_EQ(refusal_of_spec(core_with(R"("frobnicate": 1)")),
              "mlip_spec /core/frobnicate: got the unknown key \"frobnicate\", expected one of "
              "\"policy\", \"custom_ops\", \"third_party_helpers\", \"shard_fields\"");
    EXPECT_EQ(refusal_of_spec(policy(R"("kind": "halo", "width": 1)")),
              "mlip_spec /core/policy/width: got the unknown key \"width\", expected one of "
              "\"kind\", \"scatter_mode\", \"gather_mode\"");
    EXPECT_EQ(refusal_of_spec(spec_with(
                  R"("compile": {"force_strategy": "model_internal", "graph_padder": "coo"})")),
              "mlip_spec /compile/graph_padder: got the unknown key \"graph_padder\", expected one "
              "of \"static_shapes\", \"force_strategy\", \"stress_via_strain\"");
}

TEST(ParseMlipSpec, RejectsWrongTypes) {
    const auto refusal = [](const std::string& member) {
        return refusal_of_spec(spec_with(member));
    };

    EXPECT_EQ(refusal(R"("system_reductions": "false")"),
              "mlip_spec /system_reductions: got \"false\", expected true or false");
    EXPECT_EQ(refusal(R"("system_reductions": 1)"),
              "mlip_spec /system_reductions: got 1, expected true or false");
    EXPECT_EQ(refusal(R"("owned_only_outputs": "forces")"),
              "mlip_spec /owned_only_outputs: got \"forces\", expected an array of strings");
    EXPECT_EQ(refusal(R"("all_reduce_outputs": null)"),
              "mlip_spec /all_reduce_outputs: got null, expected an array of strings");
    EXPECT_EQ(refusal(R"("all_reduce_outputs": ["a", 3])"),
              "mlip_spec /all_reduce_outputs/1: got 3, expected a string");
    EXPECT_EQ(refusal(R"("all_reduce_outputs": [""])"),
              "mlip_spec /all_reduce_outputs/0: got \"\", expected a string that is not empty");
    EXPECT_EQ(refusal(R"("node_energy_key": 3)"),
              "mlip_spec /node_energy_key: got 3, expected the name of an output, or null");
    EXPECT_EQ(refusal(R"("compile": false)"), "mlip_spec /compile: got false, expected an object");
}

TEST(ParseMlipSpec, RejectsUnsortedAndDuplicateNames) {
    EXPECT_EQ(refusal_of_spec(spec_with(R"("owned_only_outputs": ["b", "a"])")),
              "mlip_spec /owned_only_outputs/1: got \"a\" after \"b\", expected names in ascending "
              "order (sort them)");
    EXPECT_EQ(refusal_of_spec(spec_with(R"("all_reduce_outputs": ["a", "a"])")),
              "mlip_spec /all_reduce_outputs/1: got \"a\" a second time, expected each name once "
              "(remove one of the two)");
}

TEST(ParseMlipSpec, RejectsBadOutputKinds) {
    const auto refusal = [](const std::string& kinds) {
        return refusal_of_spec(spec_with("\"output_kinds\": " + kinds));
    };

    EXPECT_EQ(refusal(R"({"energy": "per_graph"})"),
              "mlip_spec /output_kinds: got an object of 1 key, expected an array of [name, kind] "
              "pairs (write {\"energy\": \"per_graph\"} as [[\"energy\", \"per_graph\"]])");
    EXPECT_EQ(refusal("null"),
              "mlip_spec /output_kinds: got null, expected an array of [name, kind] pairs");
    EXPECT_EQ(refusal(R"([["energy"]])"),
              "mlip_spec /output_kinds/0: got an array of 1 element, expected a pair [name, kind]");
    EXPECT_EQ(refusal(R"(["energy"])"),
              "mlip_spec /output_kinds/0: got \"energy\", expected a pair [name, kind]");
    EXPECT_EQ(refusal(R"([["energy", "per_system"]])"),
              "mlip_spec /output_kinds/0/1: got \"per_system\", expected one of \"per_node\", "
              "\"per_graph\", \"global\", \"unknown\"");
    EXPECT_EQ(refusal(R"([["e", "per_node"], ["e", "per_node"]])"),
              "mlip_spec /output_kinds/1: got output \"e\" a second time, expected each output "
              "once (remove one of the two)");
    EXPECT_EQ(refusal(R"([["f", "per_node"], ["e", "per_node"]])"),
              "mlip_spec /output_kinds/1: got \"e\" after \"f\", expected names in ascending order "
              "(sort them)");
}

TEST(ParseMlipSpec, RejectsBadShardFields) {
    const auto refusal = [](const std::string& fields) {
        return refusal_of_spec(core_with("\"shard_fields\": " + fields));
    };

    EXPECT_EQ(refusal(R"("positions")"),
              "mlip_spec /core/shard_fields: got \"positions\", expected an array of strings");
    EXPECT_EQ(refusal("null"),
              "mlip_spec /core/shard_fields: got null, expected an array of strings");
    EXPECT_EQ(refusal(R"(["positions", "positions"])"),
              "mlip_spec /core/shard_fields/1: got \"positions\" a second time, expected each name "
              "once (remove one of the two)");
    EXPECT_EQ(refusal(R"(["no_such_field"])"),
              "mlip_spec /core/shard_fields/0: got \"no_such_field\", expected one of "
              "\"atom_categories\", \"atomic_masses\", \"atomic_numbers\", \"charges\", "
              "\"forces\", \"kinetic_energies\", \"momenta\", \"node_alpha_spins\", "
              "\"node_attrs\", \"node_beta_spins\", \"node_embeddings\", \"positions\", \"tags\", "
              "\"velocities\"");
}

TEST(ParseMlipSpec, CarriesPointerAndDocumentInTheError) {
    try {
        parse_mlip_spec(policy(R"("kind": "shard")"), "my.json");
        FAIL() << "accepted";
    } catch (const SpecError& error) {
        EXPECT_EQ(error.document(), "my.json");
        EXPECT_EQ(error.pointer(), "/core/policy/kind");
    }
}

}  // namespace nvalchemi
