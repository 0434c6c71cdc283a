// SPDX-License-Identifier: GPL-2.0-only
#include "spec/format/read_values.hpp"

#include <set>

namespace nvalchemi {

namespace {

/// What bool() of Python says of a JSON value.
bool truth_of(const JsonCursor& value) {
    if (value.is_null()) return false;
    if (value.is_bool()) return value.as_bool();
    if (value.is_number()) return value.as_number() != 0;
    if (value.is_string()) return !value.as_string().empty();
    if (value.is_array()) return !value.as_array_of("values").empty();
    return !value.members().empty();
}

/// The names of an array, or of what the Python package takes for one.
std::vector<PlacedName> placed_names(const JsonCursor& names, const Doubts& doubts,
                                     const std::string& remedy_for_null) {
    std::vector<PlacedName> result;
    if (names.is_string()) {
        const bool empty = names.as_string().empty();
        doubts.raise(names,
                     names.mismatch("an array of strings", "put the name into square brackets"),
                     empty ? "taken as no name" : "taken as the one name");
        if (!empty) result.push_back({names.as_string(), names});
    } else if (names.is_object()) {
        doubts.raise(names, names.mismatch("an array of strings"), "its keys are the names");
        for (const auto& [name, place] : names.members()) result.push_back({name, place});
    } else {
        for (const JsonCursor& item : read_array(names, "strings", remedy_for_null)) {
            result.push_back({read_text(item, doubts), item});
        }
    }
    return result;
}

}  // namespace

bool read_flag(const JsonCursor& object, const std::string& key, bool absent,
               const Doubts& doubts) {
    const auto flag = object.find(key);
    if (!flag) return absent;
    if (flag->is_bool()) return flag->as_bool();
    const bool truth = truth_of(*flag);
    const bool is_text = flag->is_string() && truth;
    doubts.raise(*flag, flag->mismatch("true or false", is_text ? "without quotes" : ""),
                 std::string("taken as ") + (truth ? "true" : "false") +
                     (is_text ? ", as any text is that is not empty" : ""));
    return truth;
}

std::string read_text(const JsonCursor& text, const Doubts& doubts) {
    if (text.as_string().empty()) {
        doubts.raise(text, text.mismatch("a string that is not empty"), "kept");
    }
    return text.as_string();
}

std::optional<std::string> read_optional_name(const JsonCursor& object, const std::string& key,
                                              const Doubts& doubts) {
    const auto name = object.find(key);
    if (!name || name->is_null()) return std::nullopt;
    if (!name->is_string()) name->refuse("the name of an output, or null");
    return read_text(*name, doubts);
}

std::vector<JsonCursor> read_array(const JsonCursor& array, const std::string& elements,
                                   const std::string& remedy_for_null) {
    if (array.is_null()) array.refuse("an array of " + elements, remedy_for_null);
    return array.as_array_of(elements);
}

std::vector<PlacedName> read_names(const JsonCursor& names, const Doubts& doubts,
                                   const std::string& remedy_for_null) {
    std::vector<PlacedName> result = placed_names(names, doubts, remedy_for_null);
    std::set<std::string> seen;
    for (const auto& [name, place] : result) {
        if (seen.insert(name).second) continue;
        doubts.raise(place,
                     "got " + in_quotes(name) +
                         " a second time, expected each name once (remove one of the two)",
                     "it counts once");
    }
    return result;
}

std::vector<PlacedName> read_sorted_names(const JsonCursor& object, const std::string& key,
                                          const Doubts& doubts) {
    const auto names = object.find(key);
    if (!names) return {};
    std::vector<PlacedName> result = read_names(*names, doubts);
    if (!names->is_array()) return result;  // a doubt already, and an object has no order
    for (std::size_t i = 1; i < result.size(); ++i) {
        const std::string& previous = result[i - 1].name;
        if (raise_if_unsorted(result[i].place, result[i].name, previous, doubts)) break;
    }
    return result;
}

bool raise_if_unsorted(const JsonCursor& item, const std::string& name, const std::string& previous,
                       const Doubts& doubts) {
    if (!(name < previous)) return false;
    doubts.raise(item,
                 "got " + in_quotes(name) + " after " + in_quotes(previous) +
                     ", expected names in ascending order (sort them)",
                 "sorted");
    return true;
}

}  // namespace nvalchemi
