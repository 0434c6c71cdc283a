// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/structure_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "potentials/card/named_input.hpp"
#include "potentials/input_layout.hpp"
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

std::string element_of(const ModelCard& card) {
    return "an element of model " + in_quotes(card.name) + ", one of its " +
           std::to_string(card.species.size()) + ": " + quoted_list(card.species);
}

std::int64_t species_position(const ModelCard& card, const JsonCursor& symbol) {
    const auto found = std::find(card.species.begin(), card.species.end(), symbol.as_string());
    if (found == card.species.end()) symbol.refuse(element_of(card));
    return found - card.species.begin();
}

/// `[x, y, z]` at the end of `to`.
void append_vector(const JsonCursor& from, std::vector<double>& to) {
    const auto components = from.as_array_of("numbers");
    if (components.size() != 3) from.refuse("three numbers [x, y, z]");
    for (const auto& component : components) to.push_back(component.as_number());
}

/// Extended XYZ: the number of atoms, then `Lattice="..." pbc="..." Properties=...`, then atoms.
class ExtendedXyz {
  public:
    ExtendedXyz(const std::string& path, const ModelCard& card)
        : path_(path), card_(card), layout_(input_layout(card)), lines_(read_file(path)) {}

    WholeSystem read() {
        const auto count = number<std::int64_t>(next_line(), "the number of atoms");
        const auto header = next_line();
        system_.system_inputs.resize(layout_.system_columns);
        read_header(header);
        for (std::int64_t atom = 0; atom < count; ++atom) read_atom();
        return std::move(system_);
    }

  private:
    [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
        throw std::runtime_error(path_ + " line " + std::to_string(line_) + ": got " +
                                 (found.empty() ? "nothing" : "'" + found + "'") + ", expected " +
                                 expected);
    }

    std::string next_line() {
        std::string line;
        ++line_;
        std::getline(lines_, line);
        if (!line.empty() && line.back() == '\r') line.pop_back();
        return line;
    }

    template <typename Number>
    Number number(const std::string& word, const std::string& expected) const {
        const auto first = word.find_first_not_of(" \t");
        const auto last = word.find_last_not_of(" \t");
        Number value{};
        if (first == std::string::npos) refuse("", expected);
        const char* const end = word.data() + last + 1;
        const auto [stop, error] = std::from_chars(word.data() + first, end, value);
        if (error != std::errc() || stop != end || !std::isfinite(static_cast<double>(value)))
            refuse(word, expected);
        return value;
    }

    /// The value of `key=value` or `key="several words"`; nothing if the key is not there.
    static std::optional<std::string> value_of(const std::string& header, const std::string& key) {
        for (std::size_t at = 0; at < header.size();) {
            at = header.find_first_not_of(" \t", at);
            if (at == std::string::npos) break;
            auto end = header.find_first_of(" \t=", at);
            const auto name = header.substr(at, end - at);
            if (end == std::string::npos || header[end] != '=') {
                at = end;
                continue;
            }
            const bool quoted = end + 1 < header.size() && header[end + 1] == '"';
            const auto begin = end + 1 + quoted;
            end = std::min(header.find_first_of(quoted ? "\"" : " \t", begin), header.size());
            if (name == key) return header.substr(begin, end - begin);
            at = end + quoted;
        }
        return {};
    }

    static std::vector<std::string> words_of(const std::string& text) {
        std::istringstream stream(text);
        return {std::istream_iterator<std::string>(stream), {}};
    }

    void read_header(const std::string& header) {
        const auto lattice = words_of(value_of(header, "Lattice").value_or(""));
        if (lattice.size() != 9) refuse(header, "Lattice=\"...\" with nine numbers");
        for (int k = 0; k < 9; ++k) system_.cell[k] = number<double>(lattice[k], "a number");
        if (const auto periodic = value_of(header, "pbc")) {
            const auto flags = words_of(*periodic);
            const bool good =
                flags.size() == 3 && std::all_of(flags.begin(), flags.end(), [](const auto& flag) {
                    return flag == "T" || flag == "F";
                });
            if (!good) refuse(*periodic, "pbc=\"...\" with three of T and F");
            for (int k = 0; k < 3; ++k) system_.periodic[k] = flags[k] == "T";
        }
        for (const auto& place : layout_.places)
            if (!place.per_atom) read_system_input(header, place);
        // name:type:columns, again and again
        auto layout = value_of(header, "Properties").value_or("species:S:1:pos:R:3");
        std::replace(layout.begin(), layout.end(), ':', ' ');
        const auto fields = words_of(layout);
        for (std::size_t k = 0; k + 2 < fields.size(); k += 3) {
            if (fields[k] == "species") species_ = columns_;
            if (fields[k] == "pos" && fields[k + 2] == "3") positions_ = columns_;
            if (fields[k] == "charges" && fields[k + 2] == "1") charges_ = columns_;
            for (const auto& place : layout_.places)
                if (fields[k] == "input_" + place.name &&
                    fields[k + 2] == std::to_string(place.columns))
                    inputs_[place.name] = columns_;
            const int columns = number<int>(fields[k + 2], "a number of columns in Properties");
            if (columns < 1) refuse(fields[k + 2], "a number of columns in Properties");
            columns_ += static_cast<std::size_t>(columns);
        }
        if (!species_ || !positions_) refuse(header, "Properties=... with species:S:1 and pos:R:3");
        for (const auto& place : layout_.places)
            if (place.per_atom && place.default_values.empty() && inputs_.count(place.name) == 0)
                refuse(header, "Properties=... with input_" + place.name +
                                   ":R:" + std::to_string(place.columns) + " for the input " +
                                   place.title());
    }

    void read_system_input(const std::string& header, const InputPlace& place) {
        const auto text = value_of(header, "input_" + place.name);
        auto* const values = &system_.system_inputs[place.first];
        if (!text && !place.default_values.empty()) {
            std::copy(place.default_values.begin(), place.default_values.end(), values);
            return;
        }
        const auto words = words_of(text.value_or(""));
        if (static_cast<std::int64_t>(words.size()) != place.columns)
            refuse(text.value_or(""),
                   "input_" + place.name + "=\"...\" for the input " + place.title());
        for (std::size_t k = 0; k < words.size(); ++k) values[k] = input_number(words[k], place);
    }

    double input_number(const std::string& word, const NamedInput& input) const {
        const auto value = number<double>(word, "a number");
        if (input.is_integer && value != std::round(value)) refuse(word, "a whole number");
        return value;
    }

    void read_atom_inputs(const std::vector<std::string>& words) {
        if (charges_) system_.charges.push_back(number<double>(words[*charges_], "a charge"));
        for (const auto& place : layout_.places) {
            if (!place.per_atom) continue;
            const auto found = inputs_.find(place.name);
            for (std::int64_t k = 0; k < place.columns; ++k)
                system_.atom_inputs.push_back(found == inputs_.end()
                                                  ? place.default_values[k]
                                                  : input_number(words[found->second + k], place));
        }
    }

    void read_atom() {
        const auto line = next_line();
        const auto words = words_of(line);
        if (words.size() < columns_)
            refuse(line, "an atom of " + std::to_string(columns_) + " columns");
        const auto& symbol = words[*species_];
        const auto found = std::find(card_.species.begin(), card_.species.end(), symbol);
        if (found == card_.species.end()) refuse(symbol, element_of(card_));
        system_.species.push_back(found - card_.species.begin());
        for (std::size_t k = 0; k < 3; ++k)
            system_.positions.push_back(number<double>(words[*positions_ + k], "a coordinate"));
        read_atom_inputs(words);
    }

    std::string path_;
    const ModelCard& card_;
    InputLayout layout_;
    std::istringstream lines_;
    int line_ = 0;
    std::size_t columns_ = 0;
    std::optional<std::size_t> species_, positions_, charges_;
    std::map<std::string, std::size_t> inputs_;  ///< first column of each
    WholeSystem system_;
};

bool ends_with_xyz(const std::string& path) {
    return path.size() > 3 && path.compare(path.size() - 3, 3, "xyz") == 0;
}

}  // namespace

WholeSystem read_structure_file(const std::string& path, const ModelCard& card) {
    if (ends_with_xyz(path)) return ExtendedXyz(path, card).read();
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
    auto inputs = read_input_values(document, card, system.species.size(), card.total_charge);
    if (!inputs.charges.empty()) system.charges = std::move(inputs.charges);
    system.atom_inputs = std::move(inputs.atoms);
    system.system_inputs = std::move(inputs.system);
    std::vector<double> cell;
    const auto vectors = document.at("cell");
    for (const auto& vector : vectors.as_array_of("lattice vectors")) append_vector(vector, cell);
    if (cell.size() != 9) vectors.refuse("three lattice vectors");
    std::copy(cell.begin(), cell.end(), system.cell);
    const auto periodic = document.find("pbc");
    if (!periodic) return system;
    if (periodic->is_bool()) {
        std::fill_n(system.periodic, 3, periodic->as_bool());
        return system;
    }
    if (!periodic->is_array()) periodic->refuse("a boolean or three of them");
    const auto flags = periodic->as_array_of("booleans");
    if (flags.size() != 3) periodic->refuse("a boolean or three of them");
    for (int axis = 0; axis < 3; ++axis) system.periodic[axis] = flags[axis].as_bool();
    return system;
}

}  // namespace nvalchemi
