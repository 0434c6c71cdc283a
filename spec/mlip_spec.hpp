// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_MLIP_SPEC_HPP
#define NVALCHEMI_SPEC_MLIP_SPEC_HPP

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nvalchemi {

/// How an output is laid out.
enum class OutputKind { PerNode, PerGraph, Global, Unknown };

enum class ScatterMode { HaloCorrection, Local };
enum class GatherMode { HaloRead, Local };

/// Rows `[owned | halo]` of every per-atom tensor (policy kind "halo").
struct HaloStoragePolicy {
    ScatterMode scatter_mode = ScatterMode::HaloCorrection;
    GatherMode gather_mode = GatherMode::HaloRead;
    bool operator==(const HaloStoragePolicy&) const = default;
};

/// Who differentiates the energy.
enum class ForceStrategy { ModelInternal, FrameworkFromNodeEnergy, FrameworkFromGlobalEnergy };

/// The "compile" object. Absent means ForceStrategy::ModelInternal.
struct CompilePolicy {
    bool static_shapes = true;
    ForceStrategy force_strategy = ForceStrategy::ModelInternal;
    bool stress_via_strain = false;
    bool operator==(const CompilePolicy&) const = default;
};

/// The "core" object: storage policy and what is promoted to it.
struct DistributionSpec {
    HaloStoragePolicy policy;
    /// Names of per-atom fields with distributed semantics. Absent differs from empty.
    std::optional<std::vector<std::string>> shard_fields;
    bool operator==(const DistributionSpec&) const = default;
};

/// What a model needs in order to run on parts of a system.
struct MLIPSpec {
    DistributionSpec distribution;
    bool system_reductions = true;
    std::optional<std::string> node_energy_key;
    std::optional<std::string> node_virial_key;
    bool gp_replicate_geometry = false;
    std::set<std::string> owned_only_outputs;
    std::set<std::string> all_reduce_outputs;
    std::map<std::string, OutputKind> output_kinds;
    std::optional<CompilePolicy> compile;
    bool operator==(const MLIPSpec&) const = default;
};

}  // namespace nvalchemi

#endif
