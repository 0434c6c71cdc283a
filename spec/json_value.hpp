// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_JSON_VALUE_HPP
#define NVALCHEMI_SPEC_JSON_VALUE_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nvalchemi {

struct JsonValue;

using JsonArray = std::vector<JsonValue>;
/// Members in the order of the text; keys are unique.
using JsonObject = std::vector<std::pair<std::string, JsonValue>>;

/// One JSON value as a plain tree. An integer that does not fit 64 signed bits is a double.
struct JsonValue {
    std::variant<std::monostate, bool, std::int64_t, double, std::string, JsonArray, JsonObject>
        content;
};

/// Append one token to a JSON pointer, with the escapes of RFC 6901.
std::string json_pointer_child(const std::string& pointer, const std::string& token);

/// `text` for a message: control characters and bytes that are no UTF-8 as \xNN.
std::string printable(const std::string& text);

/// `text` in double quotes, printable, with quotes escaped, cut after 60 bytes.
std::string in_quotes(const std::string& text);

/// What a value is, short enough for a message: `"halo"`, `true`, `null`, `an array of 3`.
std::string describe(const JsonValue& value);

/// Quoted names with commas between: `"a", "b"`.
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace nvalchemi

#endif
