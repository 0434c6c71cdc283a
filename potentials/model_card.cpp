// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/model_card.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "potentials/card/card_consistency.hpp"
#include "potentials/card/card_input.hpp"
#include "potentials/card/card_output.hpp"
#include "potentials/card/card_reference.hpp"
#include "potentials/elements.hpp"
#include "spec/json_cursor.hpp"
#include "spec/parse_mlip_spec.hpp"
#include "spec/presets.hpp"

namespace nvalchemi {

namespace {

constexpr std::int64_t kFormatVersion = 1;

constexpr std::array<NamedValue<const char*>, 2> kDtypes = {
    {{"float32", "float32"}, {"float64", "float64"}}};

constexpr std::array<NamedValue<const char*>, 3> kEnergyUnits = {
    {{"eV", "eV"}, {"kcal/mol", "kcal/mol"}, {"Hartree", "Hartree"}}};

constexpr std::array<NamedValue<bool>, 2> kForwardStyles = {
    {{"dict", true}, {"positional", false}}};

constexpr std::array<NamedValue<RowMode>, 2> kRowModes = {
    {{"folded", RowMode::Folded}, {"raw", RowMode::Raw}}};

constexpr std::array<NamedValue<ForceSource>, 3> kForceSources = {{
    {"edge_vectors", ForceSource::EdgeVectors},
    {"positions", ForceSource::Positions},
    {"model", ForceSource::Model},
}};

void check_format(const JsonCursor& card) {
    const JsonCursor format = card.at("format", "a model card has \"format\": \"nvalchemi-model\"");
    if (format.as_string() != "nvalchemi-model") {
        format.refuse("\"nvalchemi-model\"", "is this file the card of a model?");
    }
    const JsonCursor version = card.at("format_version", "add \"format_version\": 1");
    if (version.as_integer() != kFormatVersion) {
        version.refuse("1", "export the model again with the exporter of this version");
    }
    card.allow_only({"format",
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
                     "outputs",
                     "forces",
                     "ops",
                     "spec",
                     "reference",
                     "expected_exchanges",
                     "backward_communicates",
                     "triplets",
                     "torch_version"});
}

double read_cutoff(const JsonCursor& cutoff) {
    constexpr double LEAST = 0.1;  // Angstrom: no two atoms are so near, and searches divide by it
    constexpr double MOST = 1000;  // more is a wrong unit or no cutoff at all
    if (!(cutoff.as_number() > 0)) cutoff.refuse("a positive length in Angstrom");
    if (!(cutoff.as_number() >= LEAST)) cutoff.refuse("a length in Angstrom of at least 0.1");
    if (!(cutoff.as_number() <= MOST)) cutoff.refuse("a length in Angstrom of at most 1000");
    return cutoff.as_number();
}

void read_units(const JsonCursor& units, ModelCard& card) {
    units.allow_only({"length", "energy"});
    const JsonCursor length = units.at("length", "add \"length\": \"Angstrom\"");
    card.length_unit = length.as_string();
    if (card.length_unit != "Angstrom") {
        length.refuse("\"Angstrom\"",
                      "no other length unit is supported; export a model that takes Angstrom");
    }
    card.energy_unit = units.at("energy", "add \"energy\": \"eV\"").as_one_of(kEnergyUnits);
}

std::vector<std::string> read_species(const JsonCursor& species) {
    for (const JsonCursor& symbol : species.as_array_of("element symbols")) {
        if (atomic_number(symbol.as_string()) == 0) {
            symbol.refuse("an element symbol such as \"Na\"");
        }
    }
    std::vector<std::string> result = species.as_names();
    if (result.empty()) species.refuse("at least one element symbol");
    return result;
}

std::vector<std::int64_t> read_species_index(const JsonCursor& index, std::size_t length) {
    std::vector<std::int64_t> result;
    for (const JsonCursor& item : index.as_array_of("integers")) {
        result.push_back(item.as_integer());
        if (result.back() < 0) item.refuse("an index of 0 or more");
    }
    if (result.size() != length) {
        index.refuse(std::to_string(length) + " integers, one for each of /species");
    }
    return result;
}

void read_forward(const JsonCursor& forward, ModelCard& card) {
    forward.allow_only({"style", "arguments"});
    card.forward_takes_dict =
        forward.at("style", "\"dict\" or \"positional\"").as_one_of(kForwardStyles);
    const JsonCursor arguments = forward.at("arguments", "an empty array for style \"dict\"");
    card.arguments = read_card_arguments(arguments);
    if (card.forward_takes_dict && !card.arguments.empty()) {
        arguments.refuse("an empty array",
                         "style \"dict\" passes one dictionary of all inputs; "
                         "arguments belong to style \"positional\"");
    }
    if (!card.forward_takes_dict && card.arguments.empty()) {
        arguments.refuse("at least one argument", "style \"positional\" lists them in order");
    }
}

std::int64_t read_edge_row(const JsonCursor& row) {
    if (row.as_integer() != 0 && row.as_integer() != 1) row.refuse("0 or 1");
    return row.as_integer();
}

void read_edges(const JsonCursor& edges, ModelCard& card) {
    edges.allow_only({"list", "receiver_row", "sender_row"});
    const JsonCursor list = edges.at("list", "add \"list\": \"full\"");
    if (list.as_string() != "full") {
        list.refuse("\"full\"",
                    "each pair of atoms comes once in each direction; other lists are "
                    "not supported");
    }
    const JsonCursor sender = edges.at("sender_row");
    card.receiver_row = static_cast<int>(read_edge_row(edges.at("receiver_row")));
    if (read_edge_row(sender) == card.receiver_row) {
        sender.refuse("the row of edge_index that is not the receiver's",
                      "receiver_row is " + std::to_string(card.receiver_row) + " too");
    }
}

/// Two numbers and a point at least.
bool is_version(const std::string& text) {
    const auto point = text.find_first_not_of("0123456789");
    return point != 0 && point + 1 < text.size() && text[point] == '.' &&
           std::isdigit(static_cast<unsigned char>(text[point + 1]));
}

/// Facts of the model that the graph alone does not show.
void read_optional(const JsonCursor& document, ModelCard& card, const ReadOptions& spec_reading) {
    if (const auto spec = document.find("spec")) card.spec = read_mlip_spec(*spec, spec_reading);
    if (const auto reference = document.find("reference")) {
        card.reference = read_card_reference(*reference, card);
    }
    if (const auto count = document.find("expected_exchanges")) {
        card.expected_exchanges = count->as_integer();
        if (*card.expected_exchanges < 0) count->refuse("a count of 0 or more");
    }
    if (const auto flag = document.find("backward_communicates")) {
        card.backward_communicates = flag->as_bool();
    }
    if (const auto triplets = document.find("triplets")) {
        if (triplets->as_string() != "by_receiver") {
            triplets->refuse("\"by_receiver\"",
                             "only triplets of edges that share their receiver are supported");
        }
        card.triplets_by_receiver = true;
    }
    if (const auto version = document.find("torch_version")) {
        card.torch_version = version->as_string();
        if (!is_version(card.torch_version)) version->refuse("a version such as \"2.11.0\"");
    }
}

template <typename Spec, typename Role>
const Spec* find_role(const std::vector<Spec>& specs, Role role) {
    const auto found = std::find_if(specs.begin(), specs.end(),
                                    [role](const Spec& spec) { return spec.role == role; });
    return found == specs.end() ? nullptr : &*found;
}

}  // namespace

const MLIPSpec& ModelCard::distribution() const {
    return spec ? *spec : *find_preset("SPEC_MPNN_HALO");
}

const OutputSpec* ModelCard::find_output(OutputRole role) const { return find_role(outputs, role); }

const InputSpec* ModelCard::find_input(InputRole role) const {
    const InputSpec* input = find_role(inputs, role);
    return input ? input : find_role(arguments, role);
}

ModelCard parse_model_card(const std::string& json_text, const std::string& document,
                           const ReadOptions& spec_reading) {
    const JsonCursor root = JsonCursor::parse(json_text, document);
    check_format(root);
    ModelCard card;
    card.name = root.at("name").as_nonempty_string();
    card.family = root.at("family").as_nonempty_string();
    card.cutoff = read_cutoff(root.at("cutoff"));
    read_units(root.at("units"), card);
    card.dtype = root.at("dtype").as_one_of(kDtypes);
    card.species = read_species(root.at("species"));
    card.species_index = read_species_index(root.at("species_index"), card.species.size());
    read_forward(root.at("forward"), card);
    card.inputs = read_card_inputs(root.at("inputs"));
    read_edges(root.at("edges"), card);
    card.rows = root.at("rows").as_one_of(kRowModes);
    card.outputs = read_card_outputs(root.at("outputs"));
    card.forces = root.at("forces").as_one_of(kForceSources);
    card.operator_libraries = root.at("ops", "an empty array if none is needed").as_names();
    read_optional(root, card, spec_reading);
    check_card_consistency(root, card);
    return card;
}

}  // namespace nvalchemi
