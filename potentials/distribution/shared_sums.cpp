// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/shared_sums.hpp"

#include <algorithm>
#include <unordered_set>

namespace nvalchemi {

namespace {

/// Takes a part of its operand, or shows it in another shape.
bool makes_pieces(const TracedProgram& traced, std::size_t at) {
    static const std::unordered_set<std::string> known{
        "aten::select",    "aten::slice",   "aten::narrow", "aten::unbind",
        "aten::split",     "aten::chunk",   "aten::view",   "aten::reshape",
        "aten::unsqueeze", "aten::squeeze", "aten::flatten"};
    const auto& instruction = traced.program.code[at];
    return known.count(instruction.name) > 0 && traced.effects[at].mutates == NO_SLOT &&
           !instruction.inputs.empty() && instruction.inputs[0].slot != NO_SLOT;
}

bool reads(const Instruction& instruction, Slot slot) {
    std::vector<Slot> read;
    for (const auto& input : instruction.inputs) input.append_slots(read);
    return std::find(read.begin(), read.end(), slot) != read.end();
}

bool is_written(const TracedProgram& traced, Slot slot) {
    return std::any_of(traced.effects.begin(), traced.effects.end(), [&](const Effect& effect) {
        return effect.mutates != NO_SLOT && traced.alias_set[effect.mutates] >= 0 &&
               traced.alias_set[effect.mutates] == traced.alias_set[slot];
    });
}

bool all_uses_need_the_sum(const TracedProgram& traced, const StateReplay& replay, Slot slot) {
    for (const auto& output : traced.program.outputs)
        if (output.slot == slot) return false;
    for (std::size_t at = 0; at < traced.program.code.size(); ++at) {
        const auto& instruction = traced.program.code[at];
        if (!reads(instruction, slot)) continue;
        const bool needed = std::any_of(
            replay.shortfalls.begin(), replay.shortfalls.end(), [&](const Shortfall& shortfall) {
                return shortfall.need == Shortfall::Need::Replicated &&
                       shortfall.instruction == at && shortfall.slot == slot;
            });
        if (needed) continue;
        if (!makes_pieces(traced, at)) return false;
        for (const auto piece : instruction.outputs)
            if (!all_uses_need_the_sum(traced, replay, piece)) return false;
    }
    return true;
}

}  // namespace

Slot value_to_sum(const TracedProgram& traced, const StateReplay& replay, Slot slot) {
    for (std::size_t at = traced.program.code.size(); at-- > 0;) {
        const auto& instruction = traced.program.code[at];
        const auto& outputs = instruction.outputs;
        if (std::find(outputs.begin(), outputs.end(), slot) == outputs.end()) continue;
        if (!makes_pieces(traced, at)) break;
        const Slot whole = instruction.inputs[0].slot;
        if (!replay.final_states[whole].partial || is_written(traced, whole) ||
            !all_uses_need_the_sum(traced, replay, whole))
            break;
        slot = whole;
    }
    return slot;
}

std::size_t first_reader(const TracedProgram& traced, Slot slot) {
    std::size_t at = 0;
    while (at < traced.program.code.size() && !reads(traced.program.code[at], slot)) ++at;
    return at;
}

}  // namespace nvalchemi
