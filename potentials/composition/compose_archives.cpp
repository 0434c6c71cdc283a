// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/composition/compose_archives.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/register_ops.hpp"
#include "potentials/archive.hpp"
#include "potentials/card/named_input.hpp"
#include "potentials/composition/composition.hpp"
#include "potentials/input_layout.hpp"
#include "potentials/sample_structure.hpp"
#include "potentials/whole_system.hpp"
#include "spec/json_cursor.hpp"

namespace nvalchemi {

namespace {

ReturnForm return_form(const torch::jit::Module& module, const std::string& name) {
    const auto type = module.get_method("forward").function().getSchema().returns()[0].type();
    if (type->isSubtypeOf(*c10::TensorType::get())) return ReturnForm::Tensor;
    if (type->kind() == c10::TypeKind::TupleType) return ReturnForm::Tuple;
    if (const auto dict = type->cast<c10::DictType>())
        return dict->getValueType()->kind() == c10::TypeKind::OptionalType
                   ? ReturnForm::DictOfOptional
                   : ReturnForm::Dict;
    throw ModelError("model '" + name + "': forward returns " + type->str() +
                     ", expected a tensor, a tuple or a dictionary of tensors");
}

torch::Tensor table_tensor(const CompositionTable& table) {
    const auto dtype = table.dtype == "int64"     ? torch::kInt64
                       : table.dtype == "bool"    ? torch::kBool
                       : table.dtype == "float32" ? torch::kFloat32
                                                  : torch::kFloat64;
    return torch::tensor(table.values, torch::kFloat64).reshape(table.shape).to(dtype);
}

std::string saved(const torch::jit::Module& module, const std::string& card) {
    std::ostringstream stream;
    module.save(stream, {{"nvalchemi.json", card}});
    return stream.str();
}

std::string composed_bytes(const std::vector<CompositionPart>& parts,
                           const std::vector<torch::jit::Module>& modules,
                           const Composition& composition) {
    torch::jit::Module module("__torch__.nvalchemi.Composition");
    for (std::size_t k = 0; k < parts.size(); ++k)
        module.register_module(parts[k].name, modules[k]);
    for (const auto& table : composition.tables)
        module.register_buffer(table.name, table_tensor(table));
    module.define(composition.forward);
    return saved(module, composition.card);
}

/// The structure with its species by their place in another card.
WholeSystem in_card(const WholeSystem& system, const ModelCard& from, const ModelCard& to) {
    auto copy = system;
    for (auto& species : copy.species)
        species = std::find(to.species.begin(), to.species.end(), from.species[species]) -
                  to.species.begin();
    const auto layout = input_layout(from), own = input_layout(to);
    copy.atom_inputs.assign(copy.size() * own.atom_columns, 0.0);
    copy.system_inputs.assign(own.system_columns, 0.0);
    for (const auto& place : own.places) {
        const auto* source = layout.find(place.name);
        const auto count = source && place.per_atom ? copy.size() : std::int64_t(source ? 1 : 0);
        const auto& given = place.per_atom ? system.atom_inputs : system.system_inputs;
        auto& taken = place.per_atom ? copy.atom_inputs : copy.system_inputs;
        for (std::int64_t row = 0; row < count; ++row)
            std::copy_n(given.begin() + row * layout.atom_columns + source->first, place.columns,
                        taken.begin() + row * own.atom_columns + place.first);
    }
    return copy;
}

WholeSystem sample_system(const ModelCard& card) {
    const auto sample = sample_structure(card);
    WholeSystem system;
    system.species = sample.species;
    system.positions = sample.positions;
    system.charges = sample.charges;
    system.atom_inputs = sample.atom_inputs;
    system.system_inputs = sample.system_inputs;
    std::copy(sample.cell, sample.cell + 9, system.cell);
    return system;
}

double largest(const std::vector<double>& values) {
    double found = 0;
    for (const double value : values) found = std::max(found, std::abs(value));
    return found;
}

/// Differences between the composition and the sum of its parts; throws where they are too large.
void compare_with_parts(const std::vector<ArchiveToCompose>& parts, Session& composed,
                        ComposedArchive& result) {
    const auto system = sample_system(composed.card());
    auto difference = evaluate_whole(composed, system);
    const double energy_scale = std::max(1.0, std::abs(difference.energy));
    const double force_scale = std::max(1.0, largest(difference.forces));
    const double virial_scale = std::max(1.0, largest({difference.virial, difference.virial + 9}));
    bool rounds = composed.precision() == "float32", have_virials = difference.has_virial;
    for (const auto& part : parts) {
        auto options = part.options;
        options.device = "cpu";
        options.distribute = false;
        Session alone(part.bytes, options);
        rounds |= alone.card().dtype == "float32";
        const auto found = evaluate_whole(alone, in_card(system, composed.card(), alone.card()));
        have_virials &= found.has_virial;
        difference.energy -= found.energy;
        for (std::size_t k = 0; k < found.forces.size(); ++k)
            difference.forces[k] -= found.forces[k];
        for (int k = 0; k < 9; ++k) difference.virial[k] -= found.virial[k];
    }
    result.energy_difference = std::abs(difference.energy);
    result.force_difference = largest(difference.forces);
    const std::vector<double> virial(difference.virial, difference.virial + 9);
    if (have_virials) result.virial_difference = largest(virial);
    const double allowed = rounds ? 1e-4 : 1e-10;
    if (result.energy_difference <= allowed * energy_scale &&
        result.force_difference <= allowed * force_scale &&
        result.virial_difference <= allowed * virial_scale)
        return;
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%.3g eV, %.3g eV/Angstrom and %.3g eV (virial)",
                  result.energy_difference, result.force_difference, result.virial_difference);
    throw ModelError("compose: the composition differs from the sum of its parts by " +
                     std::string(numbers) +
                     " on a small structure; a part uses something that its card does not say. "
                     "Add the models in LAMMPS's input, with pair_style hybrid/overlay");
}

/// What a reference gives for the composition's inputs; false if it lacks one that has no default.
bool add_inputs(const nlohmann::ordered_json& record, const ModelCard& card, WholeSystem& system) {
    for (const auto& place : input_layout(card).places)
        if (place.default_values.empty() &&
            !(record.contains("inputs") && record["inputs"].contains(place.name)))
            return false;
    auto values = read_input_values(JsonCursor::parse(record.dump(), card.name, "/reference"), card,
                                    system.species.size(), 0.0);
    if (!values.charges.empty()) system.charges = std::move(values.charges);
    system.atom_inputs = std::move(values.atoms);
    system.system_inputs = std::move(values.system);
    return true;
}

/// The reference of the first part that has one with elements of the composition, and charges if
/// it reads them, with the composition's own numbers.
std::string with_reference(const std::string& card_text, const std::vector<CompositionPart>& parts,
                           Session& composed) {
    const auto& species = composed.card().species;
    const bool needs_charges = composed.card().find_input(InputRole::Charges) != nullptr;
    const auto known = [&](const std::string& symbol) {
        return std::find(species.begin(), species.end(), symbol) != species.end();
    };
    for (const auto& part : parts) {
        const auto& reference = part.card.reference;
        if (!reference || (needs_charges && reference->charges.empty()) ||
            !std::all_of(reference->symbols.begin(), reference->symbols.end(), known))
            continue;
        WholeSystem system;
        for (const auto& symbol : reference->symbols)
            system.species.push_back(std::find(species.begin(), species.end(), symbol) -
                                     species.begin());
        system.positions = reference->positions;
        system.charges = reference->charges;
        std::copy(reference->cell, reference->cell + 9, system.cell);
        std::copy(reference->periodic, reference->periodic + 3, system.periodic);
        auto record = nlohmann::ordered_json::parse(part.card_text)["reference"];
        if (!add_inputs(record, composed.card(), system)) continue;
        const auto whole = evaluate_whole(composed, system);
        auto card = nlohmann::ordered_json::parse(card_text);
        record.erase("total_charge");  // the composition is evaluated without one
        record.erase("stress");
        record["energy"] = whole.energy;
        record["energies"] = whole.atomic_energies;
        auto forces = nlohmann::ordered_json::array();
        for (std::size_t k = 0; k + 2 < whole.forces.size(); k += 3)
            forces.push_back({whole.forces[k], whole.forces[k + 1], whole.forces[k + 2]});
        record["forces"] = forces;
        card["reference"] = record;
        return card.dump(1);
    }
    return card_text;
}

}  // namespace

ComposedArchive compose_archives(const std::vector<ArchiveToCompose>& archives,
                                 const std::string& name) {
    register_operators();
    std::vector<CompositionPart> parts;
    std::vector<torch::jit::Module> modules;
    for (const auto& archive : archives) {
        const auto& path = archive.options.path;
        CompositionPart part;
        part.card_text = archive.options.card_text
                             ? *archive.options.card_text
                             : read_embedded_card(archive.bytes, path).value_or("");
        if (part.card_text.empty())
            throw ModelError(path +
                             ": got an archive without a model card, expected the extra "
                             "file 'nvalchemi.json' inside it or a file NAME.card.json "
                             "beside it");
        part.card = parse_model_card(part.card_text, path + ":nvalchemi.json",
                                     archive.options.spec_reading);
        load_operator_libraries(archive.options.operator_libraries);
        const auto folder = std::filesystem::path(path).parent_path().string();
        load_operator_libraries(part.card.operator_libraries, folder.empty() ? "." : folder);
        modules.push_back(load_module(archive.bytes, path, torch::kCPU));
        part.returns = return_form(modules.back(), part.card.name);
        parts.push_back(std::move(part));
    }
    name_parts(parts);
    const auto composition = compose(parts, name);

    ComposedArchive result;
    result.card = composition.card;
    result.bytes = composed_bytes(parts, modules, composition);
    SessionOptions options;
    options.path = name;
    options.device = "cpu";
    for (const auto& archive : archives)
        for (const auto& library : archive.options.operator_libraries)
            options.operator_libraries.push_back(library);
    Session composed(result.bytes, options);
    result.listing = composed.listing();
    if (!composition.wires_charges) compare_with_parts(archives, composed, result);

    result.card = with_reference(composition.card, parts, composed);
    if (result.card != composition.card) {
        auto whole = composition;
        whole.card = result.card;
        result.bytes = composed_bytes(parts, modules, whole);
    }
    return result;
}

}  // namespace nvalchemi
