// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/spec_against_card.hpp"

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

void check_policy(const MLIPSpec& spec) {
    const auto kind = spec.distribution.policy.kind;
    if (kind != PolicyKind::GraphParallel && kind != PolicyKind::Shard) return;
    throw SpecError(DOCUMENT, "/core/policy/kind",
                    std::string("got \"") + name_of(kind) +
                        "\", expected \"halo\", \"refresh_halo\" or \"local\" (LAMMPS distributes "
                        "atoms by their place and hands over halo rows; blocks of atoms without a "
                        "halo cannot be run by this version)");
}

void check_output(const MLIPSpec& spec, const OutputSpec& output) {
    const auto found = spec.output_kinds.find(output.key);
    if (found != spec.output_kinds.end()) {
        const auto kind = found->second;
        const bool of_system =
            (kind == OutputKind::Global || kind == OutputKind::PerGraph) &&
            (output.kind == OutputKind::Global || output.kind == OutputKind::PerGraph);
        if (kind != output.kind && kind != OutputKind::Unknown && !of_system)
            throw SpecError(DOCUMENT, "/output_kinds",
                            std::string("got kind \"") + name_of(kind) + "\" for output " +
                                in_quotes(output.key) + ", expected \"" + name_of(output.kind) +
                                "\" as the model card says (correct one of the two)");
    }
    if (spec.all_reduce_outputs.count(output.key) > 0 && output.kind == OutputKind::PerNode)
        throw SpecError(DOCUMENT, "/all_reduce_outputs",
                        "got the per-node output " + in_quotes(output.key) +
                            ", expected outputs of the whole system (ranks have different rows; "
                            "remove it)");
}

void check_key(const ModelCard& card, const std::optional<std::string>& key, const char* name,
               OutputRole role, const char* role_name) {
    if (!key) return;
    for (const auto& output : card.outputs)
        if (output.key == *key && output.role != role)
            throw SpecError(DOCUMENT, std::string("/") + name,
                            "got output " + in_quotes(*key) + ", expected one whose role is \"" +
                                role_name + "\" in the model card (correct one of the two)");
}

void check_strategy(const ModelCard& card) {
    const auto& compile = card.distribution().compile;
    if (!compile) return;
    const bool internal = compile->force_strategy == ForceStrategy::ModelInternal;
    if (internal == (card.forces == ForceSource::Model)) return;
    throw SpecError(DOCUMENT, "/compile/force_strategy",
                    std::string("got \"") + name_of(compile->force_strategy) + "\", expected " +
                        (internal ? "one of the framework's, or null" : "\"model_internal\"") +
                        " (the model card says forces \"" + name_of(card.forces) + "\")");
}

}  // namespace

void check_spec_against_card(const ModelCard& card) {
    const auto& spec = card.distribution();
    check_policy(spec);
    for (const auto& output : card.outputs) check_output(spec, output);
    check_key(card, spec.node_energy_key, "node_energy_key", OutputRole::AtomicEnergies,
              "atomic_energies");
    check_strategy(card);
}

}  // namespace nvalchemi
