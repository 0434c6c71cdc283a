// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/program_editor.hpp"

#include <algorithm>
#include <set>

namespace nvalchemi {

namespace {

void replace_in(Operand& operand, Slot old_slot, Slot new_slot) {
    operand.for_each_slot([&](Slot& slot) {
        if (slot == old_slot) slot = new_slot;
    });
}

}  // namespace

Slot ProgramEditor::new_slot(Slot like) {
    traced_.facts.push_back(traced_.facts[like]);
    traced_.alias_set.push_back(next_alias_set());
    return traced_.program.slot_count++;
}

void ProgramEditor::insert(std::size_t at, Instruction instruction, Effect effect) {
    traced_.program.code.insert(traced_.program.code.begin() + at, std::move(instruction));
    traced_.effects.insert(traced_.effects.begin() + at, std::move(effect));
}

Slot ProgramEditor::insert_call(std::size_t at, const std::string& name,
                                const std::string& overload, std::vector<Operand> inputs, Slot like,
                                Effect effect) {
    Instruction instruction;
    instruction.name = name;
    instruction.run = registered_operator(name, overload);
    instruction.inputs = std::move(inputs);
    instruction.outputs = {new_slot(like)};
    const Slot result = instruction.outputs[0];
    if (at > 0) {
        instruction.source = traced_.program.code[at - 1].source;
        instruction.module = traced_.program.code[at - 1].module;
    }
    insert(at, std::move(instruction), std::move(effect));
    return result;
}

void ProgramEditor::replace_reads(std::size_t from, Slot old_slot, Slot new_slot) {
    for (std::size_t at = from; at < traced_.program.code.size(); ++at)
        replace_reads_of(at, old_slot, new_slot);
    for (auto& output : traced_.program.outputs) replace_in(output, old_slot, new_slot);
}

void ProgramEditor::replace_reads_of(std::size_t at, Slot old_slot, Slot new_slot) {
    for (auto& input : traced_.program.code[at].inputs) replace_in(input, old_slot, new_slot);
    for (auto& slot : traced_.effects[at].reads_any_row)
        if (slot == old_slot) slot = new_slot;
    if (traced_.effects[at].mutates == old_slot) traced_.effects[at].mutates = new_slot;
}

bool ProgramEditor::shares_storage_later(Slot slot, std::size_t from) const {
    std::vector<Slot> read;
    for (std::size_t at = from; at < traced_.program.code.size(); ++at)
        for (const auto& input : traced_.program.code[at].inputs) input.append_slots(read);
    return std::any_of(read.begin(), read.end(), [&](Slot other) {
        return other != slot && traced_.alias_set[other] >= 0 &&
               traced_.alias_set[other] == traced_.alias_set[slot];
    });
}

bool ProgramEditor::is_written_later(Slot slot, std::size_t from) const {
    for (std::size_t at = from; at < traced_.program.code.size(); ++at) {
        const auto mutated = traced_.effects[at].mutates;
        if (mutated != NO_SLOT && traced_.alias_set[mutated] == traced_.alias_set[slot])
            return true;
    }
    return false;
}

std::optional<std::size_t> ProgramEditor::settled_after(Slot slot, std::size_t limit) const {
    std::size_t settled = 0;
    for (std::size_t at = 0; at < traced_.program.code.size(); ++at) {
        const auto& outputs = traced_.program.code[at].outputs;
        const auto mutated = traced_.effects[at].mutates;
        const bool writes =
            std::find(outputs.begin(), outputs.end(), slot) != outputs.end() ||
            (mutated != NO_SLOT && traced_.alias_set[mutated] == traced_.alias_set[slot]);
        if (!writes) continue;
        if (at >= limit) break;
        settled = at + 1;
    }
    if (is_written_later(slot, settled) && shares_storage_later(slot, settled)) return std::nullopt;
    return settled;
}

int ProgramEditor::next_alias_set() const {
    return 1 + *std::max_element(traced_.alias_set.begin(), traced_.alias_set.end());
}

void remove_dead(TracedProgram& traced) {
    std::set<Slot> live;
    std::set<int> live_storage;
    const auto mark = [&](Slot& slot) {
        live.insert(slot);
        if (traced.alias_set[slot] >= 0) live_storage.insert(traced.alias_set[slot]);
    };
    for (auto& output : traced.program.outputs) output.for_each_slot(mark);
    std::vector<bool> kept(traced.program.code.size(), false);
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t at = kept.size(); at-- > 0;) {
            if (kept[at]) continue;
            auto& instruction = traced.program.code[at];
            const auto mutated = traced.effects[at].mutates;
            const bool needed =
                traced.effects[at].must_run ||
                std::any_of(instruction.outputs.begin(), instruction.outputs.end(),
                            [&](Slot slot) { return live.count(slot) > 0; }) ||
                (mutated != NO_SLOT && live_storage.count(traced.alias_set[mutated]) > 0);
            if (!needed) continue;
            kept[at] = changed = true;
            for (auto& input : instruction.inputs) input.for_each_slot(mark);
        }
    }
    std::size_t next = 0;
    std::erase_if(traced.program.code, [&](auto&) { return !kept[next++]; });
    next = 0;
    std::erase_if(traced.effects, [&](auto&) { return !kept[next++]; });
}

namespace {

bool is_true(const Instruction& instruction, std::size_t argument) {
    if (argument >= instruction.inputs.size()) return false;
    const auto& value = instruction.inputs[argument].constant;
    return value.isBool() && value.toBool();
}

constexpr std::size_t RETAIN_GRAPH = 3, CREATE_GRAPH = 4;  // arguments of aten::grad

}  // namespace

bool keeps_graph(const Instruction& gradient) {
    return is_true(gradient, RETAIN_GRAPH) || creates_graph(gradient);
}

bool creates_graph(const Instruction& gradient) { return is_true(gradient, CREATE_GRAPH); }

}  // namespace nvalchemi
