// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_MLIP_SPEC_HPP
#define NVALCHEMI_SPEC_MLIP_SPEC_HPP

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace nvalchemi {

/// How an output is laid out.
enum class OutputKind { PerNode, PerGraph, Global, Unknown };

/// What happens after a sum into rows: contributions to halo rows go to their owners, or nothing.
enum class ScatterMode { HaloCorrection, Local };
/// What happens before rows are read by an index: halo rows are refreshed, or nothing.
enum class GatherMode { HaloRead, Local };

/// How per-atom tensors are spread over ranks (the kinds of "policy").
enum class PolicyKind {
    Local,          ///< "local": nothing is exchanged
    Halo,           ///< "halo": rows [owned | halo] (HaloStoragePolicy)
    RefreshHalo,    ///< "refresh_halo": the same, but halo rows are only ever overwritten
    GraphParallel,  ///< "graph_parallel": each rank holds a block of atoms, and no halo
    Shard,          ///< "shard": plain blocks without a strategy for a model
};

/// The storage policy. The modes have a meaning for Halo and RefreshHalo only, and are at their
/// defaults otherwise.
struct StoragePolicy {
    PolicyKind kind = PolicyKind::Halo;
    ScatterMode scatter_mode = ScatterMode::HaloCorrection;
    GatherMode gather_mode = GatherMode::HaloRead;

    bool has_halo() const { return kind == PolicyKind::Halo || kind == PolicyKind::RefreshHalo; }
    bool operator==(const StoragePolicy&) const = default;
};

/// What is done to one argument of an operator before it runs.
enum class ArgTransform {
    GatherInputs,      ///< owned rows (n_owned, *F) are followed by refreshed halo rows
    GatherInputsFull,  ///< graph_parallel: all rows of all ranks
    SliceOwned,        ///< only the owned rows remain
};

/// What is done to one output of an operator after it ran.
struct OutputTransform {
    enum class Kind {
        ScatterOutputs,     ///< halo rows hold parts of sums: fold them into owners, then refresh
        AllReduceSum,       ///< the truth is the sum over ranks
        SliceOutputsOwned,  ///< graph_parallel: this rank's block remains
    };
    Kind kind = Kind::ScatterOutputs;
    /// Of AllReduceSum: kept and written, without effect: the adjoint is a sum in any case.
    bool replicated_consumer = false;
    bool operator==(const OutputTransform&) const = default;
};

/// Transforms around one operator that the analysis cannot look into. Positions count arguments
/// and outputs of the operator's schema from 0.
struct OpAdapter {
    std::string op;  ///< "<namespace>::<name>", the default overload
    std::map<int, ArgTransform> arg_transforms;
    std::map<int, OutputTransform> output_transforms;
    bool operator==(const OpAdapter&) const = default;
};

/// Replaces the TorchScript function `<module_path>.<attr_name>` (kind "jit").
struct JitAdapter {
    std::string module_path;
    std::string attr_name;
    std::optional<std::string> replacement;  ///< "module:qualname"; none: declared only
    bool marshal = false;                    ///< mode "marshal", else "eager"
    bool operator==(const JitAdapter&) const = default;
};

/// Replaces the module-level function `<module_path>.<attr_name>` (kind "python").
struct PythonAdapter {
    std::string module_path;
    std::string attr_name;
    std::optional<std::string> replacement;
    bool operator==(const PythonAdapter&) const = default;
};

/// Wraps a method of a class (kind "method").
struct MethodAdapter {
    std::string module_path;
    std::string class_name;
    std::string method_name;
    std::optional<std::string> replacement;
    bool marshal = false;  ///< mode "marshal", else "wrap"
    bool operator==(const MethodAdapter&) const = default;
};

/// A marker on the forward of a module (kind "module_forward").
struct ModuleForward {
    std::string target;
    std::string label;
    bool operator==(const ModuleForward&) const = default;
};

using HelperAdapter = std::variant<JitAdapter, PythonAdapter, MethodAdapter, ModuleForward>;

/// Who differentiates the energy.
enum class ForceStrategy { ModelInternal, FrameworkFromNodeEnergy, FrameworkFromGlobalEnergy };

/// The "compile" object. Absent means ForceStrategy::ModelInternal.
struct CompilePolicy {
    bool static_shapes = true;
    ForceStrategy force_strategy = ForceStrategy::ModelInternal;
    bool stress_via_strain = false;
    bool operator==(const CompilePolicy&) const = default;
};

/// The "core" object: storage policy, adapters, and what is promoted to distributed storage.
struct DistributionSpec {
    StoragePolicy policy;
    std::vector<OpAdapter> custom_ops;
    std::vector<HelperAdapter> third_party_helpers;
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
