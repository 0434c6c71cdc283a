// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/abstract_value.hpp"

#include "potentials/session.hpp"

namespace nvalchemi {

AbstractPtr fixed_value(c10::IValue value) {
    auto result = std::make_shared<AbstractValue>();
    result->fixed = true;
    result->probe = {value, value};
    return result;
}

AbstractPtr list_value(std::vector<AbstractPtr> items, c10::TypePtr item_type) {
    auto result = std::make_shared<AbstractValue>();
    result->form = AbstractValue::Form::List;
    result->items = std::move(items);
    result->item_type = std::move(item_type);
    return result;
}

bool is_deeply_fixed(const AbstractValue& value) {
    if (value.form == AbstractValue::Form::Leaf) return value.fixed;
    for (const auto& item : value.items)
        if (!is_deeply_fixed(*item)) return false;
    for (const auto& entry : value.entries)
        if (!is_deeply_fixed(*entry.second)) return false;
    return true;
}

c10::IValue concrete(const AbstractValue& value, int probe) {
    switch (value.form) {
        case AbstractValue::Form::Leaf: return value.probe[probe];
        case AbstractValue::Form::List: {
            c10::impl::GenericList list(value.item_type);
            for (const auto& item : value.items) list.push_back(concrete(*item, probe));
            return list;
        }
        case AbstractValue::Form::Tuple: {
            std::vector<c10::IValue> elements;
            for (const auto& item : value.items) elements.push_back(concrete(*item, probe));
            return c10::ivalue::Tuple::create(std::move(elements));
        }
        case AbstractValue::Form::Dict: break;
    }
    throw ModelError("a dictionary is passed to an operator, which the analysis does not follow");
}

Operand operand_of(const AbstractValue& value) {
    if (is_deeply_fixed(value)) return Operand::of_constant(concrete(value, 0));
    if (value.form == AbstractValue::Form::Leaf) return Operand::of_slot(value.slot);
    if (value.form != AbstractValue::Form::List)
        throw ModelError("a tuple is passed to an operator, which the analysis does not follow");
    Operand operand;
    operand.is_list = true;
    operand.item_type = value.item_type;
    for (const auto& item : value.items) operand.items.push_back(operand_of(*item));
    return operand;
}

AbstractPtr* find_entry(AbstractValue& dict, const c10::IValue& key) {
    for (auto& entry : dict.entries) {
        const auto& own = entry.first;
        const bool same = own.isString() && key.isString() ? own.toStringRef() == key.toStringRef()
                          : own.isInt() && key.isInt()     ? own.toInt() == key.toInt()
                                                           : false;
        if (same) return &entry.second;
    }
    return nullptr;
}

}  // namespace nvalchemi
