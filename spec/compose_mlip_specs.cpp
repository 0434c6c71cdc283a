// SPDX-License-Identifier: GPL-2.0-only
#include "spec/compose_mlip_specs.hpp"

#include <algorithm>

#include "spec/format/encode_mlip_spec.hpp"
#include "spec/format/read_distribution_spec.hpp"
#include "spec/format_names.hpp"
#include "spec/spec_error.hpp"
#include "spec/write_json.hpp"

namespace nvalchemi {

namespace {

[[noreturn]] void refuse(const std::string& pointer, const std::string& problem) {
    throw SpecError("mlip_spec", pointer, problem);
}

[[noreturn]] void refuse_both(const std::string& pointer, const std::string& left,
                              const std::string& right, const std::string& expected) {
    refuse(pointer, "got " + left + " and " + right + " to merge, expected " + expected);
}

StoragePolicy merge_policies(const StoragePolicy& left, const StoragePolicy& right) {
    if (left.kind == PolicyKind::Local) return right;
    if (right.kind == PolicyKind::Local) return left;
    if (left.kind != right.kind) {
        refuse_both("/core/policy/kind", in_quotes(name_of(left.kind)),
                    in_quotes(name_of(right.kind)),
                    "one kind, or \"local\" on one side (the parts of one model share their rows)");
    }
    StoragePolicy result = left;
    if (right.scatter_mode == ScatterMode::HaloCorrection) result.scatter_mode = right.scatter_mode;
    if (right.gather_mode == GatherMode::HaloRead) result.gather_mode = right.gather_mode;
    return result;
}

std::string one_line(const JsonValue& value) { return write_json(value, JsonLayout::OneLine); }

std::string subject_of(const OpAdapter& adapter) { return "operator " + in_quotes(adapter.op); }
std::string subject_of(const HelperAdapter& helper) {
    return std::string(kind_of(helper)) + " adapter of " + in_quotes(target_of(helper));
}

std::string text_of(const OpAdapter& adapter) { return one_line(encode_op_adapter(adapter)); }
std::string text_of(const HelperAdapter& helper) { return one_line(encode_helper_adapter(helper)); }

/// Append what is new; the same subject with other contents is an error.
template <typename Adapter>
void append_adapters(std::vector<Adapter>& adapters, const std::vector<Adapter>& further,
                     const std::string& pointer) {
    for (const Adapter& adapter : further) {
        if (std::find(adapters.begin(), adapters.end(), adapter) != adapters.end()) continue;
        for (const Adapter& other : adapters) {
            if (subject_of(other) != subject_of(adapter)) continue;
            refuse(pointer, "got two for " + subject_of(adapter) + ", " + text_of(other) + " and " +
                                text_of(adapter) + ", expected one (keep the right one)");
        }
        adapters.push_back(adapter);
    }
}

/// Absent stays absent where the union is what absent means.
std::optional<std::vector<std::string>> merge_shard_fields(const DistributionSpec& left,
                                                           const DistributionSpec& right) {
    std::vector<std::string> fields = left.shard_fields.value_or(default_shard_fields());
    for (const std::string& field : right.shard_fields.value_or(default_shard_fields())) {
        if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
    }
    if (fields == default_shard_fields()) return std::nullopt;
    return fields;
}

std::optional<std::string> merge_keys(const char* pointer, const std::optional<std::string>& left,
                                      const std::optional<std::string>& right) {
    if (left && right && *left != *right) {
        refuse_both(pointer, in_quotes(*left), in_quotes(*right),
                    "one output (give it one name in both parts)");
    }
    return left ? left : right;
}

void merge_reductions(MLIPSpec& result, const MLIPSpec& other) {
    result.owned_only_outputs.insert(other.owned_only_outputs.begin(),
                                     other.owned_only_outputs.end());
    result.all_reduce_outputs.insert(other.all_reduce_outputs.begin(),
                                     other.all_reduce_outputs.end());
    for (const std::string& name : result.owned_only_outputs) {
        if (!result.all_reduce_outputs.contains(name)) continue;
        refuse_both("/all_reduce_outputs",
                    in_quotes(name) + " in \"owned_only_outputs\" of one spec",
                    "in \"all_reduce_outputs\" of another",
                    "one of the two (sum it over ranks or keep owned rows, not both)");
    }
}

void merge_output_kinds(MLIPSpec& result, const MLIPSpec& other) {
    for (const auto& [name, kind] : other.output_kinds) {
        const auto [place, is_new] = result.output_kinds.emplace(name, kind);
        if (is_new || place->second == kind || kind == OutputKind::Unknown) continue;
        if (place->second != OutputKind::Unknown) {
            refuse_both("/output_kinds",
                        in_quotes(name) + " as " + in_quotes(name_of(place->second)),
                        in_quotes(name_of(kind)), "one kind of each output");
        }
        place->second = kind;
    }
}

std::optional<CompilePolicy> merge_compile(const std::optional<CompilePolicy>& left,
                                           const std::optional<CompilePolicy>& right) {
    if (!left || !right) return left ? left : right;
    if (left->force_strategy != right->force_strategy ||
        left->static_shapes != right->static_shapes) {
        refuse_both("/compile", one_line(encode_compile(left)), one_line(encode_compile(right)),
                    "one \"force_strategy\" and one \"static_shapes\" (one energy is "
                    "differentiated once)");
    }
    CompilePolicy result = *left;
    result.stress_via_strain |= right->stress_via_strain;
    return result;
}

template <typename Type>
void check_rows(const std::string& op, Type type, PolicyKind policy) {
    if (stores_rows_for(policy, needs_halo(type))) return;
    refuse("/core/custom_ops",
           "got transform " + in_quotes(name_of(type)) + " of operator " + in_quotes(op) +
               " under policy " + in_quotes(name_of(policy)) + ", expected policy " +
               (needs_halo(type) ? "\"halo\" or \"refresh_halo\"" : "\"graph_parallel\""));
}

void check_storage(const std::vector<OpAdapter>& custom_ops, PolicyKind policy) {
    for (const OpAdapter& adapter : custom_ops) {
        for (const auto& [position, type] : adapter.arg_transforms) {
            check_rows(adapter.op, type, policy);
        }
        for (const auto& [position, transform] : adapter.output_transforms) {
            check_rows(adapter.op, transform.kind, policy);
        }
    }
}

}  // namespace

MLIPSpec replace_policy(MLIPSpec spec, std::optional<ScatterMode> scatter_mode,
                        std::optional<GatherMode> gather_mode) {
    StoragePolicy& policy = spec.distribution.policy;
    if (!policy.has_halo()) {
        refuse("/core/policy/kind", "got " + in_quotes(name_of(policy.kind)) +
                                        ", expected \"halo\" or \"refresh_halo\" (only these have "
                                        "a scatter mode and a gather mode)");
    }
    policy.scatter_mode = scatter_mode.value_or(policy.scatter_mode);
    policy.gather_mode = gather_mode.value_or(policy.gather_mode);
    return spec;
}

MLIPSpec merge(const MLIPSpec& left, const MLIPSpec& right) {
    MLIPSpec result = left;
    result.distribution.policy =
        merge_policies(left.distribution.policy, right.distribution.policy);
    append_adapters(result.distribution.custom_ops, right.distribution.custom_ops,
                    "/core/custom_ops");
    append_adapters(result.distribution.third_party_helpers, right.distribution.third_party_helpers,
                    "/core/third_party_helpers");
    result.distribution.shard_fields = merge_shard_fields(left.distribution, right.distribution);
    result.system_reductions |= right.system_reductions;
    result.node_energy_key =
        merge_keys("/node_energy_key", left.node_energy_key, right.node_energy_key);
    result.node_virial_key =
        merge_keys("/node_virial_key", left.node_virial_key, right.node_virial_key);
    result.gp_replicate_geometry |= right.gp_replicate_geometry;
    merge_reductions(result, right);
    merge_output_kinds(result, right);
    result.compile = merge_compile(left.compile, right.compile);
    return result;
}

MLIPSpec with_adapters(MLIPSpec spec, const std::vector<OpAdapter>& custom_ops,
                       const std::vector<HelperAdapter>& third_party_helpers) {
    check_storage(custom_ops, spec.distribution.policy.kind);
    append_adapters(spec.distribution.custom_ops, custom_ops, "/core/custom_ops");
    append_adapters(spec.distribution.third_party_helpers, third_party_helpers,
                    "/core/third_party_helpers");
    return spec;
}

MLIPSpec with_compile(MLIPSpec spec, const std::optional<CompilePolicy>& compile) {
    spec.compile = compile;
    return spec;
}

}  // namespace nvalchemi
