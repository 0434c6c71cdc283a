// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_PARSE_JSON_HPP
#define NVALCHEMI_SPEC_PARSE_JSON_HPP

#include <string>

#include "spec/json_value.hpp"
#include "spec/read_options.hpp"

namespace nvalchemi {

/// Containers nested deeper than this are refused: no declaration needs them.
inline constexpr int kMaxJsonDepth = 64;

/// Parse standard JSON (RFC 8259) and nothing more: a byte order mark, a comment, a trailing
/// comma, NaN, a duplicate key or a number beyond double range is an error. Lenient options turn a
/// duplicate key into a warning, and its last value counts.
/// `document` and `root` (a JSON pointer) name the place in messages. Throws SpecError.
JsonValue parse_json(const std::string& text, const std::string& document, const std::string& root,
                     const ReadOptions& options = {});

}  // namespace nvalchemi

#endif
