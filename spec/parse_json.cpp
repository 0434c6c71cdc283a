// SPDX-License-Identifier: GPL-2.0-only
#include "spec/parse_json.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "spec/format/doubts.hpp"
#include "spec/spec_error.hpp"

namespace nvalchemi {

namespace {

const char* const kStandard =
    "standard JSON (RFC 8259): one value, double-quoted strings, no comments, no trailing commas, "
    "no NaN or Infinity";

const char* const kDoubleRange = "a number within the range of double precision";

struct TextPosition {
    std::size_t line = 1;
    std::size_t column = 1;
};

TextPosition position_of_byte(const std::string& text, std::size_t byte) {
    TextPosition position;
    for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
        if (text[i] == '\n') {
            ++position.line;
            position.column = 1;
        } else {
            ++position.column;
        }
    }
    return position;
}

/// The end of what the parser has read: the offending byte is its last.
std::string last_bytes(const std::string& token) {
    constexpr std::size_t kShown = 40;
    if (token.size() <= kShown) return token;
    std::size_t start = token.size() - kShown;
    while (start < token.size() && (static_cast<unsigned char>(token[start]) & 0xC0U) == 0x80U) {
        ++start;
    }
    return token.substr(start);
}

/// Builds the tree from the parser's events. Every problem is thrown as a SpecError from here, so
/// that no text of the parsing library reaches a user.
class TreeBuilder {
  public:
    using number_integer_t = nlohmann::json::number_integer_t;
    using number_unsigned_t = nlohmann::json::number_unsigned_t;
    using number_float_t = nlohmann::json::number_float_t;
    using string_t = nlohmann::json::string_t;
    using binary_t = nlohmann::json::binary_t;

    TreeBuilder(const std::string& text, const std::string& document, const std::string& root,
                const ReadOptions& options)
        : text_(text), document_(document), root_(root), doubts_(options) {}

    bool null() { return add({}); }
    bool boolean(bool value) { return add({value}); }
    bool number_integer(number_integer_t value) { return add({std::int64_t{value}}); }
    bool number_unsigned(number_unsigned_t value) {
        constexpr auto kLargest =
            static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
        if (value > kLargest) return add({static_cast<double>(value)});
        return add({static_cast<std::int64_t>(value)});
    }
    bool number_float(number_float_t value, const string_t&) { return add({value}); }
    bool string(string_t& value) { return add({std::move(value)}); }
    bool binary(binary_t&) { return false; }  // never produced from text

    bool start_object(std::size_t) { return open({JsonObject{}}); }
    bool start_array(std::size_t) { return open({JsonArray{}}); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }

    bool key(string_t& name) {
        Level& level = open_.back();
        const std::size_t next = std::get<JsonObject>(level.container.content).size();
        if (!level.members.emplace(name, next).second) {
            doubts_.raise(document_, json_pointer_child(pointer(), name),
                          "got the key " + in_quotes(name) +
                              " twice, expected each key once (remove one of the two)",
                          "its last value counts");
        }
        level.key = std::move(name);
        return true;
    }

    bool parse_error(std::size_t byte, const std::string& last_token,
                     const nlohmann::json::exception& error) {
        constexpr int kNumberOverflow = 406;
        const TextPosition position = position_of_byte(text_, byte);
        const bool at_end = byte > text_.size() || last_token.empty();
        throw SpecError(document_, root_,
                        "got " +
                            (at_end ? "the end of the text"
                                    : "text near " + in_quotes(last_bytes(last_token))) +
                            " at line " + std::to_string(position.line) + ", column " +
                            std::to_string(position.column) + " (byte " + std::to_string(byte) +
                            "), expected " +
                            (error.id == kNumberOverflow ? kDoubleRange : kStandard));
    }

    JsonValue take() { return std::move(*result_); }

  private:
    struct Level {
        JsonValue container;
        std::string key;  ///< of the member being read, for objects
        std::unordered_map<std::string, std::size_t> members;  ///< place of each key so far
    };

    /// JSON pointer of the innermost open container.
    std::string pointer() const {
        std::string result = root_;
        for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
            const Level& level = open_[i];
            const auto* array = std::get_if<JsonArray>(&level.container.content);
            result = json_pointer_child(result, array ? std::to_string(array->size()) : level.key);
        }
        return result;
    }

    bool open(JsonValue container) {
        if (open_.size() >= kMaxJsonDepth) {
            throw SpecError(document_, root_,
                            "got arrays or objects nested deeper than " +
                                std::to_string(kMaxJsonDepth) + " levels, expected fewer");
        }
        open_.push_back({std::move(container), {}, {}});
        return true;
    }

    bool close() {
        JsonValue finished = std::move(open_.back().container);
        open_.pop_back();
        return add(std::move(finished));
    }

    bool add(JsonValue value) {
        if (open_.empty()) {
            result_ = std::move(value);
        } else if (auto* array = std::get_if<JsonArray>(&open_.back().container.content)) {
            array->push_back(std::move(value));
        } else {
            set_member(open_.back(), std::move(value));
        }
        return true;
    }

    static void set_member(Level& level, JsonValue value) {
        auto& object = std::get<JsonObject>(level.container.content);
        const std::size_t place = level.members.at(level.key);
        if (place == object.size()) {
            object.emplace_back(std::move(level.key), std::move(value));
        } else {
            object[place].second = std::move(value);
        }
    }

    const std::string& text_;
    const std::string& document_;
    const std::string& root_;
    Doubts doubts_;
    std::vector<Level> open_;
    std::optional<JsonValue> result_;
};

}  // namespace

JsonValue parse_json(const std::string& text, const std::string& document, const std::string& root,
                     const ReadOptions& options) {
    // The parsing library skips a byte order mark without a word.
    if (text.starts_with("\xEF\xBB\xBF")) {
        throw SpecError(document, root,
                        "got a byte order mark at line 1, column 1 (byte 1), expected UTF-8 "
                        "without one (save the file as plain UTF-8)");
    }
    // It ends a text for the parsing library, which would leave what follows unread.
    if (const std::size_t nul = text.find('\0'); nul != std::string::npos) {
        const TextPosition position = position_of_byte(text, nul + 1);
        throw SpecError(document, root,
                        "got a NUL byte at line " + std::to_string(position.line) + ", column " +
                            std::to_string(position.column) + " (byte " + std::to_string(nul + 1) +
                            "), expected text (is it UTF-16, or damaged?)");
    }
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
        throw SpecError(document, root,
                        "got an empty text, expected a JSON object (is the file complete?)");
    }
    TreeBuilder builder(text, document, root, options);
    nlohmann::json::sax_parse(text, &builder);
    return builder.take();
}

}  // namespace nvalchemi
