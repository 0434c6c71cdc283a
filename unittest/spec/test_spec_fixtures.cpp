// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <map>

#include "spec/parse_mlip_spec.hpp"
#include "unittest/spec/fixtures.hpp"
#include "unittest/spec/refusal.hpp"

namespace nvalchemi {

namespace {

const char* const kLoads = "loads";
const char* const kAdapter = "/core/custom_ops/0";
const char* const kHelper = "/core/third_party_helpers/0";
const char* const kPolicy = "/core/policy/kind";
const char* const kText = "/";  // the document as a whole

/// Every spec file: "loads", or the JSON pointer of what is refused. The folders hold what two
/// releases of another implementation wrote ("released", "early"), what it refuses ("invalid") and
/// what it accepts without a word although it should not ("doubtful").
const std::map<std::string, std::string> kVerdicts = {
    {"doubtful/arg_transform_negative_position.json", kAdapter},
    {"doubtful/compile_empty.json", "/compile"},
    {"doubtful/compile_extra_key.json", "/compile/graph_padder"},
    {"doubtful/helper_replacement_no_colon.json", kHelper},
    {"doubtful/helper_unresolvable_replacement.json", kHelper},
    {"doubtful/json_duplicate_version.json", "/version"},
    {"doubtful/json_nan.json", kText},
    {"doubtful/output_kind_dict_form.json", "/output_kinds"},
    {"doubtful/output_kind_null.json", "/output_kinds"},
    {"doubtful/output_kinds_duplicate_key.json", "/output_kinds/1"},
    {"doubtful/output_transform_replicated_consumer.json", kAdapter},
    {"doubtful/outputs_key.json", "/outputs"},
    {"doubtful/owned_only_string.json", "/owned_only_outputs"},
    {"doubtful/policy_bad_scatter_mode.json", "/core/policy/scatter_mode"},
    {"doubtful/shard_fields_string.json", "/core/shard_fields"},
    {"doubtful/shard_fields_unknown_field.json", "/core/shard_fields/0"},
    {"doubtful/system_reductions_string.json", "/system_reductions"},
    {"doubtful/transforms_mixed_storage.json", kAdapter},
    {"doubtful/unknown_core_key.json", "/core/frobnicate"},
    {"doubtful/version_float_2.json", "/version"},
    {"early/adapter_function.json", kHelper},
    {"early/adapter_jit_eager.json", kHelper},
    {"early/adapter_python.json", kHelper},
    {"early/adapter_python_declared.json", kHelper},
    {"early/compile_dynamic_shapes.json", kLoads},
    {"early/compile_framework_from_global_energy.json", kLoads},
    {"early/compile_framework_from_node_energy.json", kLoads},
    {"early/compile_graph_padder.json", kLoads},
    {"early/merge_mpnn_ewald.json", kLoads},
    {"early/merge_none_with_gp.json", kPolicy},
    {"early/node_energy_virial_keys.json", kLoads},
    {"early/op_lazy_string.json", kAdapter},
    {"early/op_many_positions_order.json", kAdapter},
    {"early/outputs_all_kinds.json", kLoads},
    {"early/outputs_explicit_unknown.json", kLoads},
    {"early/outputs_overlap_owned_and_reduce.json", kLoads},
    {"early/policy_graph_parallel.json", kPolicy},
    {"early/policy_halo_bogus_mode.json", "/core/policy/scatter_mode"},
    {"early/policy_halo_local_read.json", kLoads},
    {"early/policy_local_none.json", kPolicy},
    {"early/policy_plain_shard.json", kPolicy},
    {"early/policy_refresh_halo_default_ctor.json", kPolicy},
    {"early/preset_SPEC_DFTD3_HALO.json", kLoads},
    {"early/preset_SPEC_EWALD_HALO.json", kLoads},
    {"early/preset_SPEC_MPNN_HALO.json", kLoads},
    {"early/preset_SPEC_PME_HALO.json", kLoads},
    {"early/preset_SPEC_UMA_HALO.json", kLoads},
    {"early/shard_fields_positions.json", kLoads},
    {"early/system_reductions_false.json", kLoads},
    {"early/transform_gather_inputs.json", kAdapter},
    {"early/transform_gather_inputs_full_slice_outputs_owned.json", kPolicy},
    {"early/transform_role_keywords.json", kAdapter},
    {"early/transform_scatter_outputs.json", kAdapter},
    {"early/transform_slice_owned_all_reduce.json", kAdapter},
    {"early/wrapper_aimnet2.json", kHelper},
    {"early/wrapper_dftd3.json", kLoads},
    {"early/wrapper_ewald_gp.json", kPolicy},
    {"early/wrapper_ewald_hybrid_False.json", kAdapter},
    {"early/wrapper_ewald_hybrid_True.json", kAdapter},
    {"early/wrapper_lj.json", kAdapter},
    {"early/wrapper_mace_cueq_base.json", kAdapter},
    {"early/wrapper_pme_hybrid_True.json", kAdapter},
    {"early/wrapper_uma_gp.json", kPolicy},
    {"early/wrapper_uma_halo.json", kPolicy},
    {"invalid/arg_transform_bad_position.json", kAdapter},
    {"invalid/arg_transform_extra_field.json", kAdapter},
    {"invalid/arg_transform_unknown.json", kAdapter},
    {"invalid/compile_bad_strategy.json", "/compile/force_strategy"},
    {"invalid/compile_no_strategy.json", "/compile"},
    {"invalid/core_missing.json", kText},
    {"invalid/helper_missing_attr.json", kHelper},
    {"invalid/helper_op_in_helpers.json", kHelper},
    {"invalid/helper_unknown_kind.json", kHelper},
    {"invalid/json_comment.json", kText},
    {"invalid/json_empty.json", kText},
    {"invalid/json_not_json.json", kText},
    {"invalid/op_missing.json", kAdapter},
    {"invalid/op_no_namespace.json", kAdapter},
    {"invalid/op_null.json", kAdapter},
    {"invalid/op_unregistered.json", kAdapter},
    {"invalid/op_with_overload.json", kAdapter},
    {"invalid/output_kind_bad_pair.json", "/output_kinds/0"},
    {"invalid/output_kind_unknown.json", "/output_kinds/0/1"},
    {"invalid/output_transform_extra_field.json", kAdapter},
    {"invalid/output_transform_unknown.json", kAdapter},
    {"invalid/owned_only_null.json", "/owned_only_outputs"},
    {"invalid/policy_kind_missing.json", "/core/policy"},
    {"invalid/policy_missing.json", "/core"},
    {"invalid/policy_null.json", "/core/policy"},
    {"invalid/policy_unknown_kind.json", kPolicy},
    {"invalid/shard_fields_null.json", "/core/shard_fields"},
    {"invalid/version_1_flat.json", "/version"},
    {"invalid/version_99.json", "/version"},
    {"released/adapter_function.json", kHelper},
    {"released/adapter_jit_eager.json", kHelper},
    {"released/adapter_jit_marshal.json", kHelper},
    {"released/adapter_module_forward.json", kHelper},
    {"released/adapter_python_closure.json", kHelper},
    {"released/adapter_python_declared.json", kHelper},
    {"released/compile_framework_from_global_energy.json", kLoads},
    {"released/compile_framework_from_node_energy.json", kLoads},
    {"released/compile_graph_padder.json", kLoads},
    {"released/compile_model_internal.json", kLoads},
    {"released/gp_replicate_geometry.json", kPolicy},
    {"released/merge_local_scatter_with_mpnn.json", kLoads},
    {"released/merge_mpnn_ewald.json", kLoads},
    {"released/merge_none_with_gp.json", kPolicy},
    {"released/node_energy_virial_keys.json", kLoads},
    {"released/op_lazy_string.json", kAdapter},
    {"released/outputs_all_kinds.json", kLoads},
    {"released/outputs_explicit_unknown.json", kLoads},
    {"released/policy_graph_parallel.json", kPolicy},
    {"released/policy_halo_corr_localgather.json", kLoads},
    {"released/policy_halo_local_local.json", kLoads},
    {"released/policy_halo_local_read.json", kLoads},
    {"released/policy_local_none.json", kPolicy},
    {"released/policy_plain_shard.json", kPolicy},
    {"released/policy_refresh_halo_default_ctor.json", kPolicy},
    {"released/policy_refresh_halo_local.json", kPolicy},
    {"released/preset_SPEC_DFTD3_HALO.json", kLoads},
    {"released/preset_SPEC_LJ_HALO.json", kLoads},
    {"released/preset_SPEC_MPNN_GP.json", kPolicy},
    {"released/preset_SPEC_PME_HALO.json", kLoads},
    {"released/preset_SPEC_UMA_HALO.json", kLoads},
    {"released/shard_fields_empty.json", kLoads},
    {"released/system_reductions_false.json", kLoads},
    {"released/transform_all_reduce_replicated_consumer.json", kAdapter},
    {"released/transform_gather_inputs.json", kAdapter},
    {"released/transform_gather_inputs_full_slice_outputs_owned.json", kPolicy},
    {"released/transform_passthrough_op.json", kAdapter},
    {"released/transform_role_keywords.json", kAdapter},
    {"released/transform_scatter_outputs.json", kAdapter},
    {"released/transform_slice_owned_all_reduce.json", kAdapter},
    {"released/wrapper_aimnet2.json", kHelper},
    {"released/wrapper_dftd3.json", kLoads},
    {"released/wrapper_ewald_hybrid_False.json", kAdapter},
    {"released/wrapper_lj.json", kAdapter},
    {"released/wrapper_mace_cueq_base.json", kAdapter},
    {"released/wrapper_pme_gp.json", kPolicy},
    {"released/wrapper_pme_hybrid_False.json", kAdapter},
    {"released/wrapper_uma_gp.json", kPolicy},
    {"released/wrapper_uma_halo.json", kPolicy},
};

std::string verdict_on(const std::filesystem::path& path) {
    try {
        parse_mlip_spec(testing::read_file(path), path.filename().string());
    } catch (const SpecError& error) {
        return error.pointer().empty() ? "/" : error.pointer();
    }
    return kLoads;
}

MLIPSpec load(const std::filesystem::path& folder, const std::string& name) {
    return parse_mlip_spec(testing::read_file(folder / "specs" / name), name);
}

}  // namespace

TEST(SpecFixtures, EachFileLoadsOrIsRefusedAtTheExpectedPlace) {
    const auto folder = testing::fixtures_folder();
    if (!folder) GTEST_SKIP() << testing::kNoFixtures;

    for (const auto& [name, verdict] : kVerdicts) {
        EXPECT_EQ(verdict_on(*folder / "specs" / name), verdict) << name;
    }
}

TEST(SpecFixtures, NoInvalidOrDoubtfulFileLoads) {
    const auto folder = testing::fixtures_folder();
    if (!folder) GTEST_SKIP() << testing::kNoFixtures;

    for (const char* kind : {"invalid", "doubtful"}) {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(*folder / "specs" / kind)) {
            EXPECT_NE(verdict_on(entry.path()), kLoads) << entry.path();
            ++count;
        }
        EXPECT_GT(count, 0U) << kind;
    }
}

TEST(SpecFixtures, HaloPresetsAreOneSpec) {
    const auto folder = testing::fixtures_folder();
    if (!folder) GTEST_SKIP() << testing::kNoFixtures;
    MLIPSpec expected;
    expected.output_kinds = {{"atomic_energies", OutputKind::PerNode},
                             {"energy", OutputKind::PerGraph},
                             {"forces", OutputKind::PerNode},
                             {"stress", OutputKind::PerGraph}};

    for (const char* name :
         {"released/preset_SPEC_DFTD3_HALO.json", "released/preset_SPEC_LJ_HALO.json",
          "released/preset_SPEC_PME_HALO.json", "released/preset_SPEC_UMA_HALO.json",
          "early/preset_SPEC_DFTD3_HALO.json", "early/preset_SPEC_EWALD_HALO.json",
          "early/preset_SPEC_MPNN_HALO.json", "early/preset_SPEC_PME_HALO.json",
          "early/preset_SPEC_UMA_HALO.json"}) {
        EXPECT_EQ(load(*folder, name), expected) << name;
    }
}

TEST(SpecFixtures, FieldsArriveFromFiles) {
    const auto folder = testing::fixtures_folder();
    if (!folder) GTEST_SKIP() << testing::kNoFixtures;

    const MLIPSpec modes = load(*folder, "released/policy_halo_corr_localgather.json");
    EXPECT_EQ(modes.distribution.policy.scatter_mode, ScatterMode::HaloCorrection);
    EXPECT_EQ(modes.distribution.policy.gather_mode, GatherMode::Local);
    EXPECT_EQ(load(*folder, "released/shard_fields_empty.json").distribution.shard_fields,
              std::vector<std::string>{});
    const MLIPSpec outputs = load(*folder, "released/outputs_all_kinds.json");
    EXPECT_EQ(outputs.owned_only_outputs, std::set<std::string>{"forces"});
    EXPECT_EQ(outputs.all_reduce_outputs, (std::set<std::string>{"stress", "u"}));
    EXPECT_EQ(outputs.output_kinds.at("meta"), OutputKind::Global);
    const std::string strategy = "compile_framework_from_global_energy.json";
    EXPECT_EQ(load(*folder, "released/" + strategy).compile,
              (CompilePolicy{true, ForceStrategy::FrameworkFromGlobalEnergy, true}));
    // The early variant of the same spec cannot say it.
    EXPECT_EQ(load(*folder, "early/" + strategy).compile, std::nullopt);
}

}  // namespace nvalchemi
