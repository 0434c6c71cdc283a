// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/containers.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

using Form = AbstractValue::Form;
using Values = std::vector<AbstractPtr>;
using torch::jit::Node;

[[noreturn]] void refuse(const Node* node, const std::string& problem) {
    throw ModelError(std::string("cannot distribute the model: operator ") +
                     node->kind().toQualString() + " (" + node->sourceRange().str().substr(0, 200) +
                     "): " + problem);
}

std::int64_t position(const Node* node, const AbstractValue& value, std::size_t size) {
    if (!value.fixed || !value.probe[0].isInt())
        refuse(node, "a position in a container depends on the number of atoms or on data");
    auto index = value.probe[0].toInt();
    if (index < 0) index += static_cast<std::int64_t>(size);
    if (index < 0 || index >= static_cast<std::int64_t>(size))
        refuse(node,
               "position " + std::to_string(index) + " of a container of " + std::to_string(size));
    return index;
}

std::int64_t bound(const AbstractValue& value, std::int64_t fallback, std::int64_t size) {
    if (value.is_none()) return fallback;
    if (!value.fixed)
        throw ModelError(
            "cannot distribute the model: a part of a list is taken by a position "
            "that depends on the number of atoms or on data");
    auto index = value.probe[0].toInt();
    if (index < 0) index += size;
    return std::clamp<std::int64_t>(index, 0, size);
}

const c10::IValue& key_of(const Node* node, const AbstractValue& value) {
    if (value.form != Form::Leaf || !value.fixed)
        refuse(node, "a dictionary key depends on the number of atoms or on data");
    return value.probe[0];
}

AbstractPtr tuple_value(Values items) {
    auto tuple = std::make_shared<AbstractValue>();
    tuple->form = Form::Tuple;
    tuple->items = std::move(items);
    return tuple;
}

Values get_item(const Node* node, Values& in) {
    auto& container = *in[0];
    if (container.form == Form::Dict) {
        const auto& key = key_of(node, *in[1]);
        if (auto* entry = find_entry(container, key)) return {*entry};
        refuse(node, "the model reads the key '" + (key.isString() ? key.toStringRef() : "?") +
                         "', which is neither an input of the card nor set by the model");
    }
    return {container.items[position(node, *in[1], container.items.size())]};
}

Values set_item(const Node* node, Values& in) {
    auto& container = *in[0];
    if (container.form == Form::Dict) {
        const auto& key = key_of(node, *in[1]);
        if (auto* entry = find_entry(container, key))
            *entry = in[2];
        else
            container.entries.emplace_back(key, in[2]);
    } else {
        container.items[position(node, *in[1], container.items.size())] = in[2];
    }
    return {in[0]};
}

Values contains(const Node* node, Values& in) {
    auto& container = *in[0];
    if (container.form == Form::Dict)
        return {fixed_value(find_entry(container, key_of(node, *in[1])) != nullptr)};
    for (const auto& item : container.items) {
        if (!item->fixed || !in[1]->fixed)
            refuse(node, "membership depends on the number of atoms or on data");
        if (item->probe[0] == in[1]->probe[0]) return {fixed_value(true)};
    }
    return {fixed_value(false)};
}

Values get_or(const Node* node, Values& in) {
    if (auto* entry = find_entry(*in[0], key_of(node, *in[1]))) return {*entry};
    return {in.size() > 2 ? in[2] : fixed_value(c10::IValue())};
}

Values erase(const Node* node, Values& in) {
    auto& container = *in[0];
    if (container.form == Form::Dict) {
        const auto* entry = find_entry(container, key_of(node, *in[1]));
        if (entry == nullptr) refuse(node, "a key is deleted that is not there");
        std::erase_if(container.entries, [&](auto& pair) { return &pair.second == entry; });
    } else {
        container.items.erase(container.items.begin() +
                              position(node, *in[1], container.items.size()));
    }
    return {};
}

Values pop(const Node* node, Values& in) {
    auto& container = *in[0];
    if (container.form == Form::Dict) {
        auto result = get_or(node, in);
        if (find_entry(container, key_of(node, *in[1])) != nullptr) erase(node, in);
        return result;
    }
    const auto last = fixed_value(std::int64_t(-1));
    const auto at = position(node, in.size() > 1 ? *in[1] : *last, container.items.size());
    auto result = container.items[at];
    container.items.erase(container.items.begin() + at);
    return {result};
}

Values slice(const Node*, Values& in) {
    const auto& items = in[0]->items;
    const auto size = static_cast<std::int64_t>(items.size());
    const auto step = in.size() > 3 && !in[3]->is_none() ? in[3]->probe[0].toInt() : 1;
    Values picked;
    for (auto k = bound(*in[1], 0, size); k < bound(*in[2], size, size); k += step)
        picked.push_back(items[k]);
    return {list_value(std::move(picked), in[0]->item_type)};
}

Values keys(const Node*, Values& in) {
    Values items;
    for (const auto& entry : in[0]->entries) items.push_back(fixed_value(entry.first));
    return {list_value(std::move(items), c10::StringType::get())};
}

Values values(const Node*, Values& in) {
    Values items;
    for (const auto& entry : in[0]->entries) items.push_back(entry.second);
    return {list_value(std::move(items), c10::TensorType::get())};
}

Values entries(const Node*, Values& in) {
    Values items;
    for (const auto& entry : in[0]->entries)
        items.push_back(tuple_value({fixed_value(entry.first), entry.second}));
    return {list_value(std::move(items), c10::AnyType::get())};
}

Values concatenate(const Node*, Values& in) {
    Values items = in[0]->items;
    items.insert(items.end(), in[1]->items.begin(), in[1]->items.end());
    return {list_value(std::move(items), in[0]->item_type)};
}

Values repeat(const Node* node, Values& in) {
    const auto& list = in[0]->form == Form::List ? *in[0] : *in[1];
    const auto& times = in[0]->form == Form::List ? *in[1] : *in[0];
    if (!times.fixed) refuse(node, "the length of a list depends on the number of atoms");
    Values items;
    for (std::int64_t k = 0; k < times.probe[0].toInt(); ++k)
        items.insert(items.end(), list.items.begin(), list.items.end());
    return {list_value(std::move(items), list.item_type)};
}

Values construct_list(const Node* node, Values& in) {
    return {list_value(in, node->output()->type()->expectRef<c10::ListType>().getElementType())};
}

Values construct_dict(const Node* node, Values& in) {
    auto dict = std::make_shared<AbstractValue>();
    dict->form = Form::Dict;
    for (std::size_t k = 0; k + 1 < in.size(); k += 2)
        dict->entries.emplace_back(key_of(node, *in[k]), in[k + 1]);
    return {dict};
}

using Handler = std::function<Values(const Node*, Values&)>;

Values with_items(Values& in, const std::function<void(Values&)>& change) {
    change(in[0]->items);
    return {in[0]};
}

/// Operators on an existing container (their first input).
const std::unordered_map<std::string, Handler>& handlers() {
    static const std::unordered_map<std::string, Handler> table{
        {"aten::__getitem__", get_item},
        {"prim::TupleIndex", get_item},
        {"aten::_set_item", set_item},
        {"aten::__contains__", contains},
        {"aten::get", get_or},
        {"aten::Delete", erase},
        {"aten::pop", pop},
        {"aten::slice", slice},
        {"aten::keys", keys},
        {"aten::values", values},
        {"aten::items", entries},
        {"aten::add", concatenate},
        {"aten::mul", repeat},
        {"prim::ListUnpack", [](const Node*, Values& in) { return in[0]->items; }},
        {"prim::TupleUnpack", [](const Node*, Values& in) { return in[0]->items; }},
        {"aten::len",
         [](const Node*, Values& in) -> Values {
             const auto& c = *in[0];
             const auto size = c.form == Form::Dict ? c.entries.size() : c.items.size();
             return {fixed_value(static_cast<std::int64_t>(size))};
         }},
        {"aten::list",
         [](const Node*, Values& in) -> Values {
             return {list_value(in[0]->items, in[0]->item_type)};
         }},
        {"aten::copy",
         [](const Node*, Values& in) -> Values {
             return {std::make_shared<AbstractValue>(*in[0])};
         }},
        {"aten::append",
         [](const Node*, Values& in) {
             return with_items(in, [&](Values& items) { items.push_back(in[1]); });
         }},
        {"aten::extend",
         [](const Node*, Values& in) {
             const Values more = in[1]->items;
             return with_items(
                 in, [&](Values& items) { items.insert(items.end(), more.begin(), more.end()); });
         }},
        {"aten::reverse",
         [](const Node*, Values& in) {
             return with_items(in, [](Values& items) { std::reverse(items.begin(), items.end()); });
         }},
        {"aten::insert",
         [](const Node* node, Values& in) {
             return with_items(in, [&](Values& items) {
                 items.insert(items.begin() + position(node, *in[1], items.size() + 1), in[2]);
             });
         }},
        {"aten::clear",
         [](const Node*, Values& in) {
             in[0]->entries.clear();
             return with_items(in, [](Values& items) { items.clear(); });
         }},
        {"aten::update",
         [](const Node*, Values& in) -> Values {
             for (auto& entry : in[1]->entries) {
                 if (auto* own = find_entry(*in[0], entry.first))
                     *own = entry.second;
                 else
                     in[0]->entries.push_back(entry);
             }
             return {};
         }},
    };
    return table;
}

}  // namespace

AbstractPtr lift(const c10::IValue& value) {
    Values items;
    if (value.isList()) {
        for (const auto& item : value.toListRef()) items.push_back(lift(item));
        return list_value(std::move(items),
                          value.type()->expectRef<c10::ListType>().getElementType());
    }
    if (value.isTuple()) {
        for (const auto& item : value.toTupleRef().elements()) items.push_back(lift(item));
        return tuple_value(std::move(items));
    }
    if (value.isGenericDict()) {
        auto dict = std::make_shared<AbstractValue>();
        dict->form = Form::Dict;
        for (const auto& entry : value.toGenericDict())
            dict->entries.emplace_back(entry.key(), lift(entry.value()));
        return dict;
    }
    return fixed_value(value);
}

std::optional<Values> apply_container(const Node* node, Values& inputs) {
    switch (node->kind()) {
        case c10::prim::ListConstruct: return construct_list(node, inputs);
        case c10::prim::TupleConstruct: return Values{tuple_value(inputs)};
        case c10::prim::DictConstruct: return construct_dict(node, inputs);
        default: break;
    }
    const bool on_container =
        std::any_of(inputs.begin(), inputs.end(),
                    [](const AbstractPtr& value) { return value->form != Form::Leaf; });
    if (!on_container || (inputs[0]->form == Form::Leaf && node->kind() != c10::aten::mul &&
                          node->kind() != c10::aten::__contains__))
        return std::nullopt;
    const auto found = handlers().find(node->kind().toQualString());
    if (found == handlers().end()) return std::nullopt;
    return found->second(node, inputs);
}

}  // namespace nvalchemi
