// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/distribution_pass.hpp"

#include <algorithm>
#include <set>

#include "potentials/distribution/row_states.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

/// Edits a traced program in place.
class ProgramEditor {
  public:
    explicit ProgramEditor(TracedProgram& traced) : traced_(traced) {}

    Slot new_slot(Slot like) {
        traced_.facts.push_back(traced_.facts[like]);
        traced_.alias_set.push_back(next_alias_set());
        return traced_.program.slot_count++;
    }

    void insert(std::size_t at, Instruction instruction, Effect effect) {
        traced_.program.code.insert(traced_.program.code.begin() + at, std::move(instruction));
        traced_.effects.insert(traced_.effects.begin() + at, std::move(effect));
    }

    /// Insert a call of a registered operator; returns the slot of its result.
    Slot insert_call(std::size_t at, const std::string& name, const std::string& overload,
                     std::vector<Operand> inputs, Slot like, Effect effect = {}) {
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

    void replace_reads(std::size_t from, Slot old_slot, Slot new_slot) {
        for (std::size_t at = from; at < traced_.program.code.size(); ++at)
            replace_reads_of(at, old_slot, new_slot);
        for (auto& output : traced_.program.outputs) replace_in(output, old_slot, new_slot);
    }

    void replace_reads_of(std::size_t at, Slot old_slot, Slot new_slot) {
        for (auto& input : traced_.program.code[at].inputs) replace_in(input, old_slot, new_slot);
        for (auto& slot : traced_.effects[at].reads_any_row)
            if (slot == old_slot) slot = new_slot;
        if (traced_.effects[at].mutates == old_slot) traced_.effects[at].mutates = new_slot;
    }

    /// True if another slot with the same storage is read from instruction `from` on.
    bool shares_storage_later(Slot slot, std::size_t from) const {
        for (std::size_t at = from; at < traced_.program.code.size(); ++at) {
            bool found = false;
            auto instruction = traced_.program.code[at];
            for (auto& input : instruction.inputs)
                input.for_each_slot([&](Slot& other) {
                    found |= other != slot && traced_.alias_set[other] >= 0 &&
                             traced_.alias_set[other] == traced_.alias_set[slot];
                });
            if (found) return true;
        }
        return false;
    }

    bool is_written_later(Slot slot, std::size_t from) const {
        for (std::size_t at = from; at < traced_.program.code.size(); ++at) {
            const auto mutated = traced_.effects[at].mutates;
            if (mutated != NO_SLOT && traced_.alias_set[mutated] == traced_.alias_set[slot])
                return true;
        }
        return false;
    }

    /// Number of instructions before `limit` after which `slot` holds its value; nothing if it is
    /// written later through another tensor that shares its storage.
    std::optional<std::size_t> settled_after(Slot slot, std::size_t limit) const {
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
        if (is_written_later(slot, settled) && shares_storage_later(slot, settled))
            return std::nullopt;
        return settled;
    }

  private:
    static void replace_in(Operand& operand, Slot old_slot, Slot new_slot) {
        operand.for_each_slot([&](Slot& slot) {
            if (slot == old_slot) slot = new_slot;
        });
    }
    int next_alias_set() const {
        return 1 + *std::max_element(traced_.alias_set.begin(), traced_.alias_set.end());
    }

    TracedProgram& traced_;
};

/// Drop what no declared output depends on. A write is kept while its storage is read.
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

class DistributionPass {
  public:
    explicit DistributionPass(TracedProgram& traced) : traced_(traced), edit_(traced) {}

    void run(const ModelCard& card) {
        remove_dead(traced_);
        correct_sender_sums();
        while (mend_first_shortfall()) {
        }
        sum_declared_outputs(card);
        require_partial_scalars();
        shield_fresh_rows();
        note_whole_outputs();
        thread_token();
        traced_.program.compute_releases();
    }

  private:
    Effect exchange_effect() const {
        Effect effect;
        effect.rows = Effect::Rows::Complete;
        effect.is_exchange = true;
        return effect;
    }

    /// acc.scatter(senders, m) becomes acc + halo_correct(zeros.scatter(senders, m)): only the
    /// increment may be folded, once, before anything else sees it.
    void correct_sender_sums() {
        for (std::size_t at = 0; at < traced_.program.code.size(); ++at) {
            if (!traced_.effects[at].corrects) continue;
            const auto target = traced_.program.code[at].inputs[0];
            const bool in_place = traced_.effects[at].mutates != NO_SLOT;
            if (target.slot == NO_SLOT)
                throw ModelError(
                    "cannot distribute the model: " + describe(traced_.program.code[at]) +
                    ": edges are summed per sender into a constant");
            const Operand none = Operand::of_constant(c10::IValue());
            const Slot zeros = edit_.insert_call(at, "aten::zeros_like", "",
                                                 {target, none, none, none, none, none},
                                                 target.slot, exchange_effect_without_message());
            auto& scatter = traced_.program.code[at + 1];
            auto& effect = traced_.effects[at + 1];
            const Slot result = scatter.outputs[0];
            const Slot increment = edit_.new_slot(target.slot);
            scatter.inputs[0] = Operand::of_slot(zeros);
            scatter.outputs[0] = increment;
            effect.corrects = false;
            effect.rows = Effect::Rows::Stale;
            effect.mutates = NO_SLOT;
            const Slot folded =
                edit_.insert_call(at + 2, "nvalchemi_lmp::halo_correct", "ordered",
                                  {Operand::of_slot(increment)}, target.slot, exchange_effect());
            Effect sum;
            sum.partial_use = PartialUse::Additive;
            if (in_place) sum.mutates = target.slot;
            edit_.insert_call(
                at + 3, in_place ? "aten::add_" : "aten::add", "Tensor",
                {target, Operand::of_slot(folded), Operand::of_constant(std::int64_t(1))},
                target.slot, sum);
            traced_.program.code[at + 3].outputs[0] = result;
            at += 3;
        }
    }

    Effect exchange_effect_without_message() const {
        Effect effect;
        effect.rows = Effect::Rows::Complete;
        return effect;
    }

    bool mend_first_shortfall() {
        const auto replay = replay_states(traced_);
        if (replay.shortfalls.empty()) return false;
        const auto& shortfall = replay.shortfalls.front();
        if (shortfall.need == Shortfall::Need::Replicated)
            replicate(shortfall);
        else
            refresh(shortfall);
        return true;
    }

    void replicate(const Shortfall& shortfall) {
        auto known = replicated_.find(shortfall.slot);
        auto at = shortfall.instruction;
        if (known == replicated_.end()) {
            Effect effect;
            effect.is_exchange = true;
            effect.makes_replicated = true;
            const Slot sum =
                edit_.insert_call(at, "nvalchemi_lmp::system_sum", "ordered",
                                  {Operand::of_slot(shortfall.slot)}, shortfall.slot, effect);
            known = replicated_.emplace(shortfall.slot, sum).first;
            ++at;
        }
        // an in-place operator changes the sum: what follows must see that
        if (traced_.effects[at].mutates == shortfall.slot) {
            edit_.replace_reads(at, shortfall.slot, known->second);
            replicated_.erase(known);
        } else {
            edit_.replace_reads_of(at, shortfall.slot, known->second);
        }
    }

    struct Cut {
        Slot slot = NO_SLOT;
        std::size_t at = 0;
        std::size_t remaining = 0;
    };

    /// Values on rows that the operand of `shortfall` was computed from, itself included.
    std::set<Slot> row_ancestors(const Shortfall& shortfall) const {
        std::set<Slot> found{shortfall.slot};
        for (std::size_t at = shortfall.instruction; at-- > 0;) {
            auto instruction = traced_.program.code[at];
            const auto mutated = traced_.effects[at].mutates;
            bool produces = false;
            for (const auto slot : found) {
                produces |= std::find(instruction.outputs.begin(), instruction.outputs.end(),
                                      slot) != instruction.outputs.end();
                produces |=
                    mutated != NO_SLOT && traced_.alias_set[mutated] == traced_.alias_set[slot];
            }
            if (!produces) continue;
            for (auto& input : instruction.inputs)
                input.for_each_slot([&](Slot& slot) {
                    if (traced_.facts[slot].on_rows()) found.insert(slot);
                });
        }
        return found;
    }

    /// Of all single values whose refresh makes this read right, the one that makes most reads
    /// right, then the narrowest, then the latest.
    void refresh(const Shortfall& shortfall) {
        std::optional<Cut> best;
        for (const auto slot : row_ancestors(shortfall)) {
            const auto& facts = traced_.facts[slot];
            if (facts.is_position || !facts.exchangeable || !facts.on_all_rows()) continue;
            if (facts.dims[facts.placed_dim()].factor != 1) continue;
            const auto at = edit_.settled_after(slot, shortfall.instruction);
            if (!at) continue;
            const auto replay = replay_states(traced_, {{slot, *at}});
            if (fails(replay, shortfall) || replay.final_states[slot].position) continue;
            const Cut cut{slot, *at, replay.shortfalls.size()};
            if (!best || better(cut, *best)) best = cut;
        }
        if (!best) refuse_read(shortfall);
        insert_refresh(*best);
    }

    static bool fails(const StateReplay& replay, const Shortfall& shortfall) {
        return std::any_of(replay.shortfalls.begin(), replay.shortfalls.end(), [&](const auto& s) {
            return s.need == shortfall.need && s.instruction == shortfall.instruction &&
                   s.slot == shortfall.slot;
        });
    }

    bool better(const Cut& cut, const Cut& best) const {
        if (cut.remaining != best.remaining) return cut.remaining < best.remaining;
        const auto width = traced_.facts[cut.slot].width, other = traced_.facts[best.slot].width;
        if (width != other) return width < other;
        return cut.at > best.at;
    }

    [[noreturn]] void refuse_read(const Shortfall& shortfall) const {
        const auto& instruction = traced_.program.code[shortfall.instruction];
        const bool position = replay_states(traced_).final_states[shortfall.slot].position;
        throw ModelError(
            "cannot distribute the model: " + describe(instruction) +
            ": it reads rows of senders " +
            (position ? "from positions that the model changed or, with folded rows, from "
                        "positions at all; use edge vectors, or rows \"raw\" in the card"
                      : "that hold other ranks' atoms, and no value before it can be refreshed"));
    }

    void insert_refresh(const Cut& cut) {
        const int dim = traced_.facts[cut.slot].placed_dim();
        auto at = cut.at;
        Slot source = cut.slot;
        const auto moved = [&](Slot slot) {
            Effect effect;
            effect.partial_use = PartialUse::Passthrough;
            return edit_.insert_call(at++, "aten::transpose", "int",
                                     {Operand::of_slot(slot), Operand::of_constant(std::int64_t(0)),
                                      Operand::of_constant(std::int64_t(dim))},
                                     slot, effect);
        };
        const auto swap_dims = [&](Slot slot) {
            std::swap(traced_.facts[slot].dims[0], traced_.facts[slot].dims[dim]);
        };
        if (dim != 0) swap_dims(source = moved(source));
        Slot fresh = edit_.insert_call(at++, "nvalchemi_lmp::halo_forward", "ordered",
                                       {Operand::of_slot(source)}, source, exchange_effect());
        if (dim != 0) swap_dims(fresh = moved(fresh));
        edit_.replace_reads(at, cut.slot, fresh);
    }

    /// Per-graph outputs other than energies are reported whole.
    void sum_declared_outputs(const ModelCard& card) {
        const auto states = replay_states(traced_).final_states;
        for (std::size_t k = 0; k < card.outputs.size(); ++k) {
            const auto& spec = card.outputs[k];
            auto& output = traced_.program.outputs[k];
            const bool whole = spec.role == OutputRole::Other || spec.role == OutputRole::Charges;
            if (!whole || output.slot == NO_SLOT || !states[output.slot].partial) continue;
            Effect effect;
            effect.is_exchange = effect.makes_replicated = true;
            output.slot =
                edit_.insert_call(traced_.program.code.size(), "nvalchemi_lmp::system_sum",
                                  "ordered", {Operand::of_slot(output.slot)}, output.slot, effect);
        }
    }

    void note_whole_outputs() {
        const auto states = replay_states(traced_).final_states;
        for (const auto& output : traced_.program.outputs)
            traced_.program.whole.push_back(output.slot == NO_SLOT || !states[output.slot].spread);
    }

    /// A gradient inside the model has seed 1 on every rank: its scalar must be this rank's part.
    void require_partial_scalars() {
        const auto replay = replay_states(traced_);
        for (std::size_t at = 0; at < traced_.program.code.size(); ++at) {
            if (!traced_.effects[at].differentiates) continue;
            for (const auto& scalar : traced_.program.code[at].inputs[0].items)
                if (traced_.facts[scalar.slot].space() == SPACE_NONE &&
                    !replay.final_states[scalar.slot].partial)
                    throw ModelError(
                        "cannot distribute the model: " + describe(traced_.program.code[at]) +
                        ": it differentiates a value that is the same on every rank; "
                        "expected this rank's part of the energy (a sum over rows)");
        }
    }

    /// Where fresh rows enter a computation whose halo rows mean nothing, its derivative there can
    /// be NaN: zero times NaN would reach the owners through the exchange's transpose.
    void shield_fresh_rows() {
        const auto replay = replay_states(traced_);
        const auto count = traced_.program.code.size();
        std::map<Slot, Slot> shielded;
        std::size_t inserted = 0;
        for (std::size_t original = 0; original < count; ++original) {
            if (!replay.result_is_stale[original]) continue;
            for (const auto slot : fresh_operands(original + inserted, replay.operands[original]))
                inserted += slot == traced_.effects[original + inserted].mutates
                                ? shield_target(original + inserted, slot)
                                : shield(original + inserted, slot, shielded);
        }
    }

    std::set<Slot> fresh_operands(std::size_t at, const std::vector<RowState>& states) {
        const auto& effect = traced_.effects[at];
        const auto& any = effect.reads_any_row;
        std::set<Slot> fresh;
        std::size_t next = 0;
        for (auto& input : traced_.program.code[at].inputs)
            input.for_each_slot([&](Slot& slot) {
                const auto& state = states[next++];
                const auto& facts = traced_.facts[slot];
                const bool gathered = std::find(any.begin(), any.end(), slot) != any.end();
                const bool carries_gradient =
                    slot == effect.mutates ? effect.target_differentiable : facts.differentiable;
                if (facts.on_rows() && carries_gradient && facts.floating && !gathered &&
                    !state.stale && !state.position)
                    fresh.insert(slot);
            });
        return fresh;
    }

    bool can_be_shielded(Slot slot) const {
        return traced_.facts[slot].placed_dim() == 0 &&
               traced_.facts[slot].dims[0] == Dim{SPACE_NODE, 1};
    }

    Slot insert_shield(std::size_t at, Slot slot) {
        return edit_.insert_call(at, "nvalchemi_lmp::drop_halo_gradient", "",
                                 {Operand::of_slot(slot)}, slot);
    }

    Slot insert_copy(std::size_t at, Slot slot) {
        Effect effect;
        effect.partial_use = PartialUse::Passthrough;
        return edit_.insert_call(at, "aten::clone", "",
                                 {Operand::of_slot(slot), Operand::of_constant(c10::IValue())},
                                 slot, effect);
    }

    /// The target of an in-place operator: a shielded copy takes its place from here on.
    std::size_t shield_target(std::size_t at, Slot slot) {
        if (!can_be_shielded(slot)) return 0;
        if (edit_.shares_storage_later(slot, at))
            throw ModelError("cannot distribute the model: " + describe(traced_.program.code[at]) +
                             ": it changes a tensor in place of which another view is used; write "
                             "it without the trailing underscore");
        const Slot copy = insert_copy(at + 1, insert_shield(at, slot));
        edit_.replace_reads(at + 2, slot, copy);
        return 2;
    }

    std::size_t shield(std::size_t at, Slot slot, std::map<Slot, Slot>& shielded) {
        std::size_t inserted = 0;
        if (!can_be_shielded(slot)) return 0;
        // torch forbids in-place changes of what a shield's view refers to: shield a copy then
        if (edit_.is_written_later(slot, at)) {
            const Slot copy = insert_copy(at, slot);
            edit_.replace_reads_of(at + 2, slot, insert_shield(at + 1, copy));
            return 2;
        }
        if (shielded.count(slot) == 0) {
            shielded[slot] = insert_shield(at, slot);
            inserted = 1;
        }
        edit_.replace_reads_of(at + inserted, slot, shielded[slot]);
        return inserted;
    }

    /// Every exchange takes the previous one's token; a gradient inside the model depends on the
    /// last: so all ranks communicate in one order, backward too.
    void thread_token() {
        Slot token = traced_.program.token_in;
        for (std::size_t at = 0; at < traced_.program.code.size(); ++at) {
            if (traced_.effects[at].is_exchange) {
                traced_.program.code[at].inputs.push_back(Operand::of_slot(token));
                token = edit_.new_slot(token);
                traced_.program.code[at].outputs.push_back(token);
            } else if (traced_.effects[at].differentiates && token != traced_.program.token_in) {
                const Slot zero = edit_.insert_call(
                    at++, "aten::mul", "Scalar",
                    {Operand::of_slot(token), Operand::of_constant(std::int64_t(0))}, token);
                const auto scalar = traced_.program.code[at].inputs[0].items[0];
                const Slot tied = edit_.insert_call(
                    at++, "aten::add", "Tensor",
                    {scalar, Operand::of_slot(zero), Operand::of_constant(std::int64_t(1))},
                    scalar.slot);
                traced_.program.code[at].inputs[0].items[0] = Operand::of_slot(tied);
            }
        }
        traced_.program.token_out = Operand::of_slot(token);
    }

    TracedProgram& traced_;
    ProgramEditor edit_;
    std::map<Slot, Slot> replicated_;
};

}  // namespace

void distribute(TracedProgram& traced, const ModelCard& card) {
    DistributionPass(traced).run(card);
}

std::vector<PlannedExchange> planned_exchanges(const TracedProgram& traced) {
    std::vector<PlannedExchange> exchanges;
    for (std::size_t at = 0; at < traced.program.code.size(); ++at) {
        if (!traced.effects[at].is_exchange) continue;
        const auto& instruction = traced.program.code[at];
        exchanges.push_back({instruction.name.substr(instruction.name.rfind(':') + 1),
                             traced.facts[instruction.outputs[0]].width, instruction.source,
                             instruction.module});
    }
    return exchanges;
}

}  // namespace nvalchemi
