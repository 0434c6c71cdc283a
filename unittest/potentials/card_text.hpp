// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_POTENTIALS_CARD_TEXT_HPP
#define NVALCHEMI_UNITTEST_POTENTIALS_CARD_TEXT_HPP

#include <algorithm>
#include <stdexcept>
#include <string>

#include "potentials/model_card.hpp"
#include "unittest/spec/refusal.hpp"

namespace nvalchemi::testing {

/// JSON written with single quotes, for legible C++ literals.
inline std::string json(std::string text) {
    std::replace(text.begin(), text.end(), '\'', '"');
    return text;
}

/// The card of a model that sees edge vectors.
inline const std::string kCard = json(
    "{'format': 'nvalchemi-model', 'format_version': 1, 'name': 'm', 'family': 'toy', "
    "'cutoff': 5.0, 'units': {'length': 'Angstrom', 'energy': 'eV'}, 'dtype': 'float64', "
    "'species': ['O', 'Na'], 'species_index': [0, 0], "
    "'forward': {'style': 'dict', 'arguments': []}, "
    "'inputs': {'types': {'role': 'species_index'}, 'edge_vec': {'role': 'edge_vectors'}}, "
    "'edges': {'list': 'full', 'receiver_row': 0, 'sender_row': 1}, 'rows': 'folded', "
    "'outputs': {'e': {'role': 'atomic_energies', 'kind': 'per_node', 'shape': '(rows,1)'}}, "
    "'forces': 'edge_vectors', 'ops': []}");

/// `text` with `from`, which must occur once, replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::string old = json(from);
    const std::size_t place = text.find(old);
    if (place == std::string::npos || text.find(old, place + 1) != std::string::npos) {
        throw std::logic_error("the test replaces a text that does not occur once: " + old);
    }
    return text.replace(place, old.size(), json(to));
}

inline std::string card_with(const std::string& from, const std::string& to) {
    return replaced(kCard, from, to);
}

/// The card with one more member at the end.
inline std::string card_and(const std::string& member) {
    return card_with("'ops': []}", "'ops': [], " + member + "}");
}

/// The card with these inputs after its edge vectors.
inline std::string card_with_inputs(const std::string& members) {
    return card_with("{'types': {'role': 'species_index'}, 'edge_vec': {'role': 'edge_vectors'}}",
                     "{'edge_vec': {'role': 'edge_vectors'}, " + members + "}");
}

/// The card with these outputs after its atomic energies.
inline std::string card_with_outputs(const std::string& members) {
    return card_with("'shape': '(rows,1)'}}", "'shape': '(rows,1)'}, " + members + "}");
}

inline ModelCard parse(const std::string& card) { return parse_model_card(card, "c.json"); }

inline std::string refusal_of_card(const std::string& card) {
    return refusal_of([&] { parse(card); });
}

/// What refuses the card after one replacement.
inline std::string refusal(const std::string& from, const std::string& to) {
    return refusal_of_card(card_with(from, to));
}

}  // namespace nvalchemi::testing

#endif
