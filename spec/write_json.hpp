// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_WRITE_JSON_HPP
#define NVALCHEMI_SPEC_WRITE_JSON_HPP

#include <string>

#include "spec/json_value.hpp"

namespace nvalchemi {

/// How a JSON text is laid out.
enum class JsonLayout {
    Indented,  ///< one member or element a line, two blanks for each level
    OneLine,   ///< `{"a": [1, 2]}`
};

/// The JSON text of a value, in the layout of json.dumps of Python: ASCII only, everything else as
/// \uXXXX, no final newline. Numbers have the fewest digits that read back as the same double.
/// Strings must be UTF-8. Throws SpecError for one that is not.
std::string write_json(const JsonValue& value, JsonLayout layout = JsonLayout::Indented);

}  // namespace nvalchemi

#endif
