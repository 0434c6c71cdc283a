// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/row_states.hpp"

#include <algorithm>

namespace nvalchemi {

namespace {

class Replay {
  public:
    Replay(const TracedProgram& traced, const ReplayExtent& extent)
        : traced_(traced), extent_(extent), states_(traced.facts.size()) {
        if (extent.from != nullptr) {
            states_ = *extent.from;
            return;
        }
        for (std::size_t slot = 0; slot < states_.size(); ++slot) {
            states_[slot].position = traced.facts[slot].is_position;
            states_[slot].stale = traced.facts[slot].starts_stale;
        }
        // folded rows have no image of their own: a halo row's position is anybody's
        if (traced.folded_rows)
            for (auto& state : states_) state.stale |= state.position;
    }

    StateReplay run(const std::map<Slot, std::size_t>& refreshed) {
        const auto end = std::min(extent_.end, traced_.program.code.size());
        for (std::size_t at = extent_.begin; at < end; ++at) {
            if (extent_.remembered.count(at) > 0) result_.before[at] = states_;
            for (const auto& [slot, after] : refreshed)
                if (after == at) states_[slot].stale = false;
            step(at);
        }
        result_.final_states = states_;
        return std::move(result_);
    }

  private:
    void step(std::size_t at) {
        const auto& instruction = traced_.program.code[at];
        const auto& effect = traced_.effects[at];
        auto& read = read_;
        read.clear();
        for (const auto& operand : instruction.inputs) operand.append_slots(read);
        if (extent_.records_operands) {
            result_.operands.emplace_back();
            for (const auto slot : read) result_.operands.back().push_back(states_[slot]);
        }
        for (const auto slot : effect.reads_any_row)
            if (states_[slot].stale)
                result_.shortfalls.push_back({Shortfall::Need::Fresh, at, slot});
        const bool partial = check_partial(at, read);
        bool stale_result = false;
        for (const auto slot : instruction.outputs) {
            auto& state = states_[slot];
            const auto& facts = traced_.facts[slot];
            state = {};
            if (facts.on_rows()) {
                state = joined(effect, read);
                state.spread |= effect.differentiates;
                stale_result |= state.stale;
            } else if (facts.space() == SPACE_NONE) {
                state.partial = partial || effect.differentiates;
            }
        }
        if (effect.mutates != NO_SLOT) stale_result |= write_through(effect, read, partial);
        result_.result_is_stale.push_back(stale_result);
    }

    RowState joined(const Effect& effect, const std::vector<Slot>& read) const {
        RowState state;
        if (effect.rows == Effect::Rows::Complete) return state;
        state.stale = effect.rows == Effect::Rows::Stale;
        for (const auto slot : read) {
            if (!traced_.facts[slot].on_rows()) continue;
            if (std::find(effect.reads_any_row.begin(), effect.reads_any_row.end(), slot) !=
                effect.reads_any_row.end())
                continue;
            state.stale |= states_[slot].stale;
            state.position |= states_[slot].position;
            state.spread |= states_[slot].spread;
        }
        return state;
    }

    /// An in-place operator changes every value that shares its target's storage.
    bool write_through(const Effect& effect, const std::vector<Slot>& read, bool partial) {
        auto state = joined(effect, read);
        // written owned rows leave the halo rows of the same tensor behind
        if (traced_.facts[effect.mutates].space() == SPACE_OWNED) state.stale = true;
        const int set = traced_.alias_set[effect.mutates];
        for (std::size_t slot = 0; slot < states_.size(); ++slot) {
            if (traced_.alias_set[slot] != set) continue;
            if (traced_.facts[slot].on_rows()) states_[slot].stale |= state.stale;
            if (traced_.facts[slot].on_rows()) states_[slot].spread |= state.spread;
            if (traced_.facts[slot].space() == SPACE_NONE) states_[slot].partial |= partial;
        }
        return state.stale;
    }

    bool is_system_tensor(Slot slot) const {
        return traced_.facts[slot].space() == SPACE_NONE && traced_.alias_set[slot] >= 0;
    }

    /// Whether the result is partial; records partial operands that may not be.
    bool check_partial(std::size_t at, const std::vector<Slot>& read) {
        const auto& instruction = traced_.program.code[at];
        const auto& effect = traced_.effects[at];
        auto& partial = partial_;
        partial.clear();
        for (const auto slot : read)
            if (states_[slot].partial) partial.push_back(slot);
        if (effect.differentiates || effect.makes_replicated || effect.ignores_values ||
            multiplies_by_zero(instruction))
            return false;
        if (partial.empty()) return effect.makes_partial;
        const bool placed_result =
            std::any_of(instruction.outputs.begin(), instruction.outputs.end(),
                        [&](Slot slot) { return traced_.facts[slot].space() != SPACE_NONE; });
        if (!placed_result && is_linear(instruction, effect, partial)) return true;
        for (const auto slot : partial)
            result_.shortfalls.push_back({Shortfall::Need::Replicated, at, slot});
        return effect.makes_partial;
    }

    /// x * 0.0, which models write to tie a value to an input: zero on every rank.
    static bool multiplies_by_zero(const Instruction& instruction) {
        if (instruction.name != "aten::mul" && instruction.name != "aten::mul_") return false;
        const auto& factor = instruction.inputs[1].constant;
        return instruction.inputs[1].slot == NO_SLOT && factor.isScalar() &&
               factor.toScalar().toDouble() == 0.0;
    }

    bool is_linear(const Instruction& instruction, const Effect& effect,
                   const std::vector<Slot>& partial) const {
        switch (effect.partial_use) {
            case PartialUse::Refused: return false;
            case PartialUse::Passthrough: return true;
            case PartialUse::FirstOnly:
                return partial.size() == 1 && !instruction.inputs.empty() &&
                       instruction.inputs[0].slot == partial[0];
            case PartialUse::Multiplicative: return partial.size() == 1;
            case PartialUse::Additive: return all_terms_partial(instruction);
        }
        return false;
    }

    bool all_terms_partial(const Instruction& instruction) const {
        const auto term_is_partial = [&](const Operand& term) {
            if (term.slot != NO_SLOT)
                return !is_system_tensor(term.slot) || states_[term.slot].partial;
            return !term.constant.isTensor();
        };
        // the second term of add and sub may be a plain number, which is replicated
        if (instruction.inputs.size() > 1 && !instruction.inputs[1].is_list &&
            instruction.inputs[1].slot == NO_SLOT && !instruction.inputs[0].is_list)
            return instruction.inputs[1].constant.isBool();
        for (const auto& input : instruction.inputs) {
            for (const auto& item : input.items)
                if (!term_is_partial(item)) return false;
            if (!input.is_list && !term_is_partial(input)) return false;
        }
        return true;
    }

    const TracedProgram& traced_;
    const ReplayExtent extent_;
    std::vector<RowState> states_;
    std::vector<Slot> read_, partial_;  ///< of the present instruction
    StateReplay result_;
};

}  // namespace

StateReplay replay_states(const TracedProgram& traced, const std::map<Slot, std::size_t>& refreshed,
                          const ReplayExtent& extent) {
    return Replay(traced, extent).run(refreshed);
}

}  // namespace nvalchemi
