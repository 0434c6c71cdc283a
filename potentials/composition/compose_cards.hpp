// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_COMPOSITION_COMPOSE_CARDS_HPP
#define NVALCHEMI_POTENTIALS_COMPOSITION_COMPOSE_CARDS_HPP

#include <optional>
#include <string>
#include <vector>

#include "potentials/composition/composition.hpp"

namespace nvalchemi {

/// What the parts have in common, or get from one another.
struct CommonFacts {
    std::vector<std::string> species;  ///< that every part knows, in the first part's order
    double cutoff = 0;                 ///< the largest
    std::string dtype;                 ///< the widest
    ForceSource forces = ForceSource::EdgeVectors;  ///< of the composition
    bool virial = false;                            ///< the composition returns one
    bool needs_volume = false;                      ///< a part returns a stress that goes into it
    bool owned_rows = false;                        ///< energies are taken of owned rows alone
    std::optional<std::size_t> charge_source;       ///< the part that computes charges for others
};

/// Throws std::runtime_error where the parts do not go together.
CommonFacts common_facts(const std::vector<CompositionPart>& parts);

/// Whether a part's energies depend on positions of rows other than through edge vectors that the
/// composition forms; of a part that does not return forces of its own.
bool moves_with_rows(const ModelCard& card);
/// Whether they depend on the cell itself, likewise.
bool strains(const ModelCard& card);

/// Key of the composition's dictionary for an input that a part takes from outside.
std::string input_key(const InputSpec& input);
/// Key of the composition's result for an output of a part.
std::string output_key(const CompositionPart& part, const OutputSpec& output);
/// Whether a part's output is handed on: all but those that the sum of energies takes the place of.
bool is_handed_on(const OutputSpec& output);
/// Whether a part's input comes from outside, or from the composition or a part itself.
bool is_from_outside(const InputSpec& input, const CommonFacts& facts);
/// Whether a part takes edge vectors as a table with a line of slots for each row.
bool is_vector_table(const InputSpec& input);
/// All inputs of a part, those of its dictionary and its positional arguments.
std::vector<const InputSpec*> inputs_of(const ModelCard& card);

/// The card of the composition, JSON.
std::string compose_cards(const std::vector<CompositionPart>& parts, const CommonFacts& facts,
                          const std::string& name);

}  // namespace nvalchemi

#endif
