// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/composition/compose_cards.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "potentials/card/card_shape.hpp"
#include "potentials/torch_release.hpp"
#include "spec/compose_mlip_specs.hpp"
#include "spec/json_value.hpp"
#include "spec/write_mlip_spec.hpp"

namespace nvalchemi {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& text) { throw std::runtime_error("compose: " + text); }

const char* name_of(ForceSource forces) {
    if (forces == ForceSource::EdgeVectors) return "edge_vectors";
    return forces == ForceSource::Positions ? "positions" : "model";
}

/// Who differentiates: the plugin with respect to edge vectors, where all parts see them; else with
/// respect to positions; and the composition itself where a part returns forces of its own, or
/// where one forms distances from positions and another needs more derivatives than those of rows.
ForceSource common_forces(const std::vector<CompositionPart>& parts) {
    const auto any = [&](const auto& test) {
        return std::any_of(parts.begin(), parts.end(),
                           [&](const auto& part) { return test(part.card); });
    };
    const auto has = [](ForceSource source) {
        return [source](const ModelCard& card) { return card.forces == source; };
    };
    if (any(has(ForceSource::Model))) return ForceSource::Model;
    if (!any(has(ForceSource::Positions))) return ForceSource::EdgeVectors;
    const auto sees_more = [](const ModelCard& card) {
        return card.forces == ForceSource::EdgeVectors && (moves_with_rows(card) || strains(card));
    };
    return any(sees_more) ? ForceSource::Model : ForceSource::Positions;
}

bool has_virial(const ModelCard& card) {
    return card.forces != ForceSource::Model || card.find_output(OutputRole::Virial) ||
           card.find_output(OutputRole::Stress);
}

std::vector<std::string> common_species(const std::vector<CompositionPart>& parts) {
    std::vector<std::string> common;
    for (const auto& symbol : parts[0].card.species) {
        const bool everywhere = std::all_of(parts.begin(), parts.end(), [&](const auto& part) {
            const auto& known = part.card.species;
            return std::find(known.begin(), known.end(), symbol) != known.end();
        });
        if (everywhere) common.push_back(symbol);
    }
    if (common.empty()) refuse("the parts have no element in common, expected at least one");
    return common;
}

bool is_tabled(const InputSpec& input) {
    return input.shape && std::count(input.shape->begin(), input.shape->end(), kNeighborsDimension);
}

/// What a part takes that goes with a sum of edge-vector models alone, as a list of words; or "".
std::string needs_edge_vectors(const ModelCard& card) {
    for (const auto* input : inputs_of(card)) {
        if (input->role == InputRole::NeighborMatrix || is_tabled(*input))
            return "takes a table of neighbours";
    }
    return "";
}

/// What is refused of single parts.
void check_inputs(const CompositionPart& part, const CommonFacts& facts) {
    const auto needs = needs_edge_vectors(part.card);
    if (!needs.empty() && facts.forces != ForceSource::EdgeVectors)
        refuse("'" + part.card.name + "' " + needs +
               ", expected to be added to models of edge vectors alone; add the others in LAMMPS's "
               "input, with pair_style hybrid/overlay");
    if (part.card.find_input(InputRole::NeighborMatrix) && part.card.cutoff < facts.cutoff &&
        !part.card.find_input(InputRole::NeighborMask))
        refuse("'" + part.card.name +
               "' takes a matrix of neighbours without a mask and has not the largest cutoff, "
               "expected an input of role \"neighbor_mask\" with it, or a list of edges "
               "(neighbours beyond its cutoff could not be left out)");
    for (const auto* input : inputs_of(part.card))
        if (is_tabled(*input) &&
            (input->role == InputRole::EdgeShifts || input->role == InputRole::EdgeCellShifts))
            refuse("'" + part.card.name +
                   "' takes shifts of edges as a table, expected edge vectors as a table");
}

bool reads_charges(const ModelCard& card) { return card.find_input(InputRole::Charges) != nullptr; }

std::optional<std::size_t> charge_source(const std::vector<CompositionPart>& parts) {
    std::optional<std::size_t> source;
    const bool wanted = std::any_of(parts.begin(), parts.end(),
                                    [](const auto& part) { return reads_charges(part.card); });
    for (std::size_t k = 0; wanted && k < parts.size(); ++k) {
        if (parts[k].card.find_output(OutputRole::Charges) == nullptr) continue;
        if (reads_charges(parts[k].card))
            refuse("'" + parts[k].card.name +
                   "' reads charges and returns charges, expected one of the two of each part");
        if (source)
            refuse("'" + parts[*source].card.name + "' and '" + parts[k].card.name +
                   "' both return charges, expected one part whose charges the others read; "
                   "declare the others' as role \"other\" in their cards");
        source = k;
    }
    for (const auto& part : parts) {
        if (!source || part.card.forces != ForceSource::Model) continue;
        if (reads_charges(part.card) || part.card.find_output(OutputRole::Charges))
            refuse("'" + part.card.name +
                   "' returns forces of its own, which lack the derivatives through charges that "
                   "another part computes or reads; expected a model whose energies the plugin "
                   "differentiates");
    }
    return source;
}

/// Outputs of the framework's own names stand for roles, and keep them.
std::string renamed_output(const CompositionPart& part, const std::string& name) {
    static const std::set<std::string> framework{"energy", "forces",  "stress",
                                                 "virial", "charges", "atomic_energies"};
    if (framework.count(name) > 0) return name;
    static const std::map<OutputRole, std::string> roles{
        {OutputRole::AtomicEnergies, "atomic_energies"},
        {OutputRole::Energy, "energy"},
        {OutputRole::Forces, "forces"},
        {OutputRole::Virial, "virial"},
        {OutputRole::Stress, "stress"}};
    for (const auto& output : part.card.outputs)
        if (output.key == name && roles.count(output.role) > 0) return roles.at(output.role);
    return part.name + "." + name;
}

MLIPSpec renamed_outputs(const CompositionPart& part) {
    auto spec = part.card.distribution();
    const auto rename_all = [&](const std::set<std::string>& names) {
        std::set<std::string> renamed;
        for (const auto& name : names) renamed.insert(renamed_output(part, name));
        return renamed;
    };
    spec.owned_only_outputs = rename_all(spec.owned_only_outputs);
    spec.all_reduce_outputs = rename_all(spec.all_reduce_outputs);
    const auto kinds = spec.output_kinds;
    spec.output_kinds.clear();
    for (const auto& [name, kind] : kinds) spec.output_kinds[renamed_output(part, name)] = kind;
    if (spec.node_energy_key) spec.node_energy_key = renamed_output(part, *spec.node_energy_key);
    if (spec.node_virial_key) spec.node_virial_key = renamed_output(part, *spec.node_virial_key);
    return spec;
}

MLIPSpec merged_spec(const std::vector<CompositionPart>& parts, const CommonFacts& facts) {
    // who differentiates the composition is not for its parts to say
    const auto strategy = facts.forces == ForceSource::Model
                              ? ForceStrategy::ModelInternal
                              : ForceStrategy::FrameworkFromNodeEnergy;
    std::optional<MLIPSpec> merged;
    for (const auto& part : parts) {
        auto spec = renamed_outputs(part);
        if (spec.compile) spec.compile->force_strategy = strategy;
        merged = merged ? merge(*merged, spec) : spec;
    }
    return *merged;
}

/// The record of an input in its part's card, without what the composition does for the part.
Json outside_record(const CompositionPart& part, const InputSpec& input) {
    const auto card = Json::parse(part.card_text);
    for (const auto& [key, record] : card["inputs"].items()) {
        if (key != input.key || input.key.empty()) continue;
        auto copy = record;
        copy.erase("shape");
        return copy;
    }
    for (std::size_t k = 0; k < part.card.arguments.size(); ++k) {
        if (&part.card.arguments[k] != &input) continue;
        auto copy = card["forward"]["arguments"][k];
        copy.erase("shape");
        return copy;
    }
    return Json::object();
}

/// One name is one quantity, whichever part takes it.
void check_same_input(const InputSpec& input, Json left, Json right) {
    if (!input.named) return;
    for (auto* record : {&left, &right}) {
        record->erase("requires_grad");
        if (!record->contains("columns")) (*record)["columns"] = 1;
    }
    for (const auto& [key, value] : right.items())
        if (!left.contains(key) || left[key] != value || left.size() != right.size())
            refuse("the parts take different inputs under the name '" + input.named->name +
                   "', expected the same role, columns, dtype, unit and default; name one of them "
                   "otherwise in its card");
}

Json inputs(const std::vector<CompositionPart>& parts, const CommonFacts& facts) {
    Json result;
    result["species"] = {{"role", "species_index"}};
    result["edge_index"] = {{"role", "edge_index"}};
    if (facts.forces == ForceSource::EdgeVectors) {
        result["edge_vectors"] = {{"role", "edge_vectors"}};
    } else {
        result["positions"] = {{"role", "positions"}};
        result["edge_shifts"] = {{"role", "edge_shifts"}};
    }
    if (facts.needs_volume) result["cell"] = {{"role", "cell"}};
    if (facts.owned_rows) result["n_owned"] = {{"role", "n_owned"}};
    for (const auto& part : parts) {
        for (const auto* input : inputs_of(part.card)) {
            if (is_vector_table(*input))
                result["neighbor_vectors"] = {{"role", "edge_vectors"},
                                              {"shape", "(rows,neighbors,3)"}};
            if (!is_from_outside(*input, facts)) continue;
            const auto record = outside_record(part, *input);
            auto& entry = result[input_key(*input)];
            if (entry.is_null())
                entry = record;
            else
                check_same_input(*input, entry, record);
            if (facts.forces == ForceSource::Model)
                entry.erase("requires_grad");  // the composition differentiates, by a strain
            else if (record.value("requires_grad", false))
                entry["requires_grad"] = true;
        }
    }
    return result;
}

Json outputs(const std::vector<CompositionPart>& parts, const CommonFacts& facts) {
    Json result;
    result["atomic_energies"] = {
        {"role", "atomic_energies"}, {"kind", "per_node"}, {"shape", "(rows)"}};
    if (facts.forces == ForceSource::Model)
        result["forces"] = {{"role", "forces"}, {"kind", "per_node"}, {"shape", "(rows,3)"}};
    if (facts.virial)
        result["virial"] = {{"role", "virial"}, {"kind", "per_graph"}, {"shape", "(3,3)"}};
    bool has_charges = false;
    for (const auto& part : parts) {
        const auto card = Json::parse(part.card_text);
        for (const auto& output : part.card.outputs) {
            if (!is_handed_on(output)) continue;
            auto record = card["outputs"][output.key];
            if (output.role == OutputRole::AtomicEnergies)
                record = {{"role", "other"}, {"kind", "per_node"}, {"shape", "(rows)"}};
            if (output.role == OutputRole::Charges && std::exchange(has_charges, true))
                record["role"] = "other";
            result[output_key(part, output)] = record;
        }
    }
    return result;
}

Json operator_libraries(const std::vector<CompositionPart>& parts) {
    Json result = Json::array();
    for (const auto& part : parts)
        for (const auto& library : part.card.operator_libraries)
            if (std::find(result.begin(), result.end(), library) == result.end())
                result.push_back(library);
    return result;
}

/// Exchanges of the parts one after the other; wired charges may need one more.
std::optional<std::int64_t> exchanges(const std::vector<CompositionPart>& parts) {
    std::int64_t sum = 0;
    for (const auto& part : parts) {
        if (!part.card.expected_exchanges) return std::nullopt;
        sum += *part.card.expected_exchanges;
    }
    return sum;
}

}  // namespace

CommonFacts common_facts(const std::vector<CompositionPart>& parts) {
    if (parts.size() < 2) refuse("got one model, expected two or more");
    CommonFacts facts;
    facts.forces = common_forces(parts);
    const bool internal = facts.forces == ForceSource::Model;
    facts.virial = internal && std::all_of(parts.begin(), parts.end(),
                                           [](const auto& part) { return has_virial(part.card); });
    facts.species = common_species(parts);
    facts.dtype = "float32";
    for (const auto& part : parts) {
        facts.cutoff = std::max(facts.cutoff, part.card.cutoff);
        if (part.card.dtype == "float64") facts.dtype = "float64";
        facts.owned_rows |= part.card.find_input(InputRole::NOwned) != nullptr;
        facts.needs_volume |= facts.virial && part.card.forces == ForceSource::Model &&
                              !part.card.find_output(OutputRole::Virial);
    }
    facts.owned_rows |= internal;  // their sum is what the composition differentiates
    for (const auto& part : parts) check_inputs(part, facts);
    facts.charge_source = charge_source(parts);
    return facts;
}

void name_parts(std::vector<CompositionPart>& parts) {
    std::set<std::string> used;
    for (auto& part : parts) {
        std::string stem;
        for (const char letter : part.card.name)
            stem += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
        const bool taken = stem.empty() || stem == "forward" || stem == "training";
        if (taken || std::isdigit(static_cast<unsigned char>(stem[0]))) stem = "part_" + stem;
        part.name = stem;
        for (int copy = 2; !used.insert(part.name).second; ++copy)
            part.name = stem + "_" + std::to_string(copy);
    }
}

bool moves_with_rows(const ModelCard& card) {
    const auto* positions = card.find_input(InputRole::Positions);
    return positions && (card.forces == ForceSource::Positions ||
                         (card.forces == ForceSource::EdgeVectors && positions->requires_grad));
}

bool strains(const ModelCard& card) {
    const auto* cell = card.find_input(InputRole::Cell);
    return card.forces != ForceSource::Model && cell && cell->requires_grad;
}

std::string input_key(const InputSpec& input) {
    switch (input.role) {
        case InputRole::Positions: return "positions";
        case InputRole::EdgeShifts: return "edge_shifts";
        case InputRole::EdgeCellShifts: return "edge_cell_shifts";
        case InputRole::Cell: return "cell";
        case InputRole::SetupCell: return "setup_cell";
        case InputRole::Batch: return "batch";
        case InputRole::BatchPointer: return "batch_pointer";
        case InputRole::NRows: return "n_rows";
        case InputRole::NOwned: return "n_owned";
        case InputRole::OwnedMask: return "owned_mask";
        case InputRole::Charges: return "charges";
        case InputRole::TotalCharge: return "total_charge";
        case InputRole::AtomInput:
        case InputRole::SystemInput: return "input_" + input.named->name;
        case InputRole::NeighborMatrix: return "neighbor_matrix";
        case InputRole::NeighborMask: return "neighbor_mask";
        default: break;
    }
    throw std::logic_error("the composition makes this input itself");
}

std::string output_key(const CompositionPart& part, const OutputSpec& output) {
    if (output.role == OutputRole::AtomicEnergies) return part.name + ".atomic_energies";
    return part.name + "." + output.key;
}

bool is_handed_on(const OutputSpec& output) {
    return output.role == OutputRole::AtomicEnergies || output.role == OutputRole::Charges ||
           output.role == OutputRole::Other;
}

bool is_from_outside(const InputSpec& input, const CommonFacts& facts) {
    switch (input.role) {
        case InputRole::SpeciesIndex:
        case InputRole::SpeciesOneHot:
        case InputRole::EdgeIndex:
        case InputRole::EdgeVectors:
        case InputRole::Constant:
        case InputRole::Dict: return false;
        case InputRole::Charges: return !facts.charge_source;
        default: return true;
    }
}

bool is_vector_table(const InputSpec& input) {
    return input.role == InputRole::EdgeVectors && is_tabled(input);
}

std::vector<const InputSpec*> inputs_of(const ModelCard& card) {
    std::vector<const InputSpec*> all;
    for (const auto& input : card.inputs) all.push_back(&input);
    for (const auto& input : card.arguments) all.push_back(&input);
    return all;
}

std::string compose_cards(const std::vector<CompositionPart>& parts, const CommonFacts& facts,
                          const std::string& name) {
    std::vector<std::int64_t> index(facts.species.size());
    for (std::size_t k = 0; k < index.size(); ++k) index[k] = static_cast<std::int64_t>(k);
    Json card;
    card["format"] = "nvalchemi-model";
    card["format_version"] = 1;
    card["name"] = name;
    card["family"] = "composition";
    card["cutoff"] = facts.cutoff;
    card["units"] = {{"length", "Angstrom"}, {"energy", "eV"}};
    card["dtype"] = facts.dtype;
    card["species"] = facts.species;
    card["species_index"] = index;
    card["forward"] = {{"style", "dict"}, {"arguments", Json::array()}};
    card["inputs"] = inputs(parts, facts);
    card["edges"] = {{"list", "full"}, {"receiver_row", 0}, {"sender_row", 1}};
    card["rows"] = facts.forces == ForceSource::EdgeVectors ? "folded" : "raw";
    card["outputs"] = outputs(parts, facts);
    card["forces"] = name_of(facts.forces);
    card["ops"] = operator_libraries(parts);
    card["spec"] = Json::parse(write_mlip_spec(merged_spec(parts, facts)));
    if (const auto count = exchanges(parts); count && !facts.charge_source)
        card["expected_exchanges"] = *count;
    const auto any = [&](bool ModelCard::*flag) {
        return std::any_of(parts.begin(), parts.end(),
                           [&](const auto& part) { return part.card.*flag; });
    };
    if (any(&ModelCard::backward_communicates)) card["backward_communicates"] = true;
    if (any(&ModelCard::triplets_by_receiver)) card["triplets"] = "by_receiver";
    std::string latest;
    for (const auto& part : parts)
        if (latest.empty() || is_later_torch(part.card.torch_version, latest))
            latest = part.card.torch_version;
    if (!latest.empty()) card["torch_version"] = latest;
    return card.dump(1);
}

}  // namespace nvalchemi
