// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_ABSTRACT_VALUE_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_ABSTRACT_VALUE_HPP

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "potentials/distribution/placement.hpp"

namespace nvalchemi {

struct AbstractValue;
using AbstractPtr = std::shared_ptr<AbstractValue>;

/// A value of the model during tracing. It carries what it is in two sample evaluations ("probes")
/// of different size, so that shapes never have to be derived, and whether it is the same in every
/// evaluation ("fixed"). Containers and modules are followed by reference, as in Python.
struct AbstractValue {
    enum class Form { Leaf, List, Tuple, Dict };
    Form form = Form::Leaf;

    // Leaf: tensor, number, string, None, module, ...
    std::array<c10::IValue, 2> probe;
    bool fixed = false;
    Slot slot = NO_SLOT;      ///< set if not fixed
    Dim count;                ///< of an integer: a multiple of the extent of a space
    bool from_count = false;  ///< a number computed from such an integer: differs between ranks

    // List, Tuple
    std::vector<AbstractPtr> items;
    c10::TypePtr item_type;
    // Dict
    std::vector<std::pair<c10::IValue, AbstractPtr>> entries;

    std::string module_path;  ///< of a module

    bool is_none() const { return form == Form::Leaf && fixed && probe[0].isNone(); }
    bool is_tensor() const { return form == Form::Leaf && probe[0].isTensor(); }
    bool is_count() const { return form == Form::Leaf && !fixed && count.space != SPACE_NONE; }
};

AbstractPtr fixed_value(c10::IValue value);
AbstractPtr list_value(std::vector<AbstractPtr> items, c10::TypePtr item_type);

/// True if nothing in `value` differs between evaluations.
bool is_deeply_fixed(const AbstractValue& value);
/// The concrete value in probe 0 or 1.
c10::IValue concrete(const AbstractValue& value, int probe);
/// How an instruction reads `value`.
Operand operand_of(const AbstractValue& value);
/// Dictionary look-up by key; nullptr if absent.
AbstractPtr* find_entry(AbstractValue& dict, const c10::IValue& key);

}  // namespace nvalchemi

#endif
