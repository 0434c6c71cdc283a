// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/card/card_input.hpp"

#include <algorithm>

#include "potentials/card/card_constant.hpp"
#include "potentials/card/card_shape.hpp"
#include "potentials/card/named_input.hpp"

namespace nvalchemi {

namespace {

constexpr std::array<NamedValue<InputRole>, 22> kRoles = {{
    {"species_index", InputRole::SpeciesIndex},
    {"species_one_hot", InputRole::SpeciesOneHot},
    {"positions", InputRole::Positions},
    {"edge_index", InputRole::EdgeIndex},
    {"edge_vectors", InputRole::EdgeVectors},
    {"edge_shifts", InputRole::EdgeShifts},
    {"edge_cell_shifts", InputRole::EdgeCellShifts},
    {"cell", InputRole::Cell},
    {"setup_cell", InputRole::SetupCell},
    {"batch", InputRole::Batch},
    {"batch_pointer", InputRole::BatchPointer},
    {"n_rows", InputRole::NRows},
    {"n_owned", InputRole::NOwned},
    {"owned_mask", InputRole::OwnedMask},
    {"charges", InputRole::Charges},
    {"total_charge", InputRole::TotalCharge},
    {"atom_input", InputRole::AtomInput},
    {"system_input", InputRole::SystemInput},
    {"neighbor_matrix", InputRole::NeighborMatrix},
    {"neighbor_mask", InputRole::NeighborMask},
    {"constant", InputRole::Constant},
    {"dict", InputRole::Dict},
}};

/// Only a floating-point tensor can require a gradient.
bool is_floating(const InputSpec& input) {
    switch (input.role) {
        case InputRole::SpeciesOneHot:
        case InputRole::Positions:
        case InputRole::EdgeVectors:
        case InputRole::EdgeShifts:
        case InputRole::Cell:
        case InputRole::Charges:
        case InputRole::TotalCharge:
        case InputRole::NeighborMask: return true;
        case InputRole::Constant: return input.value->kind == ElementKind::Floating;
        case InputRole::AtomInput:
        case InputRole::SystemInput: return !input.named->is_integer;
        default: return false;
    }
}

void read_value(const JsonCursor& record, InputSpec& input) {
    const auto value = record.find("value");
    if (input.role != InputRole::Constant) {
        if (value) value->fail("got a value, expected none (only role \"constant\" has one)");
        return;
    }
    input.value = read_card_constant(record.at("value", "a constant needs its value"));
    if (input.shape) {
        check_constant_shape(record.at("shape"), *input.shape, *input.value);
    }
}

/// A table of neighbours has a row of slots for each atom: "(rows,neighbors)" and what follows.
void check_table_shape(const JsonCursor& shape, const InputSpec& input) {
    const auto& dimensions = *input.shape;
    const auto tables = std::count(dimensions.begin(), dimensions.end(), kNeighborsDimension);
    if (tables == 0) return;
    const bool per_slot =
        input.role == InputRole::NeighborMatrix || input.role == InputRole::NeighborMask ||
        input.role == InputRole::EdgeVectors || input.role == InputRole::EdgeShifts ||
        input.role == InputRole::EdgeCellShifts;
    if (per_slot && tables == 1 && dimensions.size() >= 2 && dimensions[0] == kRowsDimension &&
        dimensions[1] == kNeighborsDimension)
        return;
    shape.refuse("a shape without \"neighbors\"",
                 "it stands second, behind \"rows\", in the shape of neighbor_matrix, "
                 "neighbor_mask, edge_vectors, edge_shifts and edge_cell_shifts");
}

InputSpec read_input(const JsonCursor& record, const std::string& key) {
    InputSpec input;
    input.key = key;
    const JsonCursor role = record.at("role", "say what the model finds there");
    input.role = role.as_one_of(kRoles);
    if (input.role == InputRole::AtomInput || input.role == InputRole::SystemInput) {
        record.allow_only(
            {"role", "shape", "requires_grad", "name", "columns", "default", "unit", "dtype"});
        input.named = read_named_input(record);
    } else {
        record.allow_only({"role", "shape", "value", "requires_grad"});
    }
    if (const auto shape = record.find("shape")) {
        input.shape = read_card_shape(*shape);
        check_table_shape(*shape, input);
    }
    read_value(record, input);
    if (const auto flag = record.find("requires_grad")) {
        input.requires_grad = flag->as_bool();
        if (input.requires_grad && !is_floating(input)) {
            flag->refuse("false", "an input of role " + in_quotes(record.at("role").as_string()) +
                                      " is not a floating-point tensor");
        }
    }
    return input;
}

}  // namespace

std::vector<InputSpec> read_card_inputs(const JsonCursor& inputs) {
    std::vector<InputSpec> result;
    for (const auto& [key, record] : inputs.members()) {
        result.push_back(read_input(record, key));
        if (result.back().role == InputRole::Dict) {
            record.at("role").refuse("a role of one tensor",
                                     "\"dict\" stands for all inputs together, in "
                                     "/forward/arguments only");
        }
    }
    return result;
}

std::vector<InputSpec> read_card_arguments(const JsonCursor& arguments) {
    std::vector<InputSpec> result;
    bool has_dict = false;
    for (const JsonCursor& record : arguments.as_array_of("objects {\"role\": ...}")) {
        result.push_back(read_input(record, ""));
        const InputSpec& argument = result.back();
        if (argument.role != InputRole::Dict) continue;
        if (has_dict) record.fail("got a second \"dict\", expected at most one (remove it)");
        if (argument.shape || argument.requires_grad) {
            record.fail("got a \"dict\" with a shape or requires_grad, expected the role alone");
        }
        has_dict = true;
    }
    return result;
}

}  // namespace nvalchemi
