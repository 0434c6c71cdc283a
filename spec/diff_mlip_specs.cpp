// SPDX-License-Identifier: GPL-2.0-only
#include "spec/diff_mlip_specs.hpp"

#include <algorithm>
#include <utility>

#include "spec/format/encode_mlip_spec.hpp"
#include "spec/write_json.hpp"

namespace nvalchemi {

namespace {

const char* const kAbsent = "absent";

std::string one_line(const JsonValue& value) { return write_json(value, JsonLayout::OneLine); }

const JsonValue* find_member(const JsonObject& object, const std::string& key) {
    for (const auto& [name, value] : object) {
        if (name == key) return &value;
    }
    return nullptr;
}

/// What an element of a list is about: the operator, the replaced code, the output.
std::string subject_of(const JsonValue& element) {
    if (const auto* pair = std::get_if<JsonArray>(&element.content)) return one_line(pair->front());
    const auto* object = std::get_if<JsonObject>(&element.content);
    if (!object) return one_line(element);
    std::string subject;
    for (const char* key :
         {"op", "kind", "module_path", "class_name", "attr_name", "method_name", "target"}) {
        if (const JsonValue* part = find_member(*object, key)) subject += one_line(*part);
    }
    return subject;
}

class Differ {
  public:
    void compare(const std::string& pointer, const JsonValue& left, const JsonValue& right) {
        const auto* left_object = std::get_if<JsonObject>(&left.content);
        const auto* right_object = std::get_if<JsonObject>(&right.content);
        const auto* left_array = std::get_if<JsonArray>(&left.content);
        const auto* right_array = std::get_if<JsonArray>(&right.content);
        if (left_object && right_object) {
            compare_objects(pointer, *left_object, *right_object);
        } else if (left_array && right_array && !(is_flat(left) && is_flat(right))) {
            compare_lists(pointer, *left_array, *right_array);
        } else if (one_line(left) != one_line(right)) {
            add(pointer, one_line(left), one_line(right));
        }
    }

    std::vector<SpecDifference> take() { return std::move(differences_); }

  private:
    void add(const std::string& pointer, const std::string& left, const std::string& right) {
        differences_.push_back({pointer, left, right});
    }

    /// An array of plain values is shown as a whole.
    static bool is_flat(const JsonValue& value) {
        const auto& array = std::get<JsonArray>(value.content);
        return std::none_of(array.begin(), array.end(), [](const JsonValue& element) {
            return std::holds_alternative<JsonArray>(element.content) ||
                   std::holds_alternative<JsonObject>(element.content);
        });
    }

    void compare_objects(const std::string& pointer, const JsonObject& left,
                         const JsonObject& right) {
        for (const auto& [key, value] : left) {
            const std::string place = json_pointer_child(pointer, key);
            if (const JsonValue* other = find_member(right, key)) {
                compare(place, value, *other);
            } else {
                add(place, one_line(value), kAbsent);
            }
        }
        for (const auto& [key, value] : right) {
            if (!find_member(left, key)) {
                add(json_pointer_child(pointer, key), kAbsent, one_line(value));
            }
        }
    }

    /// Match elements by subject, repeated ones in their order.
    void compare_lists(const std::string& pointer, const JsonArray& left, const JsonArray& right) {
        std::vector<std::size_t> partners;  // of the matched left elements, in right
        std::vector<bool> is_matched(right.size(), false);
        const std::size_t before = differences_.size();
        for (std::size_t i = 0; i < left.size(); ++i) {
            const std::string place = json_pointer_child(pointer, std::to_string(i));
            const std::size_t partner = first_unmatched(right, is_matched, subject_of(left[i]));
            if (partner == right.size()) {
                add(place, one_line(left[i]), kAbsent);
                continue;
            }
            is_matched[partner] = true;
            partners.push_back(partner);
            compare(place, left[i], right[partner]);
        }
        for (std::size_t j = 0; j < right.size(); ++j) {
            const std::string place = json_pointer_child(pointer, std::to_string(j));
            if (!is_matched[j]) add(place, kAbsent, one_line(right[j]));
        }
        if (differences_.size() == before && !std::is_sorted(partners.begin(), partners.end())) {
            add(pointer, one_line(JsonValue{left}), one_line(JsonValue{right}));
        }
    }

    static std::size_t first_unmatched(const JsonArray& elements,
                                       const std::vector<bool>& is_matched,
                                       const std::string& subject) {
        std::size_t j = 0;
        while (j < elements.size() && (is_matched[j] || subject_of(elements[j]) != subject)) ++j;
        return j;
    }

    std::vector<SpecDifference> differences_;
};

}  // namespace

std::vector<SpecDifference> spec_diff(const MLIPSpec& left, const MLIPSpec& right) {
    Differ differ;
    differ.compare("", encode_mlip_spec(left), encode_mlip_spec(right));
    return differ.take();
}

}  // namespace nvalchemi
