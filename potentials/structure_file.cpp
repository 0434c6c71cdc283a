// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/structure_file.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "spec/json_cursor.hpp"

namespace nvalchemi {

namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) throw std::runtime_error(path + ": cannot be read; check the path");
    return text.str();
}

std::int64_t species_position(const ModelCard& card, const JsonCursor& symbol) {
    const auto found = std::find(card.species.begin(), card.species.end(), symbol.as_string());
    if (found == card.species.end())
        symbol.refuse("an element of model " + in_quotes(card.name) + ", one of its " +
                      std::to_string(card.species.size()) + ": " + quoted_list(card.species));
    return found - card.species.begin();
}

/// `[x, y, z]` at the end of `to`.
void append_vector(const JsonCursor& from, std::vector<double>& to) {
    const auto components = from.as_array_of("numbers");
    if (components.size() != 3) from.refuse("three numbers [x, y, z]");
    for (const auto& component : components) to.push_back(component.as_number());
}

}  // namespace

WholeSystem read_structure_file(const std::string& path, const ModelCard& card) {
    const auto document = JsonCursor::parse(read_file(path), path);
    WholeSystem system;
    for (const auto& symbol : document.at("symbols").as_array_of("element symbols"))
        system.species.push_back(species_position(card, symbol));
    const auto positions = document.at("positions");
    for (const auto& position : positions.as_array_of("vectors"))
        append_vector(position, system.positions);
    if (system.positions.size() != 3 * system.species.size())
        positions.fail("got " + std::to_string(system.positions.size() / 3) +
                       " vectors, expected " + std::to_string(system.species.size()) +
                       " as in \"symbols\"");
    if (const auto charges = document.find("charges")) {
        for (const auto& charge : charges->as_array_of("numbers"))
            system.charges.push_back(charge.as_number());
        if (system.charges.size() != system.species.size())
            charges->fail("got " + std::to_string(system.charges.size()) + " charges, expected " +
                          std::to_string(system.species.size()) + " as in \"symbols\"");
    }
    std::vector<double> cell;
    const auto vectors = document.at("cell");
    for (const auto& vector : vectors.as_array_of("lattice vectors")) append_vector(vector, cell);
    if (cell.size() != 9) vectors.refuse("three lattice vectors");
    std::copy(cell.begin(), cell.end(), system.cell);
    const auto periodic = document.find("pbc");
    if (!periodic) return system;
    const auto flags = periodic->as_array_of("booleans");
    if (flags.size() != 3) periodic->refuse("three booleans");
    for (int axis = 0; axis < 3; ++axis) system.periodic[axis] = flags[axis].as_bool();
    return system;
}

}  // namespace nvalchemi
