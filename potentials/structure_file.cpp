// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/structure_file.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace nvalchemi {

namespace {

using nlohmann::json;

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) throw std::runtime_error("cannot be read; check the path");
    return text.str();
}

std::int64_t species_position(const ModelCard& card, const std::string& symbol) {
    const auto found = std::find(card.species.begin(), card.species.end(), symbol);
    if (found == card.species.end())
        throw std::runtime_error("symbols: got '" + symbol + "', expected one of the " +
                                 std::to_string(card.species.size()) + " species of model '" +
                                 card.name + "'");
    return found - card.species.begin();
}

/// `[x, y, z]` at the end of `to`.
void append_vector(const json& from, const std::string& name, std::vector<double>& to) {
    const auto values = from.get<std::vector<double>>();
    if (values.size() != 3)
        throw std::runtime_error(name + ": got " + std::to_string(values.size()) +
                                 " numbers, expected 3");
    to.insert(to.end(), values.begin(), values.end());
}

}  // namespace

WholeSystem read_structure_file(const std::string& path, const ModelCard& card) {
    try {
        const auto document = json::parse(read_file(path));
        WholeSystem system;
        for (const auto& symbol : document.at("symbols"))
            system.species.push_back(species_position(card, symbol.get<std::string>()));
        for (const auto& position : document.at("positions"))
            append_vector(position, "positions", system.positions);
        if (system.positions.size() != 3 * system.species.size())
            throw std::runtime_error("positions: got " +
                                     std::to_string(system.positions.size() / 3) + ", expected " +
                                     std::to_string(system.species.size()) + " as in symbols");
        std::vector<double> cell;
        for (const auto& vector : document.at("cell")) append_vector(vector, "cell", cell);
        const auto periodic = document.value("pbc", std::vector<bool>(3, true));
        if (cell.size() != 9 || periodic.size() != 3)
            throw std::runtime_error("cell, pbc: expected three vectors and three booleans");
        std::copy(cell.begin(), cell.end(), system.cell);
        std::copy(periodic.begin(), periodic.end(), system.periodic);
        return system;
    } catch (const std::exception& error) {
        throw std::runtime_error(path + ": " + error.what());
    }
}

}  // namespace nvalchemi
