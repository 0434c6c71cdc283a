// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_INPUT_LAYOUT_HPP
#define NVALCHEMI_POTENTIALS_INPUT_LAYOUT_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "potentials/model_card.hpp"

namespace nvalchemi {

/// The name under which the role total_charge is given.
inline constexpr char kTotalChargeName[] = "total_charge";
/// The name under which the role charges is given; its values are in AtomGraph::charge.
inline constexpr char kChargesName[] = "charges";

/// An input that the user gives, and where its values are.
struct InputPlace : NamedInput {
    bool per_atom = false;
    std::int64_t first = 0;  ///< the first of its columns

    /// For messages: "'moments' (3 numbers for each atom, mu_B)".
    std::string title() const;
};

/// The columns of all inputs of roles atom_input, system_input and total_charge, in the order of
/// the card: values of atoms are the rows of a matrix (n, atom_columns), those of the system are
/// a vector (system_columns,). An input that the card names twice has one place.
struct InputLayout {
    std::vector<InputPlace> places;
    std::int64_t atom_columns = 0, system_columns = 0;

    const InputPlace* find(const std::string& name) const;
};

InputLayout input_layout(const ModelCard& card);

/// The inputs and charges that a model takes, for a message: their titles, or "none".
std::string titles_of_inputs(const ModelCard& card);

/// Values for structures that are made to test a model: those of the card's reference, again and
/// again; else the defaults, varied from atom to atom where they are no integers.
/// (atoms, atom_columns) and (system_columns,).
std::vector<double> sample_atom_inputs(const ModelCard& card, std::int64_t atoms);
std::vector<double> sample_system_inputs(const ModelCard& card);

}  // namespace nvalchemi

#endif
