// SPDX-License-Identifier: GPL-2.0-only
#include "spec/write_json.hpp"

#include <charconv>
#include <cmath>

#include "spec/spec_error.hpp"

namespace nvalchemi {

namespace {

void append_escape(std::uint32_t unit, std::string& text) {
    constexpr char kHex[] = "0123456789abcdef";
    text += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) text += kHex[(unit >> shift) & 0xFU];
}

[[noreturn]] void refuse_bytes(const std::string& text, std::size_t position) {
    throw SpecError("JSON text", "",
                    "got a string with a byte that is not UTF-8 at position " +
                        std::to_string(position) + " of " + std::to_string(text.size()) +
                        ", expected UTF-8");
}

/// The code point that starts at `position`, which moves behind it.
std::uint32_t next_code_point(const std::string& text, std::size_t& position) {
    const auto lead = static_cast<unsigned char>(text[position]);
    const std::size_t start = position++;
    if (lead < 0x80) return lead;
    const int following = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4) refuse_bytes(text, start);
    std::uint32_t point = lead & (0x3FU >> following);
    for (int i = 0; i < following; ++i) {
        const unsigned char byte = position < text.size() ? text[position] : 0;
        if ((byte & 0xC0U) != 0x80U) refuse_bytes(text, start);
        point = (point << 6) | (byte & 0x3FU);
        ++position;
    }
    constexpr std::uint32_t kSmallest[] = {0x80, 0x800, 0x10000};
    const bool is_surrogate = point >= 0xD800 && point <= 0xDFFF;
    if (point < kSmallest[following - 1] || is_surrogate || point > 0x10FFFF) {
        refuse_bytes(text, start);
    }
    return point;
}

void append_code_point(std::uint32_t point, std::string& text) {
    if (point >= 0x10000) {  // two UTF-16 units
        append_escape(0xD800 + ((point - 0x10000) >> 10), text);
        append_escape(0xDC00 + ((point - 0x10000) & 0x3FFU), text);
    } else if (point < 0x20 || point >= 0x7F) {
        append_escape(point, text);
    } else {
        text += static_cast<char>(point);
    }
}

class Writer {
  public:
    explicit Writer(JsonLayout layout) : layout_(layout) {}

    void operator()(std::monostate) { text_ += "null"; }
    void operator()(bool value) { text_ += value ? "true" : "false"; }
    void operator()(std::int64_t value) { text_ += std::to_string(value); }
    void operator()(double value) {
        char buffer[32];
        const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
        const std::string digits(buffer, result.ptr);
        // 2.0 must not read back as the integer 2.
        text_ += digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
    }
    void operator()(const std::string& value) {
        text_ += '"';
        for (std::size_t position = 0; position < value.size();) {
            const std::uint32_t point = next_code_point(value, position);
            switch (point) {
                case '"': text_ += "\\\""; break;
                case '\\': text_ += "\\\\"; break;
                case '\b': text_ += "\\b"; break;
                case '\f': text_ += "\\f"; break;
                case '\n': text_ += "\\n"; break;
                case '\r': text_ += "\\r"; break;
                case '\t': text_ += "\\t"; break;
                default: append_code_point(point, text_);
            }
        }
        text_ += '"';
    }
    void operator()(const JsonArray& array) {
        open('[', array.empty());
        for (std::size_t i = 0; i < array.size(); ++i) {
            if (i > 0) separate();
            std::visit(*this, array[i].content);
        }
        close(']', array.empty());
    }
    void operator()(const JsonObject& object) {
        open('{', object.empty());
        for (std::size_t i = 0; i < object.size(); ++i) {
            if (i > 0) separate();
            (*this)(object[i].first);
            text_ += ": ";
            std::visit(*this, object[i].second.content);
        }
        close('}', object.empty());
    }

    std::string take() { return std::move(text_); }

  private:
    void break_line() {
        if (layout_ == JsonLayout::Indented) text_ += "\n" + std::string(2 * depth_, ' ');
    }
    void open(char bracket, bool is_empty) {
        text_ += bracket;
        ++depth_;
        if (!is_empty) break_line();
    }
    void separate() {
        text_ += layout_ == JsonLayout::Indented ? "," : ", ";
        break_line();
    }
    void close(char bracket, bool is_empty) {
        --depth_;
        if (!is_empty) break_line();
        text_ += bracket;
    }

    JsonLayout layout_;
    std::size_t depth_ = 0;
    std::string text_;
};

}  // namespace

std::string write_json(const JsonValue& value, JsonLayout layout) {
    Writer writer(layout);
    std::visit(writer, value.content);
    return writer.take();
}

}  // namespace nvalchemi
