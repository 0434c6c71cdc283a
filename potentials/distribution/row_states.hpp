// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_ROW_STATES_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_ROW_STATES_HPP

#include <map>
#include <set>
#include <vector>

#include "potentials/distribution/placement.hpp"

namespace nvalchemi {

/// What a value is worth beyond this rank's owned rows, at one point of the program.
struct RowState {
    bool stale = false;     ///< halo rows differ from their owners' rows
    bool position = false;  ///< halo rows carry their image's shift
    bool spread = false;    ///< halo rows hold parts of sums that belong to their owners
    bool partial = false;   ///< a system value whose truth is the sum over ranks (kind P)
};

/// An operand that is not what the instruction needs.
struct Shortfall {
    enum class Need { Fresh, Replicated };
    Need need = Need::Fresh;
    std::size_t instruction = 0;
    Slot slot = NO_SLOT;
};

struct StateReplay {
    std::vector<Shortfall> shortfalls;            ///< in program order
    std::vector<RowState> final_states;           ///< one for each slot
    std::vector<bool> result_is_stale;            ///< one for each instruction
    std::vector<std::vector<RowState>> operands;  ///< states of the slots each instruction read
    std::map<std::size_t, std::vector<RowState>> before;  ///< states before chosen instructions
};

/// How much of a program is followed, and what is kept of it.
struct ReplayExtent {
    std::size_t end = static_cast<std::size_t>(-1);  ///< number of instructions
    bool records_operands = false;                   ///< fill StateReplay::operands
    std::set<std::size_t> remembered = {};           ///< of StateReplay::before
    std::size_t begin = 0;                           ///< where to begin, with the states `from`
    const std::vector<RowState>* from = nullptr;     ///< states before `begin`; null: of the inputs
};

/// Follow the states of all values through the program. `refreshed[slot] = n` supposes that `slot`
/// becomes fresh after the first n instructions.
StateReplay replay_states(const TracedProgram& traced,
                          const std::map<Slot, std::size_t>& refreshed = {},
                          const ReplayExtent& extent = {});

}  // namespace nvalchemi

#endif
