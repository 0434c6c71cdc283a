// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_JSON_CURSOR_HPP
#define NVALCHEMI_SPEC_JSON_CURSOR_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "spec/json_value.hpp"
#include "spec/named_value.hpp"
#include "spec/read_options.hpp"

namespace nvalchemi {

/// A place in a parsed document: knows the document's name and its own JSON pointer, reads
/// strictly (no conversion between types) and throws SpecError naming both. Copies share the
/// document and are cheap.
class JsonCursor {
  public:
    /// Parse `text`; `root` is the pointer under which its top value is reported. Lenient options
    /// accept a key that occurs twice in one object; nothing else here depends on them.
    static JsonCursor parse(const std::string& text, const std::string& document,
                            const std::string& root = "", const ReadOptions& options = {});

    const std::string& document() const;
    const std::string& pointer() const { return pointer_; }

    bool is_null() const;
    bool is_bool() const;
    bool is_integer() const;
    bool is_number() const;  ///< integer or not
    bool is_string() const;
    bool is_array() const;
    bool is_object() const;

    bool as_bool() const;
    std::int64_t as_integer() const;
    double as_number() const;
    const std::string& as_string() const;
    std::string as_nonempty_string() const;
    /// The elements of an array; `what` they are appears in the message.
    std::vector<JsonCursor> as_array_of(const std::string& what) const;
    /// An array of distinct, non-empty strings.
    std::vector<std::string> as_names() const;
    /// One of the strings of `table`.
    template <typename Value, std::size_t N>
    Value as_one_of(const std::array<NamedValue<Value>, N>& table) const {
        std::vector<std::string> known;
        for (const auto& entry : table) known.emplace_back(entry.name);
        return as_one_of(table, known);
    }
    /// The same, where a refusal offers `known` alone.
    template <typename Value, std::size_t N>
    Value as_one_of(const std::array<NamedValue<Value>, N>& table,
                    const std::vector<std::string>& known) const {
        for (const auto& entry : table)
            if (is_string() && as_string() == entry.name) return entry.value;
        refuse_other_than(known);
    }

    /// The members of an object in the order of the text: key, value.
    std::vector<std::pair<std::string, JsonCursor>> members() const;
    /// The members of an object whose keys are not in `known`.
    std::vector<JsonCursor> unknown_members(const std::vector<std::string>& known) const;
    /// `got the unknown key <last token of the pointer>, expected one of <known>`.
    std::string unknown_key_problem(const std::vector<std::string>& known) const;
    /// Refuse every key of this object that is not in `known`.
    void allow_only(const std::vector<std::string>& known) const;
    /// The member of this object, which must be there. `remedy` ends the message.
    JsonCursor at(const std::string& key, const std::string& remedy = "") const;
    std::optional<JsonCursor> find(const std::string& key) const;

    /// `got <this value>, expected <expected> (<remedy>)`, as text or thrown.
    std::string mismatch(const std::string& expected, const std::string& remedy = "") const;
    [[noreturn]] void refuse(const std::string& expected, const std::string& remedy = "") const;
    /// `got <this value>, expected one of <known>`.
    [[noreturn]] void refuse_other_than(const std::vector<std::string>& known) const;
    /// A problem in words of the caller.
    [[noreturn]] void fail(const std::string& problem) const;

  private:
    struct Document;
    JsonCursor(std::shared_ptr<const Document> document, const JsonValue* value,
               std::string pointer, std::string key = "");
    JsonCursor child(const std::string& token, const JsonValue& value) const;
    const JsonObject& object() const;

    std::shared_ptr<const Document> document_;
    const JsonValue* value_;
    std::string pointer_;
    std::string key_;  ///< last token of the pointer, without its escapes
};

}  // namespace nvalchemi

#endif
