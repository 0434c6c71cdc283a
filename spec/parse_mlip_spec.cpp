// SPDX-License-Identifier: GPL-2.0-only
#include "spec/parse_mlip_spec.hpp"

#include "spec/format/read_distribution_spec.hpp"
#include "spec/format/read_outputs.hpp"
#include "spec/format/read_values.hpp"
#include "spec/format_names.hpp"

namespace nvalchemi {

namespace {

constexpr std::int64_t kVersion = 2;

/// Comes before the check of keys: another version has other keys.
void check_version(const JsonCursor& spec, const Doubts& doubts) {
    const JsonCursor version = spec.at("version", "add \"version\": 2");
    if (version.is_integer() && version.as_integer() == kVersion) return;
    const char* const expected = "the integer 2";
    if (version.is_number() && version.as_number() == kVersion) {
        doubts.raise(version, version.mismatch(expected, "write it without a decimal point"),
                     "taken as 2");
        return;
    }
    version.refuse(expected,
                   "no other version of the format is understood; save the spec "
                   "again with a current version of the package that wrote it");
}

std::optional<CompilePolicy> read_compile(const JsonCursor& compile, const Doubts& doubts) {
    if (compile.is_null()) return std::nullopt;
    const std::string remedy =
        "name who differentiates the energy, or write null for the whole object if the model does";
    if (compile.is_object() && compile.members().empty()) {
        doubts.raise(compile,
                     compile.mismatch("an object with \"force_strategy\", or null", remedy),
                     "taken as null");
        return std::nullopt;
    }
    doubts.raise_unknown_keys(compile, {"static_shapes", "force_strategy", "stress_via_strain"});
    CompilePolicy result;
    result.force_strategy = compile.at("force_strategy", remedy).as_one_of(kForceStrategies);
    result.static_shapes = read_flag(compile, "static_shapes", true, doubts);
    result.stress_via_strain = read_flag(compile, "stress_via_strain", false, doubts);
    return result;
}

/// True only has a meaning under the policy "graph_parallel".
bool read_replicated_geometry(const JsonCursor& spec, PolicyKind policy, const Doubts& doubts) {
    const std::string key = "gp_replicate_geometry";
    const bool replicates = read_flag(spec, key, false, doubts);
    if (replicates && policy != PolicyKind::GraphParallel) {
        const JsonCursor place = spec.at(key);
        const std::string under = " under policy " + in_quotes(name_of(policy));
        doubts.raise(place,
                     place.mismatch("false" + under,
                                    "a replicated geometry belongs to policy \"graph_parallel\""),
                     "kept, without effect" + under);
    }
    return replicates;
}

}  // namespace

MLIPSpec read_mlip_spec(const JsonCursor& spec, const ReadOptions& options) {
    const Doubts doubts(options);
    check_version(spec, doubts);
    doubts.raise_unknown_keys(
        spec, {"version", "core", "system_reductions", "node_energy_key", "node_virial_key",
               "gp_replicate_geometry", "owned_only_outputs", "all_reduce_outputs", "output_kinds",
               "compile"});
    MLIPSpec result;
    result.distribution = read_distribution_spec(
        spec.at("core", "the smallest is {\"policy\": {\"kind\": \"halo\"}}"), doubts);
    result.system_reductions = read_flag(spec, "system_reductions", true, doubts);
    result.node_energy_key = read_optional_name(spec, "node_energy_key", doubts);
    result.node_virial_key = read_optional_name(spec, "node_virial_key", doubts);
    result.gp_replicate_geometry =
        read_replicated_geometry(spec, result.distribution.policy.kind, doubts);
    read_outputs(spec, result, doubts);
    if (const auto compile = spec.find("compile")) result.compile = read_compile(*compile, doubts);
    return result;
}

MLIPSpec parse_mlip_spec(const std::string& json_text, const std::string& document,
                         const std::string& root, const ReadOptions& options) {
    return read_mlip_spec(JsonCursor::parse(json_text, document, root, options), options);
}

}  // namespace nvalchemi
