// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/card/card_constant.hpp"

#include <algorithm>
#include <cmath>

#include "potentials/card/card_shape.hpp"

namespace nvalchemi {

namespace {

/// Up to here a double holds every integer.
constexpr std::int64_t kLargestExactInteger = std::int64_t{1} << 53;

struct ElementKinds {
    bool floating = false, integer = false, boolean = false;
};

void append_element(const JsonCursor& element, ConstantValue& result, ElementKinds& seen) {
    if (element.is_bool()) {
        seen.boolean = true;
        result.numbers.push_back(element.as_bool() ? 1 : 0);
    } else if (element.is_integer()) {
        seen.integer = true;
        const std::int64_t number = element.as_integer();
        if (number > kLargestExactInteger || number < -kLargestExactInteger) {
            element.refuse("an integer of at most 2^53 in magnitude");
        }
        result.numbers.push_back(static_cast<double>(number));
    } else if (element.is_number()) {
        seen.floating = true;
        result.numbers.push_back(element.as_number());
    } else {
        element.refuse("a number or a boolean");
    }
}

/// Row-major walk. The first array met at each depth fixes that dimension.
void append(const JsonCursor& value, std::size_t depth, ConstantValue& result, ElementKinds& seen) {
    const bool is_leaf_depth = depth >= result.shape.size();
    if (!value.is_array()) {
        if (!is_leaf_depth)
            value.refuse("an array like its neighbors", "make the array rectangular");
        append_element(value, result, seen);
        return;
    }
    const std::vector<JsonCursor> items = value.as_array_of("numbers");
    const auto length = static_cast<std::int64_t>(items.size());
    if (is_leaf_depth) {
        if (!result.numbers.empty()) {
            value.refuse("a number like its neighbors", "make the array rectangular");
        }
        result.shape.push_back(length);
    } else if (result.shape[depth] != length) {
        value.refuse(std::to_string(result.shape[depth]) + " elements like its neighbors",
                     "make the array rectangular");
    }
    for (const JsonCursor& item : items) append(item, depth + 1, result, seen);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string text;
    for (const std::int64_t dimension : shape) {
        text += (text.empty() ? "" : ",") + std::to_string(dimension);
    }
    return "(" + text + ")";
}

}  // namespace

ConstantValue read_card_constant(const JsonCursor& value) {
    ConstantValue result;
    ElementKinds seen;
    result.is_scalar = !value.is_array();
    append(value, 0, result, seen);
    if (seen.boolean && (seen.integer || seen.floating)) {
        value.fail("got booleans and numbers in one constant, expected one kind");
    }
    if (seen.boolean) {
        result.kind = ElementKind::Boolean;
    } else if (seen.integer && !seen.floating) {
        result.kind = ElementKind::Integer;
    }
    return result;
}

void check_constant_shape(const JsonCursor& place, const std::vector<std::int64_t>& shape,
                          const ConstantValue& value) {
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; })) {
        place.refuse("a shape of numbers", "a constant does not depend on the system");
    }
    if (fixed_element_count(shape) == static_cast<std::int64_t>(value.numbers.size())) return;
    place.refuse("a shape of " + std::to_string(value.numbers.size()) +
                     " elements, as many as the value has",
                 "the value itself has shape " + shape_text(value.shape));
}

}  // namespace nvalchemi
