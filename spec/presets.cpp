// SPDX-License-Identifier: GPL-2.0-only
#include "spec/presets.hpp"

#include <utility>

namespace nvalchemi {

namespace {

const char* const kBlocks = "fairchem.core.models.uma.escn_md_block";
const char* const kExperts = "fairchem.core.models.uma.escn_moe";
const char* const kBackbone = "fairchem.core.models.uma.escn_md";

/// What all presets declare of the common outputs.
MLIPSpec common_outputs() {
    MLIPSpec spec;
    spec.output_kinds = {{"atomic_energies", OutputKind::PerNode},
                         {"energy", OutputKind::PerGraph},
                         {"forces", OutputKind::PerNode},
                         {"stress", OutputKind::PerGraph}};
    return spec;
}

/// Message passing on atoms that are blocks of the whole system, without a halo.
MLIPSpec mpnn_graph_parallel() {
    MLIPSpec spec = common_outputs();
    spec.distribution.policy.kind = PolicyKind::GraphParallel;
    spec.distribution.shard_fields.emplace();
    spec.owned_only_outputs = {"atomic_energies", "forces"};
    spec.compile = CompilePolicy{true, ForceStrategy::FrameworkFromGlobalEnergy, false};
    return spec;
}

HelperAdapter wrapped(const std::string& module_path, const std::string& class_name,
                      const std::string& method_name, const std::string& replacement) {
    return MethodAdapter{module_path, class_name, method_name, replacement, false};
}

/// AIMNet2: one sum over atoms in a helper, and layers that refresh their halo rows first.
MLIPSpec aimnet2_halo() {
    const std::string package = "nvalchemi.models.aimnet2:_distributed_";
    MLIPSpec spec = common_outputs();
    spec.distribution.shard_fields = {"positions"};
    spec.distribution.third_party_helpers = {
        PythonAdapter{"aimnet.nbops", "mol_sum", package + "mol_sum"},
        wrapped("aimnet.modules.aev", "ConvSV", "forward", package + "conv_sv_forward"),
        wrapped("aimnet.modules.lr", "LRCoulomb", "forward", package + "coulomb_forward"),
        wrapped("aimnet.modules.lr", "SRCoulomb", "forward", package + "coulomb_forward")};
    spec.all_reduce_outputs = {"stress"};
    spec.compile = CompilePolicy{true, ForceStrategy::FrameworkFromGlobalEnergy, true};
    return spec;
}

/// UMA as its wrapper declares it: halo rows are only overwritten, and the adapters say where.
MLIPSpec uma_refresh_halo() {
    const std::string package = "nvalchemi.models.uma:_distributed_";
    const std::string energy = package + "reduce_node_to_system";
    MLIPSpec spec = common_outputs();
    spec.distribution.policy = {PolicyKind::RefreshHalo, ScatterMode::Local, GatherMode::HaloRead};
    spec.distribution.shard_fields.emplace();
    spec.distribution.third_party_helpers = {
        wrapped(kBlocks, "eSCNMD_Block", "forward", package + "escn_block_forward"),
        wrapped(kBlocks, "Edgewise", "forward", package + "edgewise_fold"),
        wrapped("fairchem.core.models.uma.nn.embedding", "EdgeDegreeEmbedding", "forward",
                package + "edge_degree_fold"),
        PythonAdapter{"fairchem.core.models.uma.outputs", "reduce_node_to_system", energy},
        PythonAdapter{kBackbone, "reduce_node_to_system", energy},
        wrapped("fairchem.core.modules.normalization.element_references", "ElementReferences",
                "undo_refs", package + "undo_refs"),
        wrapped(kExperts, "eSCNMDMoeBackbone", "_get_merged_mole_consistency_info",
                package + "merged_mole_consistency_info"),
        wrapped(kExperts, "eSCNMDMoeBackbone", "set_MOLE_coefficients",
                package + "set_mole_coefficients")};
    spec.all_reduce_outputs = {"stress"};
    spec.compile = CompilePolicy{true, ForceStrategy::ModelInternal, false};
    return spec;
}

using NamedSpec = std::pair<std::string, MLIPSpec>;

const std::vector<NamedSpec>& presets() {
    // Six names for one spec: what tells these families apart is in the adapters of a model's own
    // spec, and the names say which family a user has in mind.
    static const std::vector<NamedSpec> all = {
        {"SPEC_MPNN_HALO", common_outputs()},          {"SPEC_LJ_HALO", common_outputs()},
        {"SPEC_UMA_HALO", common_outputs()},           {"SPEC_EWALD_HALO", common_outputs()},
        {"SPEC_PME_HALO", common_outputs()},           {"SPEC_DFTD3_HALO", common_outputs()},
        {"SPEC_UMA_REFRESH_HALO", uma_refresh_halo()}, {"SPEC_AIMNET2_HALO", aimnet2_halo()},
        {"SPEC_MPNN_GP", mpnn_graph_parallel()},
    };
    return all;
}

}  // namespace

const MLIPSpec* find_preset(const std::string& name) {
    for (const auto& [preset, spec] : presets()) {
        if (preset == name) return &spec;
    }
    return nullptr;
}

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const auto& [preset, spec] : presets()) names.push_back(preset);
    return names;
}

}  // namespace nvalchemi
