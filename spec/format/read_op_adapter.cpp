// SPDX-License-Identifier: GPL-2.0-only
#include "spec/format/read_op_adapter.hpp"

#include <algorithm>
#include <cctype>

#include "spec/format/read_values.hpp"
#include "spec/format_names.hpp"

namespace nvalchemi {

namespace {

constexpr std::size_t kMaxPositionDigits = 9;

bool is_identifier(const std::string& text) {
    const auto is_word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
           std::all_of(text.begin(), text.end(), is_word);
}

std::string read_operator_name(const JsonCursor& op) {
    const std::string expected = "an operator name \"<namespace>::<name>\"";
    if (!op.is_string()) op.refuse(expected);
    const std::string& name = op.as_string();
    const std::size_t colons = name.find("::");
    if (colons == std::string::npos) {
        op.refuse(expected, "add the namespace that the operator is registered in");
    }
    const std::string local = name.substr(colons + 2);
    if (is_identifier(name.substr(0, colons)) && is_identifier(local)) return name;
    op.refuse(expected, local.find('.') == std::string::npos
                            ? "letters, digits and underscores on either side of one \"::\""
                            : "an adapter is for the default overload: leave out the dot and what "
                              "follows it");
}

/// The integer that int() of Python makes of `text`, as plain digits with an optional minus sign;
/// empty if it makes none.
std::string python_integer(const std::string& text) {
    const char* const blanks = " \t\n\r\f\v";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string::npos) return "";
    std::string rest = text.substr(first, text.find_last_not_of(blanks) + 1 - first);
    const bool negative = rest[0] == '-';
    if (negative || rest[0] == '+') rest.erase(0, 1);
    std::string digits;
    bool after_digit = false;
    for (const char c : rest) {
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && !(c == '_' && after_digit)) return "";
        if (is_digit) digits += c;
        after_digit = is_digit;
    }
    if (!after_digit) return "";
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
    return (negative && digits != "0" ? "-" : "") + digits;
}

/// Digits that need no remark: not negative, and few enough for an int.
bool is_plain(const std::string& digits) {
    return !digits.empty() && digits[0] != '-' && digits.size() <= kMaxPositionDigits;
}

int read_position(const JsonCursor& record, const std::string& text, const Doubts& doubts) {
    const std::string digits = python_integer(text);
    if (digits == text && is_plain(digits)) {
        return std::stoi(digits);
    }
    const std::string problem =
        "got the position " + in_quotes(text) +
        ", expected a whole number from 0 in plain digits (positions count from 0)";
    const bool is_negative = !digits.empty() && digits[0] == '-';
    if (digits.empty() || digits.size() > kMaxPositionDigits + is_negative) record.fail(problem);
    if (is_negative) {
        doubts.raise(record, problem, "kept, without effect");
    } else {
        doubts.raise(record, problem, "taken as " + digits);
    }
    return std::stoi(digits);
}

/// The transforms of `table` that have an effect under the policy.
template <typename Type, std::size_t N>
std::vector<std::string> effective_types(const std::array<NamedValue<Type>, N>& table,
                                         PolicyKind policy) {
    std::vector<std::string> names;
    for (const auto& [name, type] : table) {
        if (stores_rows_for(policy, needs_halo(type))) names.emplace_back(name);
    }
    return names;
}

template <typename Type, std::size_t N>
bool is_in(const std::array<NamedValue<Type>, N>& table, const std::string& name) {
    const std::vector<std::string> names = names_in(table);
    return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void refuse_type(const JsonCursor& type, const std::vector<std::string>& known) {
    std::string remedy;
    if (is_in(kArgTransforms, type.as_string())) remedy = "it belongs into \"arg_transforms\"";
    if (is_in(kOutputTransforms, type.as_string())) {
        remedy = "it belongs into \"output_transforms\"";
    }
    type.refuse("one of " + quoted_list(known), remedy);
}

/// A transform that finds no rows to work on under the policy.
template <typename Type, std::size_t N>
void raise_storage(const JsonCursor& place, const std::array<NamedValue<Type>, N>& table, Type type,
                   PolicyKind policy, const Doubts& doubts) {
    const std::vector<std::string> effective = effective_types(table, policy);
    const std::string under = " under policy " + in_quotes(name_of(policy));
    const std::string choice =
        effective.empty() ? "no transform"
                          : (effective.size() > 1 ? "one of " : "") + quoted_list(effective);
    doubts.raise(
        place,
        place.mismatch(choice + under, in_quotes(name_of(type)) + " needs policy " +
                                           (needs_halo(type) ? "\"halo\" or \"refresh_halo\""
                                                             : "\"graph_parallel\"")),
        "kept, without effect" + under);
}

/// The "type" of a transform record, which must belong to the storage of the policy.
template <typename Type, std::size_t N>
Type read_type(const JsonCursor& record, const std::array<NamedValue<Type>, N>& table,
               PolicyKind policy, const Doubts& doubts) {
    if (!record.is_object()) record.refuse("an object with \"type\"");
    const JsonCursor place = record.at("type", "one of " + quoted_list(names_in(table)));
    if (!is_in(table, place.as_string())) refuse_type(place, names_in(table));
    const Type type = place.as_one_of(table);
    if (!stores_rows_for(policy, needs_halo(type))) {
        raise_storage(place, table, type, policy, doubts);
    }
    return type;
}

ArgTransform read_arg_transform(const JsonCursor& record, PolicyKind policy, const Doubts& doubts) {
    const ArgTransform result = read_type(record, kArgTransforms, policy, doubts);
    record.allow_only({"type"});
    return result;
}

OutputTransform read_output_transform(const JsonCursor& record, PolicyKind policy,
                                      const Doubts& doubts) {
    OutputTransform result;
    result.kind = read_type(record, kOutputTransforms, policy, doubts);
    if (result.kind != OutputTransform::Kind::AllReduceSum) {
        record.allow_only({"type"});
        return result;
    }
    record.allow_only({"type", "replicated_consumer"});
    result.replicated_consumer = read_flag(record, "replicated_consumer", false, doubts);
    if (result.replicated_consumer) {
        doubts.note(record.at("replicated_consumer"),
                    "got true, which is kept but has no effect: the adjoint of a sum over ranks "
                    "is a sum over ranks here in any case");
    }
    return result;
}

/// The transforms of one side of an operator, by position.
template <typename Read>
auto read_transforms(const JsonCursor& adapter, const std::string& key, PolicyKind policy,
                     const Doubts& doubts, const Read& read) {
    std::map<int, decltype(read(adapter, policy, doubts))> result;
    const auto transforms = adapter.find(key);
    if (!transforms) return result;
    if (!transforms->is_object())
        transforms->refuse("an object with a transform for each position");
    for (const auto& [text, record] : transforms->members()) {
        const int position = read_position(record, text, doubts);
        if (result.contains(position)) {
            doubts.raise(record,
                         "got position " + std::to_string(position) +
                             " a second time, expected each position once",
                         "the last one counts");
        }
        result[position] = read(record, policy, doubts);
    }
    return result;
}

}  // namespace

OpAdapter read_op_adapter(const JsonCursor& adapter, const StoragePolicy& policy,
                          const Doubts& doubts) {
    OpAdapter result;
    result.op =
        read_operator_name(adapter.at("op", "name the operator as \"<namespace>::<name>\""));
    doubts.raise_unknown_keys(adapter, {"op", "arg_transforms", "output_transforms"});
    result.arg_transforms =
        read_transforms(adapter, "arg_transforms", policy.kind, doubts, read_arg_transform);
    result.output_transforms =
        read_transforms(adapter, "output_transforms", policy.kind, doubts, read_output_transform);
    return result;
}

}  // namespace nvalchemi
