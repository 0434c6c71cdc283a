// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/input_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace nvalchemi {

namespace {

void add(InputLayout& layout, const NamedInput& input, bool per_atom) {
    if (layout.find(input.name)) return;
    auto& columns = per_atom ? layout.atom_columns : layout.system_columns;
    layout.places.push_back({input, per_atom, columns});
    columns += input.columns;
}

void add(InputLayout& layout, const InputSpec& spec, double total_charge) {
    if (spec.role == InputRole::TotalCharge)
        add(layout, {kTotalChargeName, 1, false, "e", {total_charge}}, false);
    else if (spec.named)
        add(layout, *spec.named, spec.role == InputRole::AtomInput);
}

/// Not zero on the whole, and no two neighbours alike.
double varied(const InputPlace& place, std::int64_t column, std::int64_t atom) {
    constexpr std::array<double, 7> steps{0.3, -0.9, 0.6, -0.2, 0.8, -0.5, 0.4};
    const double base = place.default_values.empty() ? (place.is_integer ? 1.0 : 0.0)
                                                     : place.default_values[column];
    if (place.is_integer) return base;
    const double size = base == 0.0 ? 1.0 : 0.1 * std::abs(base);
    return base + size * steps[(atom + 3 * column) % 7];
}

}  // namespace

std::string InputPlace::title() const {
    auto text = "'" + name + "' (" + std::to_string(columns);
    text += is_integer ? " whole number" : " number";
    text += columns == 1 ? "" : "s";
    text += per_atom ? " for each atom" : " for the system";
    return text + (unit.empty() ? ")" : ", " + unit + ")");
}

const InputPlace* InputLayout::find(const std::string& name) const {
    const auto found = std::find_if(places.begin(), places.end(),
                                    [&](const auto& place) { return place.name == name; });
    return found == places.end() ? nullptr : &*found;
}

InputLayout input_layout(const ModelCard& card) {
    InputLayout layout;
    for (const auto& spec : card.inputs) add(layout, spec, card.total_charge);
    for (const auto& spec : card.arguments) add(layout, spec, card.total_charge);
    return layout;
}

std::string titles_of_inputs(const ModelCard& card) {
    std::string text;
    const auto list = [&](const std::string& title) { text += (text.empty() ? "" : ", ") + title; };
    if (card.find_input(InputRole::Charges))
        list(InputPlace{{kChargesName, 1, false, "e", {}}, true, 0}.title());
    for (const auto& place : input_layout(card).places) list(place.title());
    return text.empty() ? "none" : text;
}

std::vector<double> sample_atom_inputs(const ModelCard& card, std::int64_t atoms) {
    const auto layout = input_layout(card);
    std::vector<double> values;
    const auto known = card.reference ? card.reference->atom_inputs.size() : 0;
    for (std::int64_t atom = 0; atom < atoms; ++atom)
        for (const auto& place : layout.places)
            for (std::int64_t column = 0; place.per_atom && column < place.columns; ++column)
                values.push_back(known > 0 ? card.reference->atom_inputs[values.size() % known]
                                           : varied(place, column, atom));
    return values;
}

std::vector<double> sample_system_inputs(const ModelCard& card) {
    std::vector<double> values;
    for (const auto& place : input_layout(card).places)
        for (std::int64_t column = 0; !place.per_atom && column < place.columns; ++column) {
            if (place.name == kTotalChargeName)
                values.push_back(card.total_charge);
            else if (card.reference && !card.reference->system_inputs.empty())
                values.push_back(card.reference->system_inputs[values.size()]);
            else
                values.push_back(varied(place, column, column));
        }
    return values;
}

}  // namespace nvalchemi
