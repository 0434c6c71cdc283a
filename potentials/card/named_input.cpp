// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/card/named_input.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "potentials/input_layout.hpp"

namespace nvalchemi {

namespace {

constexpr std::int64_t kMostColumns = 1000;

bool is_word(const std::string& name) {
    return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
           std::all_of(name.begin(), name.end(),
                       [](unsigned char letter) { return std::isalnum(letter) || letter == '_'; });
}

double read_number(const JsonCursor& number, const NamedInput& input) {
    const double value = number.as_number();
    check_whole(number, input);
    return value;
}

/// One number if there is one column, or a list of as many as there are columns.
std::vector<double> read_row(const JsonCursor& row, const NamedInput& input) {
    if (input.columns == 1 && !row.is_array()) return {read_number(row, input)};
    std::vector<double> values;
    for (const JsonCursor& number : row.as_array_of("numbers"))
        values.push_back(read_number(number, input));
    if (static_cast<std::int64_t>(values.size()) != input.columns)
        row.refuse("a list of length " + std::to_string(input.columns));
    return values;
}

/// (atoms, columns): a list with an entry for each atom, or one entry for all.
std::vector<double> read_rows(const JsonCursor& rows, const NamedInput& input, std::size_t atoms) {
    const bool has_entries =
        rows.is_array() && (input.columns == 1 || (!rows.as_array_of("entries").empty() &&
                                                   rows.as_array_of("entries")[0].is_array()));
    std::vector<double> values;
    if (!has_entries) {
        const auto row = read_row(rows, input);
        for (std::size_t atom = 0; atom < atoms; ++atom)
            values.insert(values.end(), row.begin(), row.end());
        return values;
    }
    const auto entries = rows.as_array_of("entries");
    if (entries.size() != atoms)
        rows.fail("got " + std::to_string(entries.size()) + " entries, expected " +
                  std::to_string(atoms) + " as in \"symbols\"");
    for (const JsonCursor& entry : entries) {
        const auto row = read_row(entry, input);
        values.insert(values.end(), row.begin(), row.end());
    }
    return values;
}

void put(const InputPlace& place, std::size_t atoms, const std::vector<double>& given,
         const InputLayout& layout, InputValues& values) {
    if (!place.per_atom) {
        std::copy(given.begin(), given.end(), values.system.begin() + place.first);
        return;
    }
    for (std::size_t atom = 0; atom < atoms; ++atom)
        std::copy_n(&given[atom * place.columns], place.columns,
                    &values.atoms[atom * layout.atom_columns + place.first]);
}

}  // namespace

void check_whole(const JsonCursor& number, const NamedInput& input) {
    if (input.is_integer && number.as_number() != std::round(number.as_number()))
        number.refuse("a whole number", "the model takes integers as " + in_quotes(input.name));
}

NamedInput read_named_input(const JsonCursor& record) {
    NamedInput input;
    const JsonCursor name = record.at("name", "what the user writes to give its values");
    input.name = name.as_string();
    if (!is_word(input.name)) name.refuse("letters, digits and \"_\", a letter first");
    if (input.name == kChargesName || input.name == kTotalChargeName)
        name.refuse("another name", "that is the name of the role " + in_quotes(input.name));
    if (const auto columns = record.find("columns")) {
        input.columns = columns->as_integer();
        if (input.columns < 1 || input.columns > kMostColumns)
            columns->refuse("a number from 1 to " + std::to_string(kMostColumns));
    }
    if (const auto dtype = record.find("dtype")) {
        if (dtype->as_string() != "int64")
            dtype->refuse("\"int64\"", "without this key it has the precision of the model");
        input.is_integer = true;
    }
    if (const auto unit = record.find("unit")) input.unit = unit->as_nonempty_string();
    if (const auto value = record.find("default")) input.default_values = read_row(*value, input);
    return input;
}

InputValues read_input_values(const JsonCursor& structure, const ModelCard& card, std::size_t atoms,
                              double total_charge) {
    const auto layout = input_layout(card);
    const auto inputs = structure.find("inputs");
    InputValues values;
    values.atoms.resize(atoms * layout.atom_columns);
    values.system.resize(layout.system_columns);
    std::vector<std::string> known;
    for (const auto& place : layout.places) {
        known.push_back(place.name);
        const auto given = inputs ? inputs->find(place.name) : std::nullopt;
        auto otherwise = place.default_values;
        if (place.name == kTotalChargeName) otherwise = {total_charge};
        if (!given && otherwise.empty())
            (inputs ? *inputs : structure)
                .fail("got no value for the input " + place.title() + " of model " +
                      in_quotes(card.name) + ", expected \"inputs\": {" + in_quotes(place.name) +
                      ": ...}");
        if (given && place.per_atom) {
            put(place, atoms, read_rows(*given, place, atoms), layout, values);
        } else if (given) {
            put(place, atoms, read_row(*given, place), layout, values);
        } else if (place.per_atom) {
            std::vector<double> rows;
            for (std::size_t atom = 0; atom < atoms; ++atom)
                rows.insert(rows.end(), otherwise.begin(), otherwise.end());
            put(place, atoms, rows, layout, values);
        } else {
            put(place, atoms, otherwise, layout, values);
        }
    }
    if (!inputs) return values;
    if (card.find_input(InputRole::Charges)) {
        known.push_back(kChargesName);
        if (const auto charges = inputs->find(kChargesName))
            values.charges = read_rows(*charges, {kChargesName, 1, false, "e", {}}, atoms);
    }
    for (const JsonCursor& unknown : inputs->unknown_members(known))
        unknown.fail("got an input that model " + in_quotes(card.name) +
                     " does not take, expected one of: " + titles_of_inputs(card));
    return values;
}

}  // namespace nvalchemi
