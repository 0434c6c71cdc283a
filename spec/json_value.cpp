// SPDX-License-Identifier: GPL-2.0-only
#include "spec/json_value.hpp"

#include <charconv>

namespace nvalchemi {

namespace {

constexpr std::size_t kQuotedBytes = 60;

std::string shortest_decimal(double number) {
    char buffer[32];
    const auto result = std::to_chars(buffer, buffer + sizeof(buffer), number);
    return std::string(buffer, result.ptr);
}

/// Length of the longest prefix of at most `limit` bytes that cuts no UTF-8 sequence.
std::size_t prefix_length(const std::string& text, std::size_t limit) {
    if (text.size() <= limit) return text.size();
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
    return limit;
}

/// Bytes of the UTF-8 sequence that starts at `at`; 0 if none does (RFC 3629).
std::size_t sequence_length(const std::string& text, std::size_t at) {
    const auto byte = [&](std::size_t k) {
        return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U;
    };
    const unsigned lead = byte(at), second = byte(at + 1);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    for (std::size_t k = 1; k < length; ++k)
        if ((byte(at + k) & 0xC0U) != 0x80U) return 0;
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool surrogate = lead == 0xED && second > 0x9F;
    const bool too_large = lead == 0xF4 && second > 0x8F;
    return overlong || surrogate || too_large ? 0 : length;
}

std::string counted(std::size_t count, const std::string& singular) {
    return std::to_string(count) + " " + singular + (count == 1 ? "" : "s");
}

struct Describe {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const {
        const std::string text = shortest_decimal(value);
        // 2.0 must not read like the integer 2, which may be what the reader asks for.
        return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
    }
    std::string operator()(const std::string& value) const { return in_quotes(value); }
    std::string operator()(const JsonArray& value) const {
        return value.empty() ? "an empty array" : "an array of " + counted(value.size(), "element");
    }
    std::string operator()(const JsonObject& value) const {
        return value.empty() ? "an empty object" : "an object of " + counted(value.size(), "key");
    }
};

}  // namespace

std::string json_pointer_child(const std::string& pointer, const std::string& token) {
    std::string child = pointer + "/";
    for (const char c : token) {
        if (c == '~') {
            child += "~0";
        } else if (c == '/') {
            child += "~1";
        } else {
            child += c;
        }
    }
    return child;
}

std::string printable(const std::string& text) {
    constexpr char kHex[] = "0123456789abcdef";
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const std::size_t length = sequence_length(text, at);
        if (length == 0 || byte < 0x20 || byte == 0x7F)
            result += std::string("\\x") + kHex[byte >> 4] + kHex[byte & 0xF];
        else
            result += text.substr(at, length);
        at += length == 0 ? 1 : length;
    }
    return result;
}

std::string in_quotes(const std::string& text) {
    const std::size_t length = prefix_length(text, kQuotedBytes);
    std::string escaped;
    for (const char c : text.substr(0, length)) {
        if (c == '"' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return "\"" + printable(escaped) + (length < text.size() ? "...\"" : "\"");
}

std::string describe(const JsonValue& value) { return std::visit(Describe{}, value.content); }

std::string quoted_list(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + in_quotes(name);
    return list;
}

}  // namespace nvalchemi
