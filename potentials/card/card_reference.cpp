// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/card/card_reference.hpp"

#include <algorithm>

#include "potentials/card/named_input.hpp"

namespace nvalchemi {

namespace {

std::vector<JsonCursor> read_array(const JsonCursor& array, std::size_t length,
                                   const std::string& what) {
    const std::vector<JsonCursor> items = array.as_array_of(what);
    if (items.size() != length) array.refuse("an array of length " + std::to_string(length), what);
    return items;
}

std::vector<double> read_numbers(const JsonCursor& array, std::size_t length) {
    std::vector<double> numbers;
    for (const JsonCursor& item : read_array(array, length, "numbers")) {
        numbers.push_back(item.as_number());
    }
    return numbers;
}

/// (n, 3) numbers as nested arrays, flattened in row-major order.
std::vector<double> read_vectors(const JsonCursor& array, std::size_t n) {
    std::vector<double> numbers;
    for (const JsonCursor& row : read_array(array, n, "rows of 3 numbers")) {
        const std::vector<double> vector = read_numbers(row, 3);
        numbers.insert(numbers.end(), vector.begin(), vector.end());
    }
    return numbers;
}

std::vector<std::string> read_symbols(const JsonCursor& symbols,
                                      const std::vector<std::string>& species) {
    std::vector<std::string> result;
    for (const JsonCursor& symbol : symbols.as_array_of("element symbols")) {
        result.push_back(symbol.as_string());
        if (std::find(species.begin(), species.end(), result.back()) == species.end()) {
            symbol.refuse("one of the card's species", "the model does not know this element");
        }
    }
    if (result.empty()) symbols.refuse("at least one element symbol");
    return result;
}

}  // namespace

ReferenceStructure read_card_reference(const JsonCursor& reference, const ModelCard& card) {
    reference.allow_only({"symbols", "positions", "cell", "pbc", "charges", "inputs", "energy",
                          "energies", "forces", "stress", "total_charge"});
    ReferenceStructure result;
    result.symbols = read_symbols(reference.at("symbols"), card.species);
    const std::size_t n = result.symbols.size();
    result.positions = read_vectors(reference.at("positions"), n);
    const std::vector<double> cell = read_vectors(reference.at("cell"), 3);
    std::copy(cell.begin(), cell.end(), result.cell);
    const auto periodic = read_array(reference.at("pbc"), 3, "booleans");
    for (std::size_t k = 0; k < 3; ++k) result.periodic[k] = periodic[k].as_bool();
    if (const auto charges = reference.find("charges")) result.charges = read_numbers(*charges, n);
    result.energy = reference.at("energy").as_number();
    if (const auto energies = reference.find("energies")) {
        result.atomic_energies = read_numbers(*energies, n);
    }
    result.forces = read_vectors(reference.at("forces"), n);
    const auto charge = reference.find("total_charge");
    auto values = read_input_values(reference, card, n, charge ? charge->as_number() : 0.0);
    if (!values.charges.empty()) result.charges = std::move(values.charges);
    result.atom_inputs = std::move(values.atoms);
    result.system_inputs = std::move(values.system);
    if (const auto stress = reference.find("stress")) result.stress = read_vectors(*stress, 3);
    return result;
}

}  // namespace nvalchemi
