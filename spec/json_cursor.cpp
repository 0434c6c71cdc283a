// SPDX-License-Identifier: GPL-2.0-only
#include "spec/json_cursor.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "spec/parse_json.hpp"
#include "spec/spec_error.hpp"

namespace nvalchemi {

struct JsonCursor::Document {
    std::string name;
    JsonValue value;
};

JsonCursor::JsonCursor(std::shared_ptr<const Document> document, const JsonValue* value,
                       std::string pointer, std::string key)
    : document_(std::move(document)),
      value_(value),
      pointer_(std::move(pointer)),
      key_(std::move(key)) {}

JsonCursor JsonCursor::parse(const std::string& text, const std::string& document,
                             const std::string& root, const ReadOptions& options) {
    auto parsed = std::make_shared<const Document>(
        Document{document, parse_json(text, document, root, options)});
    const JsonValue* top = &parsed->value;
    return JsonCursor(std::move(parsed), top, root);
}

const std::string& JsonCursor::document() const { return document_->name; }

bool JsonCursor::is_null() const { return std::holds_alternative<std::monostate>(value_->content); }

bool JsonCursor::is_bool() const { return std::holds_alternative<bool>(value_->content); }

bool JsonCursor::is_integer() const {
    return std::holds_alternative<std::int64_t>(value_->content);
}

bool JsonCursor::is_number() const {
    return is_integer() || std::holds_alternative<double>(value_->content);
}

bool JsonCursor::is_string() const { return std::holds_alternative<std::string>(value_->content); }

bool JsonCursor::is_array() const { return std::holds_alternative<JsonArray>(value_->content); }

bool JsonCursor::is_object() const { return std::holds_alternative<JsonObject>(value_->content); }

bool JsonCursor::as_bool() const {
    if (!is_bool()) refuse("true or false");
    return std::get<bool>(value_->content);
}

std::int64_t JsonCursor::as_integer() const {
    if (!is_integer()) refuse("an integer");
    return std::get<std::int64_t>(value_->content);
}

double JsonCursor::as_number() const {
    if (!is_number()) refuse("a number");
    if (is_integer()) return static_cast<double>(std::get<std::int64_t>(value_->content));
    return std::get<double>(value_->content);
}

const std::string& JsonCursor::as_string() const {
    if (!is_string()) refuse("a string");
    return std::get<std::string>(value_->content);
}

std::string JsonCursor::as_nonempty_string() const {
    if (as_string().empty()) refuse("a string that is not empty");
    return as_string();
}

std::vector<JsonCursor> JsonCursor::as_array_of(const std::string& what) const {
    if (!is_array()) refuse("an array of " + what);
    std::vector<JsonCursor> items;
    for (const JsonValue& item : std::get<JsonArray>(value_->content)) {
        items.push_back(child(std::to_string(items.size()), item));
    }
    return items;
}

std::vector<std::string> JsonCursor::as_names() const {
    std::vector<std::string> names;
    std::set<std::string> seen;
    for (const JsonCursor& item : as_array_of("strings")) {
        names.push_back(item.as_nonempty_string());
        if (!seen.insert(names.back()).second) {
            item.fail("got " + in_quotes(names.back()) +
                      " a second time, expected each name once (remove one of the two)");
        }
    }
    return names;
}

std::vector<std::pair<std::string, JsonCursor>> JsonCursor::members() const {
    std::vector<std::pair<std::string, JsonCursor>> result;
    for (const auto& [key, value] : object()) result.emplace_back(key, child(key, value));
    return result;
}

std::vector<JsonCursor> JsonCursor::unknown_members(const std::vector<std::string>& known) const {
    std::vector<JsonCursor> unknown;
    for (const auto& [key, value] : object()) {
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            unknown.push_back(child(key, value));
        }
    }
    return unknown;
}

std::string JsonCursor::unknown_key_problem(const std::vector<std::string>& known) const {
    return "got the unknown key " + in_quotes(key_) + ", expected " +
           (known.size() > 1 ? "one of " : "only ") + quoted_list(known);
}

void JsonCursor::allow_only(const std::vector<std::string>& known) const {
    for (const JsonCursor& member : unknown_members(known)) {
        member.fail(member.unknown_key_problem(known));
    }
}

JsonCursor JsonCursor::at(const std::string& key, const std::string& remedy) const {
    if (const std::optional<JsonCursor> member = find(key)) return *member;
    fail("got no key " + in_quotes(key) + ", expected one" +
         (remedy.empty() ? "" : " (" + remedy + ")"));
}

std::optional<JsonCursor> JsonCursor::find(const std::string& key) const {
    for (const auto& [name, value] : object()) {
        if (name == key) return child(name, value);
    }
    return std::nullopt;
}

std::string JsonCursor::mismatch(const std::string& expected, const std::string& remedy) const {
    return "got " + describe(*value_) + ", expected " + expected +
           (remedy.empty() ? "" : " (" + remedy + ")");
}

void JsonCursor::refuse(const std::string& expected, const std::string& remedy) const {
    fail(mismatch(expected, remedy));
}

void JsonCursor::refuse_other_than(const std::vector<std::string>& known) const {
    refuse((known.size() > 1 ? "one of " : "") + quoted_list(known));
}

void JsonCursor::fail(const std::string& problem) const {
    throw SpecError(document_->name, pointer_, problem);
}

JsonCursor JsonCursor::child(const std::string& token, const JsonValue& value) const {
    return JsonCursor(document_, &value, json_pointer_child(pointer_, token), token);
}

const JsonObject& JsonCursor::object() const {
    if (!is_object()) refuse("an object");
    return std::get<JsonObject>(value_->content);
}

}  // namespace nvalchemi
