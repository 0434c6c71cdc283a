// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_FORMAT_NAMES_HPP
#define NVALCHEMI_SPEC_FORMAT_NAMES_HPP

#include <array>
#include <string>

#include "spec/mlip_spec.hpp"
#include "spec/named_value.hpp"

namespace nvalchemi {

/// The strings that the JSON form has for each enumeration, in the order that messages list them.

inline constexpr std::array<NamedValue<PolicyKind>, 5> kPolicyKinds = {{
    {"halo", PolicyKind::Halo},
    {"refresh_halo", PolicyKind::RefreshHalo},
    {"local", PolicyKind::Local},
    {"graph_parallel", PolicyKind::GraphParallel},
    {"shard", PolicyKind::Shard},
}};

inline constexpr std::array<NamedValue<ScatterMode>, 2> kScatterModes = {{
    {"halo_correction", ScatterMode::HaloCorrection},
    {"local", ScatterMode::Local},
}};

inline constexpr std::array<NamedValue<GatherMode>, 2> kGatherModes = {{
    {"halo_read", GatherMode::HaloRead},
    {"local", GatherMode::Local},
}};

inline constexpr std::array<NamedValue<ArgTransform>, 3> kArgTransforms = {{
    {"gather_inputs", ArgTransform::GatherInputs},
    {"gather_inputs_full", ArgTransform::GatherInputsFull},
    {"slice_owned", ArgTransform::SliceOwned},
}};

inline constexpr std::array<NamedValue<OutputTransform::Kind>, 3> kOutputTransforms = {{
    {"scatter_outputs", OutputTransform::Kind::ScatterOutputs},
    {"all_reduce_sum", OutputTransform::Kind::AllReduceSum},
    {"slice_outputs_owned", OutputTransform::Kind::SliceOutputsOwned},
}};

inline constexpr std::array<NamedValue<OutputKind>, 4> kOutputKinds = {{
    {"per_node", OutputKind::PerNode},
    {"per_graph", OutputKind::PerGraph},
    {"global", OutputKind::Global},
    {"unknown", OutputKind::Unknown},
}};

inline constexpr std::array<NamedValue<ForceStrategy>, 3> kForceStrategies = {{
    {"model_internal", ForceStrategy::ModelInternal},
    {"framework_from_node_energy", ForceStrategy::FrameworkFromNodeEnergy},
    {"framework_from_global_energy", ForceStrategy::FrameworkFromGlobalEnergy},
}};

constexpr const char* name_of(PolicyKind value) { return name_in(kPolicyKinds, value); }
constexpr const char* name_of(ScatterMode value) { return name_in(kScatterModes, value); }
constexpr const char* name_of(GatherMode value) { return name_in(kGatherModes, value); }
constexpr const char* name_of(ArgTransform value) { return name_in(kArgTransforms, value); }
constexpr const char* name_of(OutputTransform::Kind value) {
    return name_in(kOutputTransforms, value);
}
constexpr const char* name_of(OutputKind value) { return name_in(kOutputKinds, value); }
constexpr const char* name_of(ForceStrategy value) { return name_in(kForceStrategies, value); }

/// Whether a transform works on rows [owned | halo]; the others work on blocks of atoms.
constexpr bool needs_halo(ArgTransform transform) {
    return transform != ArgTransform::GatherInputsFull;
}
constexpr bool needs_halo(OutputTransform::Kind transform) {
    return transform != OutputTransform::Kind::SliceOutputsOwned;
}

/// Whether a policy stores rows so that a transform with that need (see needs_halo) has an effect.
constexpr bool stores_rows_for(PolicyKind policy, bool halo_needed) {
    const bool halo = policy == PolicyKind::Halo || policy == PolicyKind::RefreshHalo;
    const bool blocks = policy == PolicyKind::GraphParallel || policy == PolicyKind::Shard;
    return halo_needed ? halo : blocks;
}

/// "kind" of a helper adapter: "jit", "python", "method" or "module_forward".
const char* kind_of(const HelperAdapter& helper);

/// What a helper adapter replaces or marks, as a dotted name: "aimnet.modules.aev.ConvSV.forward".
std::string target_of(const HelperAdapter& helper);

/// Whether a "replacement" can bind: "module:qualname" with a name that can be found again, so no
/// closure and no lambda. Anything else binds to nothing.
bool is_bindable_replacement(const std::string& replacement);

}  // namespace nvalchemi

#endif
