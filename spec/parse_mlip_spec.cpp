// SPDX-License-Identifier: GPL-2.0-only
#include "spec/parse_mlip_spec.hpp"

#include "spec/json_cursor.hpp"
#include "spec/read_distribution_spec.hpp"

namespace nvalchemi {

namespace {

constexpr std::int64_t kVersion = 2;

constexpr std::array<NamedValue<OutputKind>, 4> kOutputKinds = {{
    {"per_node", OutputKind::PerNode},
    {"per_graph", OutputKind::PerGraph},
    {"global", OutputKind::Global},
    {"unknown", OutputKind::Unknown},
}};

constexpr std::array<NamedValue<ForceStrategy>, 3> kForceStrategies = {{
    {"model_internal", ForceStrategy::ModelInternal},
    {"framework_from_node_energy", ForceStrategy::FrameworkFromNodeEnergy},
    {"framework_from_global_energy", ForceStrategy::FrameworkFromGlobalEnergy},
}};

/// Comes before the check of keys: another version has other keys.
void check_version(const JsonCursor& spec) {
    const JsonCursor version = spec.at("version", "add \"version\": 2");
    if (version.is_integer() && version.as_integer() == kVersion) return;
    version.refuse("the integer 2",
                   "no other version of the format is understood; save the spec "
                   "again with a current version of the package that wrote it");
}

bool read_flag(const JsonCursor& spec, const std::string& key, bool absent) {
    const auto member = spec.find(key);
    return member ? member->as_bool() : absent;
}

std::optional<std::string> read_key_name(const JsonCursor& spec, const std::string& key) {
    const auto member = spec.find(key);
    if (!member || member->is_null()) return std::nullopt;
    if (!member->is_string()) member->refuse("the name of an output, or null");
    return member->as_nonempty_string();
}

/// Names must come sorted, so that a spec has one text and every rank walks it in one order.
void check_sorted(const JsonCursor& item, const std::string& name, const std::string& previous) {
    if (!(name < previous)) return;
    item.fail("got " + in_quotes(name) + " after " + in_quotes(previous) +
              ", expected names in ascending order (sort them)");
}

std::set<std::string> read_name_set(const JsonCursor& spec, const std::string& key) {
    const auto member = spec.find(key);
    if (!member) return {};
    const std::vector<std::string> names = member->as_names();
    const std::vector<JsonCursor> items = member->as_array_of("strings");
    for (std::size_t i = 1; i < names.size(); ++i) check_sorted(items[i], names[i], names[i - 1]);
    return {names.begin(), names.end()};
}

std::map<std::string, OutputKind> read_output_kinds(const JsonCursor& kinds) {
    if (kinds.is_object()) {
        kinds.refuse("an array of [name, kind] pairs",
                     "write {\"energy\": \"per_graph\"} as [[\"energy\", \"per_graph\"]]");
    }
    std::map<std::string, OutputKind> result;
    std::string previous;
    for (const JsonCursor& item : kinds.as_array_of("[name, kind] pairs")) {
        if (!item.is_array()) item.refuse("a pair [name, kind]");
        const std::vector<JsonCursor> pair = item.as_array_of("two strings");
        if (pair.size() != 2) item.refuse("a pair [name, kind]");
        const std::string name = pair[0].as_nonempty_string();
        const OutputKind kind = pair[1].as_one_of(kOutputKinds);
        if (!result.emplace(name, kind).second) {
            item.fail("got output " + in_quotes(name) +
                      " a second time, expected each output once (remove one of the two)");
        }
        check_sorted(item, name, previous);
        previous = name;
    }
    return result;
}

CompilePolicy read_compile(const JsonCursor& compile) {
    compile.allow_only({"static_shapes", "force_strategy", "stress_via_strain"});
    CompilePolicy result;
    result.force_strategy = compile
                                .at("force_strategy",
                                    "name who differentiates the energy, or write null for the "
                                    "whole object if the model does")
                                .as_one_of(kForceStrategies);
    result.static_shapes = read_flag(compile, "static_shapes", true);
    result.stress_via_strain = read_flag(compile, "stress_via_strain", false);
    return result;
}

/// True only has a meaning under the policy "graph_parallel".
void refuse_replicated_geometry(const JsonCursor& spec) {
    if (!read_flag(spec, "gp_replicate_geometry", false)) return;
    spec.at("gp_replicate_geometry")
        .refuse("false",
                "a replicated geometry belongs to policy \"graph_parallel\", which is "
                "not supported by this version; with \"halo\" leave it false");
}

}  // namespace

MLIPSpec read_mlip_spec(const JsonCursor& spec) {
    check_version(spec);
    spec.allow_only({"version", "core", "system_reductions", "node_energy_key", "node_virial_key",
                     "gp_replicate_geometry", "owned_only_outputs", "all_reduce_outputs",
                     "output_kinds", "compile"});
    MLIPSpec result;
    result.distribution = read_distribution_spec(
        spec.at("core", "the smallest is {\"policy\": {\"kind\": \"halo\"}}"));
    result.system_reductions = read_flag(spec, "system_reductions", true);
    result.node_energy_key = read_key_name(spec, "node_energy_key");
    result.node_virial_key = read_key_name(spec, "node_virial_key");
    refuse_replicated_geometry(spec);
    result.owned_only_outputs = read_name_set(spec, "owned_only_outputs");
    result.all_reduce_outputs = read_name_set(spec, "all_reduce_outputs");
    if (const auto kinds = spec.find("output_kinds"))
        result.output_kinds = read_output_kinds(*kinds);
    const auto compile = spec.find("compile");
    if (compile && !compile->is_null()) result.compile = read_compile(*compile);
    return result;
}

MLIPSpec parse_mlip_spec(const std::string& json_text, const std::string& document,
                         const std::string& root) {
    return read_mlip_spec(JsonCursor::parse(json_text, document, root));
}

}  // namespace nvalchemi
