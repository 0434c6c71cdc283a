// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_NAMED_VALUE_HPP
#define NVALCHEMI_SPEC_NAMED_VALUE_HPP

#include <array>
#include <cstddef>

namespace nvalchemi {

/// A string of the format and what it means.
template <typename Value>
struct NamedValue {
    const char* name;
    Value value;
};

/// The string of `value`, which must be in `table`.
template <typename Value, std::size_t N>
constexpr const char* name_in(const std::array<NamedValue<Value>, N>& table, Value value) {
    for (const auto& entry : table) {
        if (entry.value == value) return entry.name;
    }
    return "";
}

}  // namespace nvalchemi

#endif
