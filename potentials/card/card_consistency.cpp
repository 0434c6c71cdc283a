// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/card/card_consistency.hpp"

#include <algorithm>

namespace nvalchemi {

namespace {

bool takes_dict(const ModelCard& card) {
    return card.forward_takes_dict ||
           std::any_of(card.arguments.begin(), card.arguments.end(),
                       [](const InputSpec& argument) { return argument.role == InputRole::Dict; });
}

void check_forward(const JsonCursor& document, const ModelCard& card) {
    const JsonCursor inputs = document.at("inputs");
    if (takes_dict(card) && card.inputs.empty()) {
        inputs.refuse("at least one input", "the model takes a dictionary of them");
    }
    if (!takes_dict(card) && !card.inputs.empty()) {
        inputs.refuse("an empty object",
                      "no argument of /forward/arguments has the role \"dict\", so the model would "
                      "not get these inputs; add {\"role\": \"dict\"} there");
    }
}

/// The quantity that forces are derived from must be among the inputs or outputs.
void check_forces(const JsonCursor& document, const ModelCard& card) {
    const JsonCursor forces = document.at("forces");
    if (card.forces == ForceSource::EdgeVectors && !card.find_input(InputRole::EdgeVectors)) {
        forces.refuse("an input of role \"edge_vectors\" with it",
                      "declare that input, or use \"positions\" or \"model\"");
    }
    if (card.forces == ForceSource::Positions && !card.find_input(InputRole::Positions)) {
        forces.refuse("an input of role \"positions\" with it",
                      "declare that input, or use \"edge_vectors\" or \"model\"");
    }
    if (card.forces == ForceSource::Model && !card.find_output(OutputRole::Forces)) {
        forces.refuse("an output of role \"forces\" with it",
                      "declare that output, or use \"edge_vectors\" or \"positions\"");
    }
}

/// One folded row stands for all images of an atom, so its position has lost the image's shift:
/// a model that forms distances from positions needs a row for each image.
void check_rows(const JsonCursor& document, const ModelCard& card) {
    const JsonCursor rows = document.at("rows");
    if (card.rows == RowMode::Raw) {
        if (card.find_input(InputRole::Positions)) return;
        rows.refuse("\"folded\"",
                    "raw rows are for models with an input of role \"positions\", which this card "
                    "does not have");
    }
    const bool sees_positions_only =
        card.forces == ForceSource::Positions ||
        (card.forces == ForceSource::Model && !card.find_input(InputRole::EdgeVectors));
    const bool replicated = card.spec && card.spec->gp_replicate_geometry;
    if (!sees_positions_only || replicated) return;
    const bool has_shifts =
        card.find_input(InputRole::EdgeShifts) || card.find_input(InputRole::EdgeCellShifts);
    rows.refuse("\"raw\"",
                has_shifts
                    ? "forces come from positions: the periodic image shift must be in the row's "
                      "position, not only in the edge shifts; raw rows carry it and their edge "
                      "shifts are zero"
                    : "the model forms distances from positions, and a folded row has lost its "
                      "periodic image's shift; raw rows keep one row for each image");
}

bool same_input(const InputSpec& left, const InputSpec& right) {
    const auto &a = *left.named, &b = *right.named;
    return left.role == right.role && a.columns == b.columns && a.is_integer == b.is_integer &&
           a.unit == b.unit && a.default_values == b.default_values;
}

/// A model may take what the user gives under one name in several places, as one quantity.
void check_names(const JsonCursor& document, const ModelCard& card) {
    std::vector<const InputSpec*> named;
    for (const auto* inputs : {&card.inputs, &card.arguments})
        for (const auto& input : *inputs) {
            if (!input.named) continue;
            for (const auto* other : named)
                if (other->named->name == input.named->name && !same_input(*other, input))
                    document.at(inputs == &card.inputs ? "inputs" : "forward")
                        .fail("got two different inputs of the name " +
                              in_quotes(input.named->name) +
                              ", expected the same role, columns, dtype, unit and default, or "
                              "another name");
            named.push_back(&input);
        }
}

}  // namespace

void check_card_consistency(const JsonCursor& document, const ModelCard& card) {
    check_names(document, card);
    check_forward(document, card);
    check_forces(document, card);
    check_rows(document, card);
}

}  // namespace nvalchemi
