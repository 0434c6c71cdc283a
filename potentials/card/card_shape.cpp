// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/card/card_shape.hpp"

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace nvalchemi {

namespace {

constexpr std::int64_t kLargestDimension = std::numeric_limits<std::int32_t>::max();

std::string_view without_spaces_around(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<std::int64_t> dimension_of(std::string_view text) {
    if (text == "rows") return kRowsDimension;
    if (text == "edges") return kEdgesDimension;
    if (text == "neighbors") return kNeighborsDimension;
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || number < 0 || number > kLargestDimension) {
        return std::nullopt;
    }
    return number;
}

/// The dimensions between the parentheses; a comma after the last one is allowed, as in "(3,)".
std::optional<std::vector<std::int64_t>> dimensions_of(std::string_view inside) {
    std::vector<std::int64_t> dimensions;
    while (!without_spaces_around(inside).empty()) {
        const std::size_t comma = inside.find(',');
        const auto dimension = dimension_of(without_spaces_around(inside.substr(0, comma)));
        if (!dimension) return std::nullopt;
        dimensions.push_back(*dimension);
        if (comma == std::string_view::npos) break;
        inside.remove_prefix(comma + 1);
    }
    return dimensions;
}

}  // namespace

std::vector<std::int64_t> read_card_shape(const JsonCursor& shape) {
    const char* const expected =
        "a shape such as \"(rows,3)\", \"(edges,3)\", \"(1,3,3)\" or \"()\" for a scalar";
    if (!shape.is_string()) shape.refuse(expected);
    const std::string_view text = without_spaces_around(shape.as_string());
    if (text.size() < 2 || text.front() != '(' || text.back() != ')') shape.refuse(expected);
    const auto dimensions = dimensions_of(text.substr(1, text.size() - 2));
    if (!dimensions) shape.refuse(expected);
    return *dimensions;
}

std::int64_t fixed_element_count(const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const std::int64_t dimension : shape) {
        if (dimension < 0) continue;
        // Saturate: no declared tensor is that large, and the product must not overflow.
        if (dimension > 0 && count > kLargestDimension / dimension) return kLargestDimension;
        count *= dimension;
    }
    return count;
}

}  // namespace nvalchemi
