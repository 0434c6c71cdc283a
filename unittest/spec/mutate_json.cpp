// SPDX-License-Identifier: GPL-2.0-only
#include "unittest/spec/mutate_json.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "spec/parse_json.hpp"
#include "spec/write_json.hpp"

namespace nvalchemi::testing {

namespace {

/// Strings that can stand for one another: keys, values, and some that are nearly right.
const std::vector<std::vector<std::string>> kKinds = {
    {"version", "core", "system_reductions", "node_energy_key", "node_virial_key",
     "gp_replicate_geometry", "owned_only_outputs", "all_reduce_outputs", "output_kinds", "compile",
     "outputs"},
    {"policy", "custom_ops", "third_party_helpers", "shard_fields"},
    {"kind", "scatter_mode", "gather_mode", "type", "mode", "op", "target", "label"},
    {"static_shapes", "force_strategy", "stress_via_strain", "replicated_consumer", "graph_padder"},
    {"arg_transforms", "output_transforms"},
    {"module_path", "attr_name", "class_name", "method_name", "replacement"},
    {"halo", "refresh_halo", "local", "graph_parallel", "shard"},
    {"halo_correction", "local", "distributed"},
    {"halo_read", "local"},
    {"gather_inputs", "slice_owned", "gather_inputs_full"},
    {"scatter_outputs", "all_reduce_sum", "slice_outputs_owned"},
    {"jit", "python", "method", "module_forward"},
    {"eager", "wrap", "marshal"},
    {"per_node", "per_graph", "global", "unknown"},
    {"model_internal", "framework_from_node_energy", "framework_from_global_energy"},
    {"positions", "charges", "atomic_numbers", "tags", "no_such_field"},
    {"format",
     "format_version",
     "name",
     "family",
     "cutoff",
     "units",
     "dtype",
     "species",
     "species_index",
     "forward",
     "inputs",
     "edges",
     "rows",
     "forces",
     "ops",
     "spec",
     "triplets",
     "reference",
     "expected_exchanges",
     "backward_communicates"},
    {"role", "shape", "value", "requires_grad", "autograd", "sign", "arguments", "style"},
    {"name", "columns", "default", "unit", "dtype", "inputs"},
    {"atom_input", "system_input", "int64"},
    {"receiver_row", "sender_row", "list", "length"},
    {"species_index", "positions", "edge_index", "edge_vectors", "edge_shifts", "cell", "batch",
     "n_rows", "owned_mask", "charges", "total_charge", "constant", "neighbor_matrix"},
    {"folded", "raw"},
    {"float32", "float64", "float16"},
    {"eV", "kcal/mol", "Hartree", "Angstrom", "Bohr"},
    {"dict", "positional"},
    {"minus_dE_dstrain", "dE_dstrain"},
    {"edge_vectors", "positions", "model"},
    {"(rows)", "(rows,3)", "(3,3)", "(1,3,3)", "()", "(rows,", "(-1)", "(99999999999)"},
    {"Na", "Cl", "Xx", "na", "Uuo", "H"},
    {"atomic_energies", "energy", "forces", "stress", "kr\303\244fte", "\xF0\x9F\x98\x80"},
    {"demo::stage1", "a::b", "a::b.c", "a:b", "a::b::c", "::"},
    {"m:f", "m.n:C.f", "m.f", "m:f.<locals>.g", "m:<lambda>", "m:n:f", "m: f", "m:\xC2\xA0"},
    {"0", "1", "2", "10", "999999999", "-1", "01", "+1", " 1", "1_0", "1\n", "1234567890", "x"},
    {"", "\n", std::string(1, '\0')}};

const std::vector<double> kDoubles = {2.0, 0.0, -0.0, 0.5, 1e300, -1e-300};
const std::vector<std::int64_t> kIntegers = {0,
                                             1,
                                             2,
                                             -1,
                                             99,
                                             std::numeric_limits<std::int64_t>::max(),
                                             std::numeric_limits<std::int64_t>::min()};

void collect(JsonValue& value, std::vector<JsonValue*>& places) {
    places.push_back(&value);
    if (auto* array = std::get_if<JsonArray>(&value.content)) {
        for (JsonValue& element : *array) collect(element, places);
    } else if (auto* object = std::get_if<JsonObject>(&value.content)) {
        for (auto& [key, member] : *object) collect(member, places);
    }
}

/// The strings that can stand for `word`; all the odd ones for a word of no kind.
const std::vector<std::string>& kind_of_word(const std::string& word) {
    for (const auto& kind : kKinds) {
        if (std::find(kind.begin(), kind.end(), word) != kind.end()) return kind;
    }
    return kKinds.back();
}

bool is_ascii(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0; });
}

}  // namespace

SpecMutator::SpecMutator(const std::vector<std::string>& valid_texts, std::uint64_t seed)
    : texts_(valid_texts), random_(seed) {
    for (const std::string& text : texts_) trees_.push_back(parse_json(text, "seed", ""));
}

std::string SpecMutator::next() {
    const std::size_t changes = below(2) == 0 ? 1 : 1 + below(4);
    if (below(3) == 0) {
        std::string text = one_of(texts_);
        for (std::size_t i = 0; i < changes; ++i) text = changed_bytes(std::move(text));
        return text;
    }
    JsonValue tree = one_of(trees_);
    for (std::size_t i = 0; i < changes; ++i) change_tree(tree);
    return write_json(tree, below(2) == 0 ? JsonLayout::Indented : JsonLayout::OneLine);
}

void SpecMutator::change_tree(JsonValue& root) {
    std::vector<JsonValue*> places;
    collect(root, places);
    JsonValue& place = *one_of(places);
    auto* object = std::get_if<JsonObject>(&place.content);
    auto* array = std::get_if<JsonArray>(&place.content);
    if (object && !object->empty() && below(4) != 0) {
        change_object(*object);
    } else if (array && !array->empty() && below(4) != 0) {
        change_array(*array);
    } else {
        change_leaf(place);
    }
}

void SpecMutator::change_object(JsonObject& object) {
    const std::size_t chosen = below(object.size());
    switch (below(5)) {
        case 0: object.erase(object.begin() + static_cast<std::ptrdiff_t>(chosen)); break;
        case 1: object.emplace_back(any_word(), any_value()); break;
        case 2: object[chosen].first = changed_word(object[chosen].first); break;
        case 3: object.push_back(object[chosen]); break;
        default: std::swap(object[chosen], object[below(object.size())]);
    }
}

void SpecMutator::change_array(JsonArray& array) {
    const std::size_t chosen = below(array.size());
    switch (below(4)) {
        case 0: array.erase(array.begin() + static_cast<std::ptrdiff_t>(chosen)); break;
        case 1: array.push_back(array[chosen]); break;
        case 2: array.push_back(any_value()); break;
        default: std::swap(array[chosen], array[below(array.size())]);
    }
}

void SpecMutator::change_leaf(JsonValue& leaf) {
    if (auto* word = std::get_if<std::string>(&leaf.content); word && below(2) == 0) {
        *word = changed_word(*word);
    } else if (auto* flag = std::get_if<bool>(&leaf.content); flag && below(2) == 0) {
        *flag = !*flag;
    } else if (below(20) == 0) {  // deeper than the parser allows, now and then
        for (std::size_t depth = below(80); depth > 0; --depth) leaf = {JsonArray{leaf}};
    } else {
        leaf = any_value();
    }
}

std::string SpecMutator::any_word() { return one_of(one_of(kKinds)); }

std::string SpecMutator::changed_word(std::string word) {
    const std::size_t kind = below(8);
    if (kind < 4) return one_of(kind_of_word(word));
    if (kind == 4 || word.empty() || !is_ascii(word)) return any_word();
    if (kind == 5) return word.substr(0, below(word.size()));
    if (kind == 6) return word + any_word();
    word[below(word.size())] = static_cast<char>(' ' + below(95));
    return word;
}

JsonValue SpecMutator::any_value() {
    switch (below(8)) {
        case 0: return {};
        case 1: return {below(2) == 0};
        case 2: return {one_of(kIntegers)};
        case 3: return {one_of(kDoubles)};
        case 4:
        case 5: return {any_word()};
        case 6: return below(2) == 0 ? JsonValue{JsonArray{}} : JsonValue{JsonObject{}};
        default: break;
    }
    JsonValue graft = one_of(trees_);
    std::vector<JsonValue*> places;
    collect(graft, places);
    return JsonValue(*one_of(places));
}

std::string SpecMutator::changed_bytes(std::string text) {
    if (text.empty()) return text;
    const std::size_t start = below(text.size());
    const std::size_t length = std::min(1 + below(20), text.size() - start);
    switch (below(7)) {
        case 0: text[start] = static_cast<char>(below(256)); break;
        case 1: text[start] ^= static_cast<char>(1U << below(8)); break;
        case 2: text.insert(start, 1, "{}[]\",:0-.eE\\/ntf \xC3\xEF"[below(20)]); break;
        case 3: text.erase(start, length); break;
        case 4: text.insert(below(text.size()), text.substr(start, length)); break;
        case 5: text.insert(start, below(2) == 0 ? "NaN" : "\"" + any_word() + "\""); break;
        default:
            if (below(4) == 0)
                text.resize(start);
            else
                text.replace(start, length, one_of(texts_).substr(0, length));
    }
    return text;
}

}  // namespace nvalchemi::testing
