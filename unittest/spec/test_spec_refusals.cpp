// SPDX-License-Identifier: GPL-2.0-only
// What a strict reading refuses outside the adapters, and the text of each refusal.
#include <gtest/gtest.h>

#include "spec/spec_error.hpp"
#include "unittest/spec/spec_texts.hpp"

namespace nvalchemi {

using testing::core_with;
using testing::policy_of;
using testing::refusal_of_spec;
using testing::spec_with;

namespace {

const std::string kPolicies = R"("halo", "refresh_halo", "local", "graph_parallel")";

}  // namespace

TEST(SpecRefusals, NameOtherVersions) {
    const std::string remedy =
        ", expected the integer 2 (no other version of the format is understood; save the spec "
        "again with a current version of the package that wrote it)";

    // The flat keys of version 1 must not be blamed before its version is.
    EXPECT_EQ(refusal_of_spec(R"({"version": 1, "storage": "halo"})"),
              "mlip_spec /version: got 1" + remedy);
    EXPECT_EQ(refusal_of_spec(R"({"version": "2"})"), "mlip_spec /version: got \"2\"" + remedy);
    EXPECT_EQ(refusal_of_spec(R"({"version": true})"), "mlip_spec /version: got true" + remedy);
    EXPECT_EQ(refusal_of_spec(R"({"version": 2.5})"), "mlip_spec /version: got 2.5" + remedy);
    EXPECT_EQ(refusal_of_spec(R"({"version": 2.0})"),
              "mlip_spec /version: got 2.0, expected the integer 2 (write it without a decimal "
              "point)");
    EXPECT_EQ(refusal_of_spec("{}"),
              "mlip_spec /: got no key \"version\", expected one (add \"version\": 2)");
    EXPECT_EQ(refusal_of_spec("[]"), "mlip_spec /: got an empty array, expected an object");
}

TEST(SpecRefusals, NameMissingParts) {
    EXPECT_EQ(refusal_of_spec(R"({"version": 2})"),
              "mlip_spec /: got no key \"core\", expected one (the smallest is {\"policy\": "
              "{\"kind\": \"halo\"}})");
    EXPECT_EQ(refusal_of_spec(R"({"version": 2, "core": {}})"),
              "mlip_spec /core: got no key \"policy\", expected one (add \"policy\": {\"kind\": "
              "\"halo\"})");
    EXPECT_EQ(refusal_of_spec(R"({"version": 2, "core": {"policy": null}})"),
              "mlip_spec /core/policy: got null, expected an object (the smallest is {\"kind\": "
              "\"halo\"})");
    EXPECT_EQ(refusal_of_spec(policy_of("")),
              "mlip_spec /core/policy: got no key \"kind\", expected one (add \"kind\": \"halo\")");
    EXPECT_EQ(refusal_of_spec(spec_with(R"("compile": {"static_shapes": true})")),
              "mlip_spec /compile: got no key \"force_strategy\", expected one (name who "
              "differentiates the energy, or write null for the whole object if the model does)");
    EXPECT_EQ(refusal_of_spec(spec_with(R"("compile": {})")),
              "mlip_spec /compile: got an empty object, expected an object with "
              "\"force_strategy\", or null (name who differentiates the energy, or write null for "
              "the whole object if the model does)");
}

TEST(SpecRefusals, NameThePoliciesOfTheFormat) {
    EXPECT_EQ(refusal_of_spec(policy_of(R"("kind": "replicated")")),
              "mlip_spec /core/policy/kind: got \"replicated\", expected one of " + kPolicies);
    EXPECT_EQ(refusal_of_spec(policy_of(R"("kind": null)")),
              "mlip_spec /core/policy/kind: got null, expected one of " + kPolicies);
    EXPECT_EQ(refusal_of_spec(policy_of(R"("kind": "shard")")),
              "mlip_spec /core/policy/kind: got \"shard\", expected one of " + kPolicies +
                  " (no strategy runs it)");
}

TEST(SpecRefusals, NameUnknownModes) {
    const auto remedy = [](const std::string& mode) {
        return " (anything else has acted as \"" + mode +
               "\" so far: write that, or what was meant)";
    };

    EXPECT_EQ(refusal_of_spec(policy_of(R"("kind": "halo", "scatter_mode": "distributed")")),
              "mlip_spec /core/policy/scatter_mode: got \"distributed\", expected one of "
              "\"halo_correction\", \"local\"" +
                  remedy("local"));
    EXPECT_EQ(refusal_of_spec(policy_of(R"("kind": "refresh_halo", "gather_mode": null)")),
              "mlip_spec /core/policy/gather_mode: got null, expected one of \"halo_read\", "
              "\"local\"" +
                  remedy("local"));
    EXPECT_EQ(refusal_of_spec(spec_with(R"("compile": {"force_strategy": "magic"})")),
              "mlip_spec /compile/force_strategy: got \"magic\", expected one of "
              "\"model_internal\", \"framework_from_node_energy\", "
              "\"framework_from_global_energy\"");
}

TEST(SpecRefusals, NameReplicatedGeometryOutsideGraphParallel) {
    EXPECT_EQ(refusal_of_spec(spec_with(R"("gp_replicate_geometry": true)")),
              "mlip_spec /gp_replicate_geometry: got true, expected false under policy \"halo\" "
              "(a replicated geometry belongs to policy \"graph_parallel\")");
}

TEST(SpecRefusals, ListTheKnownKeys) {
    const std::string remedy = " (remove it, or correct its spelling)";

    EXPECT_EQ(refusal_of_spec(spec_with(R"("outputs": {})")),
              "mlip_spec /outputs: got the unknown key \"outputs\", expected one of \"version\", "
              "\"core\", \"system_reductions\", \"node_energy_key\", \"node_virial_key\", "
              "\"gp_replicate_geometry\", \"owned_only_outputs\", \"all_reduce_outputs\", "
              "\"output_kinds\", \"compile\"" +
                  remedy);
    EXPECT_EQ(refusal_of_spec(core_with(R"("frobnicate": 1)")),
              "mlip_spec /core/frobnicate: got the unknown key \"frobnicate\", expected one of "
              "\"policy\", \"custom_ops\", \"third_party_helpers\", \"shard_fields\"" +
                  remedy);
    EXPECT_EQ(refusal_of_spec(policy_of(R"("kind": "halo", "width": 1)")),
              "mlip_spec /core/policy/width: got the unknown key \"width\", expected one of "
              "\"kind\", \"scatter_mode\", \"gather_mode\"" +
                  remedy);
    EXPECT_EQ(refusal_of_spec(policy_of(R"("kind": "local", "scatter_mode": "local")")),
              "mlip_spec /core/policy/scatter_mode: got the unknown key \"scatter_mode\", expected "
              "only \"kind\"" +
                  remedy);
    EXPECT_EQ(refusal_of_spec(spec_with(
                  R"("compile": {"force_strategy": "model_internal", "graph_padder": "coo"})")),
              "mlip_spec /compile/graph_padder: got the unknown key \"graph_padder\", expected one "
              "of \"static_shapes\", \"force_strategy\", \"stress_via_strain\"" +
                  remedy);
}

TEST(SpecRefusals, NameWrongTypes) {
    const auto refusal = [](const std::string& member) {
        return refusal_of_spec(spec_with(member));
    };

    EXPECT_EQ(refusal(R"("system_reductions": "false")"),
              "mlip_spec /system_reductions: got \"false\", expected true or false (without "
              "quotes)");
    EXPECT_EQ(refusal(R"("system_reductions": 1)"),
              "mlip_spec /system_reductions: got 1, expected true or false");
    EXPECT_EQ(refusal(R"("owned_only_outputs": "forces")"),
              "mlip_spec /owned_only_outputs: got \"forces\", expected an array of strings (put "
              "the name into square brackets)");
    EXPECT_EQ(
        refusal(R"("owned_only_outputs": {"a": 1})"),
        "mlip_spec /owned_only_outputs: got an object of 1 key, expected an array of strings");
    EXPECT_EQ(refusal(R"("all_reduce_outputs": null)"),
              "mlip_spec /all_reduce_outputs: got null, expected an array of strings (write [] for "
              "none)");
    EXPECT_EQ(refusal(R"("all_reduce_outputs": ["a", 3])"),
              "mlip_spec /all_reduce_outputs/1: got 3, expected a string");
    EXPECT_EQ(refusal(R"("all_reduce_outputs": [""])"),
              "mlip_spec /all_reduce_outputs/0: got \"\", expected a string that is not empty");
    EXPECT_EQ(refusal(R"("node_energy_key": 3)"),
              "mlip_spec /node_energy_key: got 3, expected the name of an output, or null");
    EXPECT_EQ(refusal(R"("compile": false)"), "mlip_spec /compile: got false, expected an object");
}

TEST(SpecRefusals, NameUnsortedRepeatedAndContradictoryNames) {
    EXPECT_EQ(refusal_of_spec(spec_with(R"("owned_only_outputs": ["b", "a"])")),
              "mlip_spec /owned_only_outputs/1: got \"a\" after \"b\", expected names in ascending "
              "order (sort them)");
    EXPECT_EQ(refusal_of_spec(spec_with(R"("all_reduce_outputs": ["a", "a"])")),
              "mlip_spec /all_reduce_outputs/1: got \"a\" a second time, expected each name once "
              "(remove one of the two)");
    EXPECT_EQ(refusal_of_spec(spec_with(
                  R"("owned_only_outputs": ["stress"], "all_reduce_outputs": ["stress"])")),
              "mlip_spec /all_reduce_outputs/0: got \"stress\", which is in "
              "\"owned_only_outputs\" too, expected it in one of the two (sum it over ranks or "
              "keep owned rows, not both)");
}

TEST(SpecRefusals, NameBadOutputKinds) {
    const auto refusal = [](const std::string& kinds) {
        return refusal_of_spec(spec_with("\"output_kinds\": " + kinds));
    };

    EXPECT_EQ(refusal(R"({"energy": "per_graph"})"),
              "mlip_spec /output_kinds: got an object of 1 key, expected an array of [name, kind] "
              "pairs (write {\"energy\": \"per_graph\"} as [[\"energy\", \"per_graph\"]])");
    EXPECT_EQ(refusal("null"),
              "mlip_spec /output_kinds: got null, expected an array of [name, kind] pairs (write "
              "[] for none)");
    EXPECT_EQ(refusal(R"([["energy"]])"),
              "mlip_spec /output_kinds/0: got an array of 1 element, expected a pair [name, kind]");
    EXPECT_EQ(refusal(R"(["energy"])"),
              "mlip_spec /output_kinds/0: got \"energy\", expected a pair [name, kind]");
    EXPECT_EQ(refusal(R"([["energy", "per_system"]])"),
              "mlip_spec /output_kinds/0/1: got \"per_system\", expected one of \"per_node\", "
              "\"per_graph\", \"global\"");
    EXPECT_EQ(refusal(R"([["energy", 3]])"),
              "mlip_spec /output_kinds/0/1: got 3, expected one of \"per_node\", \"per_graph\", "
              "\"global\"");
    EXPECT_EQ(refusal(R"([["energy", "unknown"]])"),
              "mlip_spec /output_kinds/0/1: got \"unknown\", expected one of \"per_node\", "
              "\"per_graph\", \"global\" (say what the output is: a guess from its number of rows "
              "can be wrong)");
    EXPECT_EQ(refusal(R"([["e", "per_node"], ["e", "per_node"]])"),
              "mlip_spec /output_kinds/1: got output \"e\" a second time, expected each output "
              "once (remove one of the two)");
    EXPECT_EQ(refusal(R"([["f", "per_node"], ["e", "per_node"]])"),
              "mlip_spec /output_kinds/1: got \"e\" after \"f\", expected names in ascending order "
              "(sort them)");
}

TEST(SpecRefusals, NameBadShardFields) {
    const auto refusal = [](const std::string& fields) {
        return refusal_of_spec(core_with("\"shard_fields\": " + fields));
    };

    EXPECT_EQ(refusal(R"("positions")"),
              "mlip_spec /core/shard_fields: got \"positions\", expected an array of strings (put "
              "the name into square brackets)");
    EXPECT_EQ(refusal("null"),
              "mlip_spec /core/shard_fields: got null, expected an array of strings (leave the key "
              "out for the default fields, or write [] for none)");
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

TEST(SpecRefusals, ShowKeysWithControlCharacters) {
    EXPECT_EQ(
        refusal_of_spec(policy_of(R"("kind": "local", "\u0000\n": 1)")),
        "mlip_spec /core/policy/\\x00\\x0a: got the unknown key \"\\x00\\x0a\", expected only "
        "\"kind\" (remove it, or correct its spelling)");
}

TEST(SpecRefusals, CutLongKeys) {
    const std::string refusal = refusal_of_spec(spec_with("\"" + std::string(5000, 'k') + "\": 1"));

    EXPECT_EQ(refusal.find("mlip_spec /" + std::string(400, 'k') + "...: got the unknown key"), 0U);
    EXPECT_LT(refusal.size(), 1000U);
}

TEST(SpecRefusals, CarryPointerAndDocument) {
    try {
        parse_mlip_spec(policy_of(R"("kind": "shard")"), "my.json");
        FAIL() << "accepted";
    } catch (const SpecError& error) {
        EXPECT_EQ(error.document(), "my.json");
        EXPECT_EQ(error.pointer(), "/core/policy/kind");
    }
}

}  // namespace nvalchemi
