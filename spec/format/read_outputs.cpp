// SPDX-License-Identifier: GPL-2.0-only
#include "spec/format/read_outputs.hpp"

#include "spec/format/read_values.hpp"
#include "spec/format_names.hpp"

namespace nvalchemi {

namespace {

const char* const kPair = "a pair [name, kind]";
const char* const kPairs = "an array of [name, kind] pairs";

void read_reductions(const JsonCursor& spec, MLIPSpec& result, const Doubts& doubts) {
    for (const auto& [name, place] : read_sorted_names(spec, "owned_only_outputs", doubts)) {
        result.owned_only_outputs.insert(name);
    }
    for (const auto& [name, place] : read_sorted_names(spec, "all_reduce_outputs", doubts)) {
        if (result.owned_only_outputs.contains(name)) {
            doubts.raise(place,
                         "got " + in_quotes(name) +
                             ", which is in \"owned_only_outputs\" too, expected it in one of the "
                             "two (sum it over ranks or keep owned rows, not both)",
                         "kept in both");
        }
        result.all_reduce_outputs.insert(name);
    }
}

/// "unknown" is understood, and never offered.
OutputKind read_kind(const JsonCursor& place, const Doubts& doubts) {
    const char* const unknown = name_of(OutputKind::Unknown);
    std::vector<std::string> known = names_in(kOutputKinds);
    std::erase(known, unknown);
    if (!place.is_string() || place.as_string() != unknown)
        return place.as_one_of(kOutputKinds, known);
    doubts.raise(place,
                 place.mismatch("one of " + quoted_list(known),
                                "say what the output is: a guess from its number of rows can "
                                "be wrong"),
                 "kept");
    return OutputKind::Unknown;
}

void read_pair(const JsonCursor& item, MLIPSpec& result, const Doubts& doubts) {
    if (!item.is_array()) item.refuse(kPair);
    const std::vector<JsonCursor> pair = item.as_array_of("two strings");
    if (pair.size() != 2) item.refuse(kPair);
    const std::string name = read_text(pair[0], doubts);
    const OutputKind kind = read_kind(pair[1], doubts);
    if (result.output_kinds.contains(name)) {
        doubts.raise(item,
                     "got output " + in_quotes(name) +
                         " a second time, expected each output once (remove one of the two)",
                     "the last one counts");
    }
    result.output_kinds[name] = kind;
}

void read_pairs(const JsonCursor& kinds, MLIPSpec& result, const Doubts& doubts) {
    std::string previous;
    bool is_sorted = true;
    for (const JsonCursor& item : kinds.as_array_of("[name, kind] pairs")) {
        read_pair(item, result, doubts);
        const std::string name = item.as_array_of("two strings")[0].as_string();
        if (is_sorted) is_sorted = !raise_if_unsorted(item, name, previous, doubts);
        previous = name;
    }
}

void read_output_kinds(const JsonCursor& kinds, MLIPSpec& result, const Doubts& doubts) {
    if (kinds.is_null()) {
        doubts.raise(kinds, kinds.mismatch(kPairs, "write [] for none"), "taken as none");
    } else if (kinds.is_object()) {
        doubts.raise(
            kinds,
            kinds.mismatch(kPairs,
                           "write {\"energy\": \"per_graph\"} as [[\"energy\", \"per_graph\"]]"),
            "taken as pairs");
        for (const auto& [name, kind] : kinds.members()) {
            result.output_kinds[name] = read_kind(kind, doubts);
        }
    } else {
        read_pairs(kinds, result, doubts);
    }
}

}  // namespace

void read_outputs(const JsonCursor& spec, MLIPSpec& result, const Doubts& doubts) {
    read_reductions(spec, result, doubts);
    if (const auto kinds = spec.find("output_kinds")) read_output_kinds(*kinds, result, doubts);
}

}  // namespace nvalchemi
