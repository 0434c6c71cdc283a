// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_COMPOSE_MLIP_SPECS_HPP
#define NVALCHEMI_SPEC_COMPOSE_MLIP_SPECS_HPP

#include <optional>
#include <vector>

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

/// The same spec with other modes; a mode that is not given stays. Only policies with a halo have
/// modes. Throws SpecError for the others.
MLIPSpec replace_policy(MLIPSpec spec, std::optional<ScatterMode> scatter_mode,
                        std::optional<GatherMode> gather_mode = std::nullopt);

/// One spec for a model that has the parts `left` and `right`.
///
///   policy                 of one kind, with the modes that exchange more; "local" goes with any
///   custom_ops, helpers    left's, then right's; what both say alike is there once
///   shard_fields           left's, then what only right has; absent counts as the default list
///   system_reductions, gp_replicate_geometry   true if either is
///   node_energy_key, node_virial_key           whichever is not null
///   owned_only_outputs, all_reduce_outputs, output_kinds   all of both; unknown kinds yield
///   compile                whichever is not null; of two, stress_via_strain if either has it
///
/// What the two say differently, and what ends up in both reductions, is an error that names both.
/// Throws SpecError.
MLIPSpec merge(const MLIPSpec& left, const MLIPSpec& right);

/// The same spec with further adapters behind its own; one that it has already is there once.
/// Throws SpecError for an adapter that contradicts another, or a transform without rows to work
/// on under the policy.
MLIPSpec with_adapters(MLIPSpec spec, const std::vector<OpAdapter>& custom_ops,
                       const std::vector<HelperAdapter>& third_party_helpers = {});

/// The same spec with another compile policy.
MLIPSpec with_compile(MLIPSpec spec, const std::optional<CompilePolicy>& compile);

}  // namespace nvalchemi

#endif
