// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/spec_against_card.hpp"

#include <algorithm>
#include <map>

#include "spec/format_names.hpp"
#include "spec/json_value.hpp"
#include "spec/spec_error.hpp"

namespace nvalchemi {

namespace {

constexpr const char* DOCUMENT = "distribution spec";

const char* name_of(ForceSource forces) {
    switch (forces) {
        case ForceSource::EdgeVectors: return "edge_vectors";
        case ForceSource::Positions: return "positions";
        case ForceSource::Model: break;
    }
    return "model";
}

const std::map<std::string, OutputRole>& framework_roles() {
    static const std::map<std::string, OutputRole> roles{
        {"energy", OutputRole::Energy},   {"forces", OutputRole::Forces},
        {"stress", OutputRole::Stress},   {"virial", OutputRole::Virial},
        {"charges", OutputRole::Charges}, {"atomic_energies", OutputRole::AtomicEnergies}};
    return roles;
}

std::optional<OutputRole> framework_role(const std::string& name) {
    const auto found = framework_roles().find(name);
    if (found == framework_roles().end()) return std::nullopt;
    return found->second;
}

/// Under graph_parallel a rank has one row for each atom of the system.
void check_graph_parallel(const ModelCard& card) {
    if (card.rows == RowMode::Raw)
        throw SpecError(
            DOCUMENT, "/core/policy/kind",
            "got \"graph_parallel\" for a model with rows \"raw\", expected \"halo\" (the "
            "model reads positions of periodic images, which need rows of their own; "
            "under graph_parallel there is one row for each atom. A model that adds "
            "edge shifts to positions can have rows \"folded\" and "
            "gp_replicate_geometry)");
    const bool reads_positions = card.find_input(InputRole::Positions) != nullptr;
    const bool has_shifts = card.find_input(InputRole::EdgeShifts) != nullptr ||
                            card.find_input(InputRole::EdgeCellShifts) != nullptr;
    if (card.distribution().gp_replicate_geometry && reads_positions && !has_shifts)
        throw SpecError(
            DOCUMENT, "/gp_replicate_geometry",
            "got true for a model with positions but without edge shifts, expected an "
            "input of role \"edge_shifts\" or \"edge_cell_shifts\" (an atom's row shows "
            "one of its periodic images, and an edge may lead to another)");
}

void check_policy(const ModelCard& card) {
    const auto kind = card.distribution().distribution.policy.kind;
    if (kind == PolicyKind::GraphParallel) return check_graph_parallel(card);
    if (kind != PolicyKind::Shard) return;
    throw SpecError(DOCUMENT, "/core/policy/kind",
                    "got \"shard\", expected \"halo\", \"refresh_halo\", \"graph_parallel\" or "
                    "\"local\" (plain blocks of atoms have no strategy for a model)");
}

void check_output(const MLIPSpec& spec, const OutputSpec& output) {
    for (const auto& [name, kind] : spec.output_kinds) {
        if (!means_output(name, output)) continue;
        const bool of_system =
            (kind == OutputKind::Global || kind == OutputKind::PerGraph) &&
            (output.kind == OutputKind::Global || output.kind == OutputKind::PerGraph);
        if (kind != output.kind && kind != OutputKind::Unknown && !of_system)
            throw SpecError(DOCUMENT, "/output_kinds",
                            std::string("got kind \"") + name_of(kind) + "\" for output " +
                                in_quotes(name) + ", expected \"" + name_of(output.kind) +
                                "\" as the model card says (correct one of the two)");
    }
    if (mean_output(spec.all_reduce_outputs, output) && output.kind == OutputKind::PerNode)
        throw SpecError(DOCUMENT, "/all_reduce_outputs",
                        "got the per-node output " + in_quotes(output.key) +
                            ", expected outputs of the whole system (ranks have different rows; "
                            "remove it)");
}

bool names_something(const ModelCard& card, const std::string& name) {
    return framework_role(name).has_value() ||
           std::any_of(card.outputs.begin(), card.outputs.end(),
                       [&](const auto& output) { return output.key == name; });
}

/// What to say of a name that nothing has. Names of roles go: one spec serves models that give a
/// stress and models that do not.
SpecError unknown_output(const ModelCard& card, const std::string& where, const std::string& name) {
    std::string keys, roles;
    for (const auto& output : card.outputs) keys += (keys.empty() ? "" : ", ") + output.key;
    for (const auto& [role, _] : framework_roles()) roles += (roles.empty() ? "" : ", ") + role;
    return {DOCUMENT, "/" + where,
            "got " + in_quotes(name) +
                ", which is no output of the model, expected one of its keys (" + keys +
                ") or a name of a role (" + roles + "); correct it, or remove it from " + where};
}

void warn(const ReadOptions& reading, const SpecError& problem) {
    if (reading.warnings)
        reading.warnings->push_back(std::string(problem.what()) + ": it is ignored");
}

/// A sum that is asked for by a name that nothing has would not be made, without a word. The other
/// names change no number: the card says of its outputs what they say.
void check_names(const ModelCard& card, const ReadOptions& reading) {
    const auto& spec = card.distribution();
    for (const auto& name : spec.all_reduce_outputs) {
        if (names_something(card, name)) continue;
        const auto problem = unknown_output(card, "all_reduce_outputs", name);
        if (!reading.lenient) throw problem;
        warn(reading, problem);
    }
    for (const auto& name : spec.owned_only_outputs)
        if (!names_something(card, name))
            warn(reading, unknown_output(card, "owned_only_outputs", name));
    for (const auto& [name, _] : spec.output_kinds)
        if (!names_something(card, name)) warn(reading, unknown_output(card, "output_kinds", name));
    if (spec.node_energy_key && !names_something(card, *spec.node_energy_key))
        warn(reading, unknown_output(card, "node_energy_key", *spec.node_energy_key));
}

void check_node_energy(const ModelCard& card, const std::optional<std::string>& key) {
    if (!key || framework_role(*key)) return;
    for (const auto& output : card.outputs)
        if (output.key == *key && output.role != OutputRole::AtomicEnergies)
            throw SpecError(DOCUMENT, "/node_energy_key",
                            "got output " + in_quotes(*key) +
                                ", expected one whose role is \"atomic_energies\" in the model "
                                "card (correct one of the two)");
}

void check_strategy(const ModelCard& card) {
    const auto& compile = card.distribution().compile;
    if (!compile) return;
    const bool internal = compile->force_strategy == ForceStrategy::ModelInternal;
    if (internal == (card.forces == ForceSource::Model)) return;
    throw SpecError(
        DOCUMENT, "/compile/force_strategy",
        std::string("got \"") + name_of(compile->force_strategy) + "\", expected " +
            (internal ? "\"framework_from_node_energy\", \"framework_from_global_energy\" or no "
                        "\"compile\""
                      : "\"model_internal\" or no \"compile\"") +
            " (the model card says forces \"" + name_of(card.forces) + "\")");
}

}  // namespace

bool means_output(const std::string& name, const OutputSpec& output) {
    const auto role = framework_role(name);
    return role ? output.role == *role : output.key == name;
}

bool mean_output(const std::set<std::string>& names, const OutputSpec& output) {
    return std::any_of(names.begin(), names.end(),
                       [&](const auto& name) { return means_output(name, output); });
}

void check_spec_against_card(const ModelCard& card, const ReadOptions& reading) {
    const auto& spec = card.distribution();
    check_policy(card);
    check_names(card, reading);
    for (const auto& output : card.outputs) check_output(spec, output);
    check_node_energy(card, spec.node_energy_key);
    check_strategy(card);
}

}  // namespace nvalchemi
