// SPDX-License-Identifier: GPL-2.0-only
#include "spec/format/encode_mlip_spec.hpp"

#include "spec/format/read_distribution_spec.hpp"
#include "spec/format_names.hpp"

namespace nvalchemi {

namespace {

JsonValue text(const std::string& value) { return {value}; }

JsonValue text_or_null(const std::optional<std::string>& value) {
    return value ? text(*value) : JsonValue{};
}

template <typename Names>
JsonValue text_array(const Names& names) {
    JsonArray array;
    for (const std::string& name : names) array.push_back(text(name));
    return {array};
}

JsonValue encode_policy(const StoragePolicy& policy) {
    JsonObject object = {{"kind", text(name_of(policy.kind))}};
    if (policy.has_halo()) {
        object.emplace_back("scatter_mode", text(name_of(policy.scatter_mode)));
        object.emplace_back("gather_mode", text(name_of(policy.gather_mode)));
    }
    return {object};
}

JsonObject encode_transform(ArgTransform transform) { return {{"type", text(name_of(transform))}}; }

JsonObject encode_transform(const OutputTransform& transform) {
    JsonObject object = {{"type", text(name_of(transform.kind))}};
    if (transform.kind == OutputTransform::Kind::AllReduceSum) {
        object.emplace_back("replicated_consumer", JsonValue{transform.replicated_consumer});
    }
    return object;
}

template <typename Transform>
JsonValue encode_transforms(const std::map<int, Transform>& transforms) {
    JsonObject object;
    for (const auto& [position, transform] : transforms) {
        object.emplace_back(std::to_string(position), JsonValue{encode_transform(transform)});
    }
    return {object};
}

struct EncodeHelper {
    JsonObject operator()(const JitAdapter& helper) const {
        return {{"module_path", text(helper.module_path)},
                {"attr_name", text(helper.attr_name)},
                {"replacement", text_or_null(helper.replacement)},
                {"mode", text(helper.marshal ? "marshal" : "eager")}};
    }
    JsonObject operator()(const PythonAdapter& helper) const {
        return {{"module_path", text(helper.module_path)},
                {"attr_name", text(helper.attr_name)},
                {"replacement", text_or_null(helper.replacement)}};
    }
    JsonObject operator()(const MethodAdapter& helper) const {
        return {{"module_path", text(helper.module_path)},
                {"class_name", text(helper.class_name)},
                {"method_name", text(helper.method_name)},
                {"replacement", text_or_null(helper.replacement)},
                {"mode", text(helper.marshal ? "marshal" : "wrap")}};
    }
    JsonObject operator()(const ModuleForward& helper) const {
        return {{"target", text(helper.target)}, {"label", text(helper.label)}};
    }
};

JsonValue encode_core(const DistributionSpec& core) {
    JsonArray ops;
    for (const OpAdapter& adapter : core.custom_ops) ops.push_back(encode_op_adapter(adapter));
    JsonArray helpers;
    for (const HelperAdapter& helper : core.third_party_helpers) {
        helpers.push_back(encode_helper_adapter(helper));
    }
    JsonObject object = {{"policy", encode_policy(core.policy)},
                         {"custom_ops", JsonValue{ops}},
                         {"third_party_helpers", JsonValue{helpers}}};
    if (core.shard_fields && *core.shard_fields != default_shard_fields()) {
        object.emplace_back("shard_fields", text_array(*core.shard_fields));
    }
    return {object};
}

JsonValue encode_output_kinds(const std::map<std::string, OutputKind>& kinds) {
    JsonArray pairs;
    for (const auto& [name, kind] : kinds) {
        pairs.push_back({JsonArray{text(name), text(name_of(kind))}});
    }
    return {pairs};
}

}  // namespace

JsonValue encode_op_adapter(const OpAdapter& adapter) {
    return {JsonObject{{"op", text(adapter.op)},
                       {"arg_transforms", encode_transforms(adapter.arg_transforms)},
                       {"output_transforms", encode_transforms(adapter.output_transforms)}}};
}

JsonValue encode_helper_adapter(const HelperAdapter& helper) {
    JsonObject object = std::visit(EncodeHelper{}, helper);
    object.emplace(object.begin(), "kind", text(kind_of(helper)));
    return {object};
}

JsonValue encode_compile(const std::optional<CompilePolicy>& compile) {
    if (!compile) return {};
    return {JsonObject{{"static_shapes", JsonValue{compile->static_shapes}},
                       {"force_strategy", text(name_of(compile->force_strategy))},
                       {"stress_via_strain", JsonValue{compile->stress_via_strain}}}};
}

JsonValue encode_mlip_spec(const MLIPSpec& spec) {
    return {JsonObject{{"version", JsonValue{std::int64_t{2}}},
                       {"core", encode_core(spec.distribution)},
                       {"system_reductions", JsonValue{spec.system_reductions}},
                       {"node_energy_key", text_or_null(spec.node_energy_key)},
                       {"node_virial_key", text_or_null(spec.node_virial_key)},
                       {"gp_replicate_geometry", JsonValue{spec.gp_replicate_geometry}},
                       {"owned_only_outputs", text_array(spec.owned_only_outputs)},
                       {"all_reduce_outputs", text_array(spec.all_reduce_outputs)},
                       {"output_kinds", encode_output_kinds(spec.output_kinds)},
                       {"compile", encode_compile(spec.compile)}}};
}

}  // namespace nvalchemi
