// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_FORMAT_READ_VALUES_HPP
#define NVALCHEMI_SPEC_FORMAT_READ_VALUES_HPP

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "spec/format/doubts.hpp"
#include "spec/json_cursor.hpp"

namespace nvalchemi {

/// The member `key` of an object, true or false. Lenient: another type counts by its Python truth.
bool read_flag(const JsonCursor& object, const std::string& key, bool absent, const Doubts& doubts);

/// A string that is not empty. Lenient: an empty one is kept.
std::string read_text(const JsonCursor& text, const Doubts& doubts);

/// The name of an output, or null, which is the default.
std::optional<std::string> read_optional_name(const JsonCursor& object, const std::string& key,
                                              const Doubts& doubts);

/// A name and where it stands.
struct PlacedName {
    std::string name;
    JsonCursor place;
};

/// The elements of an array; null, which stands for none elsewhere, is refused with a remedy.
std::vector<JsonCursor> read_array(const JsonCursor& array, const std::string& elements,
                                   const std::string& remedy_for_null = "write [] for none");

/// An array of distinct names in the order of the text. Lenient: duplicates are kept, one string
/// is the one name, an object stands for its keys.
std::vector<PlacedName> read_names(const JsonCursor& names, const Doubts& doubts,
                                   const std::string& remedy_for_null = "write [] for none");

/// The same in ascending order, so that a spec has one text; an absent member is empty. Lenient:
/// any order.
std::vector<PlacedName> read_sorted_names(const JsonCursor& object, const std::string& key,
                                          const Doubts& doubts);

/// Raise a doubt if `name` at `item` comes after a greater one. Returns whether it did.
bool raise_if_unsorted(const JsonCursor& item, const std::string& name, const std::string& previous,
                       const Doubts& doubts);

/// The strings of a table, for messages.
template <typename Value, std::size_t N>
std::vector<std::string> names_in(const std::array<NamedValue<Value>, N>& table) {
    std::vector<std::string> names;
    for (const auto& entry : table) names.emplace_back(entry.name);
    return names;
}

/// One of the strings of `table`. Lenient: anything else acts as the last of them, because the
/// Python package compares with the others and checks nothing.
template <typename Value, std::size_t N>
Value read_mode(const JsonCursor& mode, const std::array<NamedValue<Value>, N>& table,
                const Doubts& doubts) {
    for (const auto& entry : table) {
        if (mode.is_string() && mode.as_string() == entry.name) return entry.value;
    }
    const std::string otherwise = in_quotes(table.back().name);
    doubts.raise(mode,
                 mode.mismatch("one of " + quoted_list(names_in(table)),
                               "anything else has acted as " + otherwise +
                                   " so far: write that, or what was meant"),
                 "acts as " + otherwise);
    return table.back().value;
}

}  // namespace nvalchemi

#endif
