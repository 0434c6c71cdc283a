// SPDX-License-Identifier: GPL-2.0-only
#include "spec/read_distribution_spec.hpp"

#include <algorithm>

#include "spec/json_cursor.hpp"

namespace nvalchemi {

namespace {

constexpr std::array<NamedValue<ScatterMode>, 2> kScatterModes = {{
    {"halo_correction", ScatterMode::HaloCorrection},
    {"local", ScatterMode::Local},
}};

constexpr std::array<NamedValue<GatherMode>, 2> kGatherModes = {{
    {"halo_read", GatherMode::HaloRead},
    {"local", GatherMode::Local},
}};

/// Policies of the format that this version cannot run, and what to do instead.
constexpr std::array<NamedValue<const char*>, 4> kUnsupportedPolicies = {{
    {"refresh_halo", "use \"halo\": it places the refreshes from the model itself"},
    {"graph_parallel", "save the spec for \"halo\" storage"},
    {"shard", "save the spec for \"halo\" storage"},
    {"local",
     "for a model that exchanges nothing use \"halo\" with scatter_mode \"local\" and "
     "gather_mode \"local\""},
}};

/// Per-atom fields of a batch that a spec may promote.
const std::vector<std::string>& per_atom_fields() {
    static const std::vector<std::string> names = {"atom_categories",
                                                   "atomic_masses",
                                                   "atomic_numbers",
                                                   "charges",
                                                   "forces",
                                                   "kinetic_energies",
                                                   "momenta",
                                                   "node_alpha_spins",
                                                   "node_attrs",
                                                   "node_beta_spins",
                                                   "node_embeddings",
                                                   "positions",
                                                   "tags",
                                                   "velocities"};
    return names;
}

HaloStoragePolicy read_policy(const JsonCursor& policy) {
    const JsonCursor kind = policy.at("kind", "add \"kind\": \"halo\"");
    for (const auto& [name, remedy] : kUnsupportedPolicies) {
        if (kind.as_string() != name) continue;
        kind.refuse("\"halo\"", "policy \"" + std::string(name) +
                                    "\" is not supported by this version; " + remedy);
    }
    if (kind.as_string() != "halo") {
        kind.refuse("\"halo\"",
                    "no such policy; the format has also \"refresh_halo\", \"graph_parallel\", "
                    "\"shard\" and \"local\", which are not supported by this version");
    }
    policy.allow_only({"kind", "scatter_mode", "gather_mode"});
    HaloStoragePolicy result;
    if (const auto mode = policy.find("scatter_mode")) {
        result.scatter_mode = mode->as_one_of(kScatterModes);
    }
    if (const auto mode = policy.find("gather_mode")) {
        result.gather_mode = mode->as_one_of(kGatherModes);
    }
    return result;
}

/// The string under `key`, if there is one: a refusal names what it can, it does not validate.
std::string text_of(const JsonCursor& record, const std::string& key) {
    if (!record.is_object()) return "";
    const auto member = record.find(key);
    return member && member->is_string() ? member->as_string() : "";
}

/// Types of the transform records of an operator adapter: `"slice_owned", "all_reduce_sum"`.
std::vector<std::string> transform_types(const JsonCursor& adapter) {
    std::vector<std::string> types;
    for (const char* side : {"arg_transforms", "output_transforms"}) {
        const auto transforms = adapter.is_object() ? adapter.find(side) : std::nullopt;
        if (!transforms || !transforms->is_object()) continue;
        for (const auto& [position, record] : transforms->members()) {
            const std::string type = text_of(record, "type");
            if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
        }
    }
    return types;
}

void refuse_custom_ops(const JsonCursor& custom_ops) {
    for (const JsonCursor& adapter : custom_ops.as_array_of("operator adapters")) {
        const std::vector<std::string> types = transform_types(adapter);
        adapter.fail("got an adapter of operator " + in_quotes(text_of(adapter, "op")) +
                     (types.empty() ? "" : " with transforms " + quoted_list(types)) +
                     ", expected none (operator adapters and their transforms are not supported "
                     "by this version; use a model made of operators that torch itself has, and "
                     "leave \"custom_ops\" empty)");
    }
}

void refuse_third_party_helpers(const JsonCursor& helpers) {
    for (const JsonCursor& helper : helpers.as_array_of("helper adapters")) {
        std::string target;
        for (const char* key :
             {"module_path", "class_name", "attr_name", "method_name", "target"}) {
            const std::string part = text_of(helper, key);
            if (!part.empty()) target += (target.empty() ? "" : ".") + part;
        }
        helper.fail("got a helper adapter of kind " + in_quotes(text_of(helper, "kind")) + " for " +
                    in_quotes(target) +
                    ", expected none (helper adapters are not supported by this version; the "
                    "archive holds the helper's code, so leave \"third_party_helpers\" empty and "
                    "let the exchanges be placed from it)");
    }
}

std::vector<std::string> read_shard_fields(const JsonCursor& shard_fields) {
    const std::vector<std::string>& known = per_atom_fields();
    for (const JsonCursor& item : shard_fields.as_array_of("strings")) {
        if (std::find(known.begin(), known.end(), item.as_string()) == known.end()) {
            item.refuse_other_than(known);
        }
    }
    return shard_fields.as_names();
}

}  // namespace

DistributionSpec read_distribution_spec(const JsonCursor& core) {
    core.allow_only({"policy", "custom_ops", "third_party_helpers", "shard_fields"});
    DistributionSpec result;
    result.policy = read_policy(core.at("policy", "add \"policy\": {\"kind\": \"halo\"}"));
    if (const auto custom_ops = core.find("custom_ops")) refuse_custom_ops(*custom_ops);
    if (const auto helpers = core.find("third_party_helpers")) refuse_third_party_helpers(*helpers);
    if (const auto fields = core.find("shard_fields")) {
        result.shard_fields = read_shard_fields(*fields);
    }
    return result;
}

}  // namespace nvalchemi
