// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/overlap_pass.hpp"

#include <algorithm>
#include <map>

#include "potentials/distribution/program_editor.hpp"

namespace nvalchemi {

namespace {

constexpr std::size_t NONE = static_cast<std::size_t>(-1);

std::vector<Slot> slots_read_by(const Instruction& instruction) {
    std::vector<Slot> slots;
    for (const auto& input : instruction.inputs) input.append_slots(slots);
    return slots;
}

/// A collective or a gradient, in which there are some; with what is to run while it is under way.
struct Stop {
    std::size_t at = NONE;  ///< NONE: the end of the program
    bool splits = false;
    bool was_idle = false;
    std::vector<std::size_t> meanwhile = {};
};

class OverlapPass {
  public:
    explicit OverlapPass(TracedProgram& traced) : traced_(traced), code_(traced.program.code) {
        note_order();
        for (std::size_t at = 0; at < code_.size(); ++at)
            if (traced.effects[at].is_exchange || traced.effects[at].differentiates)
                stops_.push_back(
                    {.at = at, .splits = code_[at].name == "nvalchemi_lmp::halo_forward"});
        stops_.emplace_back();
        waits_for_stop_.assign(code_.size(), false);
        stop_waits_for_.assign(code_.size(), false);
        note_readers();
    }

    std::vector<std::int64_t> run() {
        do {
            arrange();
        } while (pin_a_reordered_reader() || keep_an_idle_exchange_whole());
        std::vector<std::int64_t> counts;
        for (const auto& stop : stops_)
            if (stop.at != NONE && traced_.effects[stop.at].is_exchange)
                counts.push_back(static_cast<std::int64_t>(stop.meanwhile.size()));
        rewrite();
        return counts;
    }

  private:
    /// What each call has to come after: who makes what it reads. All calls that have to do with a
    /// storage that one of them writes keep their order.
    void note_order() {
        std::map<Slot, std::size_t> maker;
        std::map<int, std::size_t> last_user;  // of a storage that is written somewhere
        for (const auto& effect : traced_.effects)
            if (effect.mutates != NO_SLOT) last_user[traced_.alias_set[effect.mutates]] = NONE;
        comes_after_.resize(code_.size());
        for (std::size_t at = 0; at < code_.size(); ++at) {
            auto& before = comes_after_[at];
            const auto use = [&](Slot slot) {
                const auto user = last_user.find(traced_.alias_set[slot]);
                if (traced_.alias_set[slot] < 0 || user == last_user.end()) return;
                if (user->second != NONE && user->second != at) before.push_back(user->second);
                user->second = at;
            };
            for (const auto slot : slots_read_by(code_[at])) {
                if (const auto made = maker.find(slot); made != maker.end())
                    before.push_back(made->second);
                use(slot);
            }
            if (traced_.effects[at].mutates != NO_SLOT) use(traced_.effects[at].mutates);
            for (const auto slot : code_[at].outputs) {
                maker[slot] = at;
                use(slot);
            }
        }
    }

    /// Of the values whose gradient is a sum of three or more.
    void note_readers() {
        std::map<Slot, std::vector<std::size_t>> readers;
        for (std::size_t at = 0; at < code_.size(); ++at)
            for (const auto slot : slots_read_by(code_[at]))
                if (traced_.facts[slot].differentiable && passes_gradient(at))
                    readers[slot].push_back(at);
        for (const auto& [slot, calls] : readers)
            if (calls.size() > 2) ordered_readers_.push_back(calls);
    }

    bool passes_gradient(std::size_t at) const {
        const auto& made = code_[at].outputs;
        return !traced_.effects[at].ignores_values &&
               std::any_of(made.begin(), made.end(),
                           [&](Slot slot) { return traced_.facts[slot].differentiable; });
    }

    /// Divide the calls between each two collectives: what the second one waits for runs while the
    /// first is under way, where it can, or else after it; the rest while the second is under way.
    /// What could run beside either of them goes to the first if that had nothing to do.
    void arrange() {
        for (auto& stop : stops_) stop.meanwhile.clear();
        between_.assign(stops_.size(), {});
        std::size_t first = 0;
        for (std::size_t next = 0; next < stops_.size(); ++next) {
            const auto last = stops_[next].at == NONE ? code_.size() : stops_[next].at;
            divide(first, last, next);
            first = last + 1;
        }
    }

    void divide(std::size_t first, std::size_t last, std::size_t next) {
        const bool begins_free = next > 0 && stops_[next - 1].splits;
        const bool ends_free = stops_[next].splits;
        std::vector<bool> after(last - first), before(last - first);
        for (auto at = first; at < last; ++at) {
            bool waits = !begins_free || waits_for_stop_[at] || traced_.effects[at].must_run;
            for (const auto earlier : comes_after_[at])
                waits |= earlier + 1 == first || (earlier >= first && after[earlier - first]);
            after[at - first] = waits;
        }
        const auto require = [&](std::size_t at) {
            for (const auto earlier : comes_after_[at])
                if (earlier >= first) before[earlier - first] = true;
        };
        if (last < code_.size()) require(last);
        for (auto at = last; at-- > first;) {
            if (!ends_free || stop_waits_for_[at] || traced_.effects[at].must_run)
                before[at - first] = true;
            if (before[at - first]) require(at);
        }
        for (auto at = first; at < last; ++at) {
            const bool ahead = !after[at - first];
            if (ahead && (before[at - first] || stops_[next - 1].was_idle))
                stops_[next - 1].meanwhile.push_back(at);
            else if (before[at - first])
                between_[next].push_back(at);
            else
                stops_[next].meanwhile.push_back(at);
        }
    }

    /// A value's readers in another order would give its gradient other bits.
    bool pin_a_reordered_reader() {
        std::vector<std::size_t> place(code_.size());
        std::size_t count = 0;
        for (std::size_t k = 0; k < stops_.size(); ++k) {
            for (const auto at : between_[k]) place[at] = count++;
            if (stops_[k].at != NONE) place[stops_[k].at] = count++;
            for (const auto at : stops_[k].meanwhile) place[at] = count++;
        }
        for (const auto& readers : ordered_readers_)
            for (std::size_t k = 1; k < readers.size(); ++k) {
                if (place[readers[k - 1]] <= place[readers[k]]) continue;
                if (is_ahead(readers[k]))
                    waits_for_stop_[readers[k]] = true;
                else
                    stop_waits_for_[readers[k - 1]] = true;
                return true;
            }
        return false;
    }

    /// Whether a call has been moved before those that wait for the collective before it.
    bool is_ahead(std::size_t at) const {
        return std::any_of(stops_.begin(), stops_.end(), [&](const Stop& stop) {
            return stop.at != NONE && stop.at < at &&
                   std::find(stop.meanwhile.begin(), stop.meanwhile.end(), at) !=
                       stop.meanwhile.end();
        });
    }

    bool keep_an_idle_exchange_whole() {
        for (auto& stop : stops_) {
            const bool works = std::any_of(stop.meanwhile.begin(), stop.meanwhile.end(),
                                           [&](std::size_t at) { return is_work(at); });
            if (!stop.splits || works) continue;
            stop.splits = !stop.was_idle;
            stop.was_idle = true;
            return true;
        }
        return false;
    }

    /// Makes new numbers for rows or edges: more than another view of what is there.
    bool is_work(std::size_t at) const {
        const auto read = slots_read_by(code_[at]);
        return std::any_of(code_[at].outputs.begin(), code_[at].outputs.end(), [&](Slot made) {
            const auto& facts = traced_.facts[made];
            return facts.floating && facts.placed_dim() >= 0 &&
                   std::none_of(read.begin(), read.end(), [&](Slot slot) {
                       return traced_.alias_set[slot] == traced_.alias_set[made];
                   });
        });
    }

    void rewrite() {
        auto old_code = std::move(traced_.program.code);
        auto old_effects = std::move(traced_.effects);
        traced_.program.code.clear();
        traced_.effects.clear();
        ProgramEditor edit(traced_);
        const auto append = [&](std::size_t at) {
            edit.insert(traced_.program.code.size(), std::move(old_code[at]),
                        std::move(old_effects[at]));
        };
        for (std::size_t k = 0; k < stops_.size(); ++k) {
            for (const auto at : between_[k]) append(at);
            const auto& stop = stops_[k];
            if (stop.at == NONE) break;
            if (!stop.splits) {
                append(stop.at);
                continue;
            }
            auto begin = old_code[stop.at], end = old_code[stop.at];
            const Slot under_way = edit.new_slot(begin.outputs[0]);
            const Slot token = edit.new_slot(begin.outputs[1]);
            begin.name = FlatProgram::BEGIN;
            begin.run = registered_operator(begin.name, "ordered");
            begin.outputs = {under_way, token};
            end.name = FlatProgram::END;
            end.run = registered_operator(end.name, "ordered");
            end.inputs = {Operand::of_slot(under_way), Operand::of_slot(token)};
            edit.insert(traced_.program.code.size(), std::move(begin), old_effects[stop.at]);
            for (const auto at : stop.meanwhile) append(at);
            edit.insert(traced_.program.code.size(), std::move(end), old_effects[stop.at]);
        }
        traced_.program.compute_releases();
    }

    TracedProgram& traced_;
    const std::vector<Instruction>& code_;
    std::vector<std::vector<std::size_t>> comes_after_;
    std::vector<std::vector<std::size_t>> ordered_readers_;
    std::vector<Stop> stops_;
    std::vector<std::vector<std::size_t>>
        between_;  ///< before each stop, and after what it follows
    std::vector<bool> waits_for_stop_, stop_waits_for_;  ///< of a call that must not move
};

}  // namespace

std::vector<std::int64_t> overlap_exchanges(TracedProgram& traced, const ModelCard& card) {
    bool differentiates_twice = false;
    for (std::size_t at = 0; at < traced.effects.size(); ++at)
        differentiates_twice |=
            traced.effects[at].differentiates && creates_graph(traced.program.code[at]);
    if (differentiates_twice || card.backward_communicates) {
        const auto count = std::count_if(traced.effects.begin(), traced.effects.end(),
                                         [](const Effect& effect) { return effect.is_exchange; });
        return std::vector<std::int64_t>(static_cast<std::size_t>(count), 0);
    }
    return OverlapPass(traced).run();
}

}  // namespace nvalchemi
