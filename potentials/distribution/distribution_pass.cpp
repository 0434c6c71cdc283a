// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/distribution_pass.hpp"

#include <algorithm>
#include <set>

#include "potentials/distribution/program_editor.hpp"
#include "potentials/distribution/row_states.hpp"
#include "potentials/distribution/shared_sums.hpp"
#include "potentials/session.hpp"
#include "potentials/spec_against_card.hpp"
#include "spec/json_value.hpp"
#include "spec/spec_error.hpp"

namespace nvalchemi {

namespace {

class DistributionPass {
  public:
    DistributionPass(TracedProgram& traced, const ModelCard& card)
        : traced_(traced), edit_(traced), card_(card), spec_(card.distribution()) {}

    void run() {
        remove_dead(traced_);
        correct_sender_sums();
        while (mend_first_shortfall()) {
        }
        sum_declared_outputs();
        share_replicated_scalars();
        shield_fresh_rows();
        note_whole_outputs();
        thread_token();
        traced_.program.compute_releases();
    }

  private:
    const StoragePolicy& policy() const { return spec_.distribution.policy; }
    bool folds_sums() const {
        return policy().has_halo() && policy().scatter_mode == ScatterMode::HaloCorrection;
    }
    bool refreshes_reads() const {
        return policy().kind == PolicyKind::GraphParallel ||
               (policy().has_halo() && policy().gather_mode == GatherMode::HaloRead);
    }

    [[noreturn]] void refuse_by_spec(std::size_t at, const std::string& need,
                                     const std::string& remedy) const {
        throw ModelError("cannot distribute the model: " + describe(traced_.program.code[at]) +
                         ": " + need + ", which the distribution spec does not allow; expected " +
                         remedy);
    }

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
            if (!folds_sums())
                refuse_by_spec(at, "sums over senders have to be folded into their owners' rows",
                               "policy \"halo\" with scatter_mode \"halo_correction\"");
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
            replicate(shortfall, replay);
        else
            refresh(shortfall);
        return true;
    }

    void replicate(const Shortfall& shortfall, const StateReplay& replay) {
        auto known = replicated_.find(shortfall.slot);
        auto at = shortfall.instruction;
        if (!spec_.system_reductions)
            refuse_by_spec(at, "it needs a sum over the atoms of the whole system",
                           "system_reductions true");
        const Slot whole = value_to_sum(traced_, replay, shortfall.slot);
        if (whole != shortfall.slot) {
            at = first_reader(traced_, whole);
            return edit_.replace_reads(at + 1, whole, insert_sum(at, whole));
        }
        if (known == replicated_.end()) {
            known = replicated_.emplace(shortfall.slot, insert_sum(at, shortfall.slot)).first;
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

    Slot insert_sum(std::size_t at, Slot slot) {
        Effect effect;
        effect.is_exchange = effect.makes_replicated = true;
        return edit_.insert_call(at, "nvalchemi_lmp::system_sum", "ordered",
                                 {Operand::of_slot(slot)}, slot, effect);
    }

    struct Cut {
        Slot slot = NO_SLOT;
        std::size_t at = 0;
        std::size_t remaining = 0;
    };

    /// Values on rows that the operand of `shortfall` was computed from, itself included.
    std::set<Slot> row_ancestors(const Shortfall& shortfall) const {
        std::set<Slot> found{shortfall.slot};
        std::vector<Slot> read;
        for (std::size_t at = shortfall.instruction; at-- > 0;) {
            const auto& instruction = traced_.program.code[at];
            const auto mutated = traced_.effects[at].mutates;
            bool produces = false;
            for (const auto slot : found) {
                produces |= std::find(instruction.outputs.begin(), instruction.outputs.end(),
                                      slot) != instruction.outputs.end();
                produces |=
                    mutated != NO_SLOT && traced_.alias_set[mutated] == traced_.alias_set[slot];
            }
            if (!produces) continue;
            read.clear();
            for (const auto& input : instruction.inputs) input.append_slots(read);
            for (const auto slot : read)
                if (traced_.facts[slot].on_rows()) found.insert(slot);
        }
        return found;
    }

    /// Whether the storage policy lets `slot` be refreshed, and after which instruction.
    std::optional<std::size_t> refreshable_at(Slot slot, std::size_t reader) const {
        const auto& facts = traced_.facts[slot];
        if (!refreshes_reads() && !is_scattered(slot)) return std::nullopt;
        if (facts.is_position || !facts.exchangeable || !facts.on_all_rows()) return std::nullopt;
        if (facts.dims[facts.placed_dim()].factor != 1) return std::nullopt;
        return edit_.settled_after(slot, reader);
    }

    /// Of all single values whose refresh makes this read right, the one that makes most reads
    /// right, then the narrowest, then the latest.
    void refresh(const Shortfall& shortfall) {
        if (!folds_sums() && !refreshes_reads())
            refuse_by_spec(shortfall.instruction,
                           "it reads rows of senders that have to be refreshed",
                           "policy \"halo\" with gather_mode \"halo_read\"");
        const auto present = replay_states(traced_).final_states;
        std::map<Slot, std::size_t> candidates;
        ReplayExtent until_read{.end = shortfall.instruction + 1};
        for (const auto slot : row_ancestors(shortfall)) {
            if (!present[slot].stale) continue;
            const auto at = refreshable_at(slot, shortfall.instruction);
            if (!at) continue;
            candidates.emplace(slot, *at);
            until_read.remembered.insert(*at);
        }
        // before a refresh nothing changes: what follows it tells what it is good for, and most
        // values do not make this read right, which the part up to the read tells
        const auto before = replay_states(traced_, {}, until_read).before;
        std::optional<Cut> best;
        for (const auto& [slot, at] : candidates) {
            ReplayExtent extent{
                .end = shortfall.instruction + 1, .begin = at, .from = &before.at(at)};
            if (fails(replay_states(traced_, {{slot, at}}, extent), shortfall)) continue;
            extent.end = traced_.program.code.size();
            const auto replay = replay_states(traced_, {{slot, at}}, extent);
            if (replay.final_states[slot].position) continue;
            const Cut cut{slot, at, replay.shortfalls.size()};
            if (!best || better(cut, *best)) best = cut;
        }
        if (best) return insert_refresh(*best);
        refresh_every_sum(shortfall, present);
    }

    /// Where sums over edges alone may be refreshed, a read may depend on several of them.
    void refresh_every_sum(const Shortfall& shortfall, const std::vector<RowState>& present) {
        if (refreshes_reads()) refuse_read(shortfall);
        std::map<Slot, std::size_t> cuts;
        for (const auto slot : row_ancestors(shortfall)) {
            if (!present[slot].stale) continue;
            if (const auto at = refreshable_at(slot, shortfall.instruction))
                cuts.emplace(slot, *at);
        }
        if (fails(replay_states(traced_, cuts), shortfall)) refuse_read(shortfall);
        std::vector<std::pair<std::size_t, Slot>> latest_first;
        for (const auto& [slot, at] : cuts) latest_first.emplace_back(at, slot);
        std::sort(latest_first.rbegin(), latest_first.rend());
        for (const auto& [at, slot] : latest_first) insert_refresh({slot, at, 0});
    }

    /// A sum over edges: where scatter_mode "halo_correction" alone puts a refresh. A sum in place
    /// is read as its target.
    bool is_scattered(Slot slot) const {
        for (std::size_t at = 0; at < traced_.program.code.size(); ++at) {
            const auto& outputs = traced_.program.code[at].outputs;
            if (traced_.effects[at].rows == Effect::Rows::Stale &&
                (traced_.effects[at].mutates == slot ||
                 std::find(outputs.begin(), outputs.end(), slot) != outputs.end()))
                return true;
        }
        return false;
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

    /// Outputs of the whole system are reported whole, other than those that LAMMPS itself sums
    /// over ranks.
    void sum_declared_outputs() {
        const auto states = replay_states(traced_).final_states;
        for (std::size_t k = 0; k < card_.outputs.size(); ++k) {
            const auto& declared = card_.outputs[k];
            auto& output = traced_.program.outputs[k];
            const bool partial = output.slot != NO_SLOT && states[output.slot].partial;
            check_reduction(declared, partial);
            const bool whole =
                declared.role == OutputRole::Other || declared.role == OutputRole::Charges;
            if (!whole || !partial) continue;
            output.slot = insert_sum(traced_.program.code.size(), output.slot);
        }
    }

    /// What the spec says of an output's reduction against what the model does.
    void check_reduction(const OutputSpec& declared, bool partial) const {
        const bool reduce = mean_output(spec_.all_reduce_outputs, declared);
        if (reduce && declared.kind != OutputKind::PerNode && !partial)
            throw SpecError("distribution spec", "/all_reduce_outputs",
                            "got output " + in_quotes(declared.key) +
                                ", expected outputs that hold this rank's part (the model has it "
                                "summed over ranks already: a second sum would make it as many "
                                "times too large as there are ranks; remove it from "
                                "all_reduce_outputs)");
        for (const auto& [name, kind] : spec_.output_kinds)
            if (kind == OutputKind::Global && partial && means_output(name, declared))
                throw SpecError("distribution spec", "/output_kinds",
                                "got kind \"global\" for output " + in_quotes(name) +
                                    ", expected \"per_graph\" (it holds this rank's part of a "
                                    "sum, which is not the same on every rank)");
    }

    void note_whole_outputs() {
        const auto states = replay_states(traced_).final_states;
        for (const auto& output : traced_.program.outputs)
            traced_.program.whole.push_back(output.slot == NO_SLOT || !states[output.slot].spread);
    }

    /// A gradient inside the model has seed 1 on every rank, so that what it differentiates must be
    /// this rank's part: of a value that every rank has, one part in as many as there are ranks.
    void share_replicated_scalars() {
        const auto states = replay_states(traced_).final_states;
        for (std::size_t at = 0; at < traced_.program.code.size(); ++at) {
            if (!traced_.effects[at].differentiates) continue;
            const auto count = traced_.program.code[at].inputs[0].items.size();
            for (std::size_t k = 0; k < count; ++k) {
                const auto scalar = traced_.program.code[at].inputs[0].items[k];
                if (traced_.facts[scalar.slot].space() != SPACE_NONE || states[scalar.slot].partial)
                    continue;
                Effect effect;
                effect.makes_partial = true;
                const Slot part = edit_.insert_call(at++, "nvalchemi_lmp::share", "", {scalar},
                                                    scalar.slot, effect);
                traced_.program.code[at].inputs[0].items[k] = Operand::of_slot(part);
            }
        }
    }

    /// Where fresh rows enter a computation whose halo rows mean nothing, its derivative there can
    /// be NaN: zero times NaN would reach the owners through the exchange's transpose.
    void shield_fresh_rows() {
        const auto replay = replay_states(traced_, {}, {.records_operands = true});
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
    /// last: so all ranks communicate in one order, backward too. A gradient that frees its graph
    /// has made its exchanges, and a new chain begins.
    void thread_token() {
        Slot token = traced_.program.token_in;
        for (std::size_t at = 0; at < traced_.program.code.size(); ++at) {
            if (traced_.effects[at].is_exchange) {
                traced_.program.code[at].inputs.push_back(Operand::of_slot(token));
                token = edit_.new_slot(token);
                traced_.program.code[at].outputs.push_back(token);
            } else if (traced_.effects[at].differentiates && token != traced_.program.token_in) {
                const Slot chain = token;
                const Slot zero = edit_.insert_call(
                    at++, "aten::mul", "Scalar",
                    {Operand::of_slot(chain), Operand::of_constant(std::int64_t(0))}, chain);
                const auto scalar = traced_.program.code[at].inputs[0].items[0];
                const Slot tied = edit_.insert_call(
                    at++, "aten::add", "Tensor",
                    {scalar, Operand::of_slot(zero), Operand::of_constant(std::int64_t(1))},
                    scalar.slot);
                traced_.program.code[at].inputs[0].items[0] = Operand::of_slot(tied);
                if (!keeps_graph(traced_.program.code[at])) token = traced_.program.token_in;
            }
        }
        traced_.program.token_out = Operand::of_slot(token);
    }

    TracedProgram& traced_;
    ProgramEditor edit_;
    const ModelCard& card_;
    const MLIPSpec& spec_;
    std::map<Slot, Slot> replicated_;
};

}  // namespace

void distribute(TracedProgram& traced, const ModelCard& card) {
    DistributionPass(traced, card).run();
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
