// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_COMPOSITION_COMPOSITION_HPP
#define NVALCHEMI_POTENTIALS_COMPOSITION_COMPOSITION_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "potentials/model_card.hpp"

namespace nvalchemi {

/// What a model's forward returns.
enum class ReturnForm { Dict, DictOfOptional, Tuple, Tensor };

/// One model of a composition.
struct CompositionPart {
    ModelCard card;
    std::string card_text;  ///< the JSON that `card` was read from
    ReturnForm returns = ReturnForm::Dict;
    std::string name;  ///< an identifier, set by name_parts(): the part's place in the composition
};

/// A constant tensor of the composed module.
struct CompositionTable {
    std::string name;
    std::vector<double> values;
    std::vector<std::int64_t> shape;
    std::string dtype;  ///< "int64", "float32", "float64" or "bool"
};

/// A model whose energies are the sums of its parts' energies. It finds the edges within each
/// part's own cutoff among its own, and hands each part what that part's card asks for.
struct Composition {
    std::string card;     ///< JSON, without a reference
    std::string forward;  ///< TorchScript text; parts are submodules, tables buffers
    std::vector<CompositionTable> tables;
    bool wires_charges = false;  ///< a part reads charges that another part computes
};

/// Give each part a name of its own, made from its card's name.
void name_parts(std::vector<CompositionPart>& parts);

/// Compose two parts or more, in the order in which they are given; a part that computes charges
/// is called before those that read them. The distribution specs are merged. Throws SpecError, or
/// std::runtime_error that names the parts, what they differ in and what to do.
Composition compose(const std::vector<CompositionPart>& parts, const std::string& name);

}  // namespace nvalchemi

#endif
