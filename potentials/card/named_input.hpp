// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_CARD_NAMED_INPUT_HPP
#define NVALCHEMI_POTENTIALS_CARD_NAMED_INPUT_HPP

#include <cstddef>
#include <vector>

#include "potentials/model_card.hpp"
#include "spec/json_cursor.hpp"

namespace nvalchemi {

/// Read `name`, `columns`, `default`, `unit` and `dtype` of an input of role atom_input or
/// system_input. Throws SpecError.
NamedInput read_named_input(const JsonCursor& record);

/// What a structure gives for the inputs of a model, as in WholeSystem; empty where it takes none.
struct InputValues {
    std::vector<double> atoms, system, charges;
};

/// Read the key "inputs" of a structure of n atoms: {"name": number | list | list of lists}, also
/// under the names "charges" and "total_charge". What it does not name has the card's default, the
/// total charge the given one. Throws SpecError for an input that has neither.
InputValues read_input_values(const JsonCursor& structure, const ModelCard& card, std::size_t atoms,
                              double total_charge);

/// Refuse what is no whole number where the model takes integers. Throws SpecError.
void check_whole(const JsonCursor& number, const NamedInput& input);

}  // namespace nvalchemi

#endif
