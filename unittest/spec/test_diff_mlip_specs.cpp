// SPDX-License-Identifier: GPL-2.0-only
#include "spec/diff_mlip_specs.hpp"

#include <gtest/gtest.h>

#include "spec/presets.hpp"

namespace nvalchemi {

namespace {

using Differences = std::vector<SpecDifference>;

/// Differences between the smallest spec and a changed one.
template <typename Change>
Differences after(const Change& change) {
    MLIPSpec changed;
    change(changed);
    return spec_diff(MLIPSpec{}, changed);
}

MLIPSpec with_ops(const std::vector<OpAdapter>& custom_ops) {
    MLIPSpec spec;
    spec.distribution.custom_ops = custom_ops;
    return spec;
}

}  // namespace

TEST(SpecDiff, IsEmptyForEqualSpecs) {
    MLIPSpec explicit_default;
    explicit_default.distribution.shard_fields = {"positions", "charges", "atomic_numbers"};

    for (const std::string& name : preset_names()) {
        EXPECT_TRUE(spec_diff(*find_preset(name), *find_preset(name)).empty()) << name;
    }
    EXPECT_TRUE(spec_diff(MLIPSpec{}, explicit_default).empty());
}

TEST(SpecDiff, NamesEveryMember) {
    EXPECT_EQ(after([](MLIPSpec& s) { s.distribution.policy.gather_mode = GatherMode::Local; }),
              (Differences{{"/core/policy/gather_mode", "\"halo_read\"", "\"local\""}}));
    EXPECT_EQ(after([](MLIPSpec& s) { s.system_reductions = false; }),
              (Differences{{"/system_reductions", "true", "false"}}));
    EXPECT_EQ(after([](MLIPSpec& s) { s.node_energy_key = "e"; }),
              (Differences{{"/node_energy_key", "null", "\"e\""}}));
    EXPECT_EQ(after([](MLIPSpec& s) {
                  s.owned_only_outputs = {"b", "a"};
              }),
              (Differences{{"/owned_only_outputs", "[]", "[\"a\", \"b\"]"}}));
    EXPECT_EQ(after([](MLIPSpec& s) { s.compile = CompilePolicy{}; }),
              (Differences{{"/compile", "null",
                            "{\"static_shapes\": true, \"force_strategy\": \"model_internal\", "
                            "\"stress_via_strain\": false}"}}));
    EXPECT_EQ(after([](MLIPSpec& s) { s.distribution.shard_fields.emplace(); }),
              (Differences{{"/core/shard_fields", "absent", "[]"}}));
}

TEST(SpecDiff, NamesWhatAPolicyOfAnotherKindLacks) {
    EXPECT_EQ(after([](MLIPSpec& s) { s.distribution.policy.kind = PolicyKind::Local; }),
              (Differences{{"/core/policy/kind", "\"halo\"", "\"local\""},
                           {"/core/policy/scatter_mode", "\"halo_correction\"", "absent"},
                           {"/core/policy/gather_mode", "\"halo_read\"", "absent"}}));
}

TEST(SpecDiff, MatchesAdaptersByWhatTheyAreFor) {
    const OpAdapter a = {"a::a", {}, {}};
    const OpAdapter b = {"a::b", {{0, ArgTransform::SliceOwned}}, {}};
    const OpAdapter other_b = {"a::b", {{1, ArgTransform::SliceOwned}}, {}};

    EXPECT_EQ(
        spec_diff(with_ops({a, b}), with_ops({other_b})),
        (Differences{
            {"/core/custom_ops/0",
             "{\"op\": \"a::a\", \"arg_transforms\": {}, "
             "\"output_transforms\": {}}",
             "absent"},
            {"/core/custom_ops/1/arg_transforms/0", "{\"type\": \"slice_owned\"}", "absent"},
            {"/core/custom_ops/1/arg_transforms/1", "absent", "{\"type\": \"slice_owned\"}"}}));
    EXPECT_EQ(spec_diff(with_ops({}), with_ops({a})),
              (Differences{{"/core/custom_ops/0", "absent",
                            "{\"op\": \"a::a\", \"arg_transforms\": {}, \"output_transforms\": "
                            "{}}"}}));
}

TEST(SpecDiff, NamesAnOrderThatIsAllTheDifference) {
    const OpAdapter a = {"a::a", {}, {}};
    const OpAdapter b = {"a::b", {}, {}};

    const Differences differences = spec_diff(with_ops({a, b, b}), with_ops({b, b, a}));

    ASSERT_EQ(differences.size(), 1U);
    EXPECT_EQ(differences[0].pointer, "/core/custom_ops");
    EXPECT_EQ(differences[0].left.find("[{\"op\": \"a::a\""), 0U);
    EXPECT_EQ(differences[0].right.find("[{\"op\": \"a::b\""), 0U);
}

TEST(SpecDiff, MatchesHelpersAndOutputsByName) {
    MLIPSpec left;
    left.distribution.third_party_helpers = {PythonAdapter{"m", "f", std::nullopt},
                                             MethodAdapter{"m", "C", "f", "r:g", false}};
    left.output_kinds = {{"a", OutputKind::PerNode}, {"b", OutputKind::PerNode}};
    MLIPSpec right;
    right.distribution.third_party_helpers = {MethodAdapter{"m", "C", "f", "r:g", true}};
    right.output_kinds = {{"b", OutputKind::Global}, {"c", OutputKind::Global}};

    EXPECT_EQ(spec_diff(left, right),
              (Differences{{"/core/third_party_helpers/0",
                            "{\"kind\": \"python\", \"module_path\": \"m\", \"attr_name\": \"f\", "
                            "\"replacement\": null}",
                            "absent"},
                           {"/core/third_party_helpers/1/mode", "\"wrap\"", "\"marshal\""},
                           {"/output_kinds/0", "[\"a\", \"per_node\"]", "absent"},
                           {"/output_kinds/1", "[\"b\", \"per_node\"]", "[\"b\", \"global\"]"},
                           {"/output_kinds/1", "absent", "[\"c\", \"global\"]"}}));
}

}  // namespace nvalchemi
