// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_PROGRAM_EDITOR_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_PROGRAM_EDITOR_HPP

#include <optional>
#include <string>
#include <vector>

#include "potentials/distribution/placement.hpp"

namespace nvalchemi {

/// Edits a traced program in place.
class ProgramEditor {
  public:
    explicit ProgramEditor(TracedProgram& traced) : traced_(traced) {}

    /// A slot with the facts of `like` and a storage of its own.
    Slot new_slot(Slot like);
    void insert(std::size_t at, Instruction instruction, Effect effect);
    /// Insert a call of a registered operator; returns the slot of its result.
    Slot insert_call(std::size_t at, const std::string& name, const std::string& overload,
                     std::vector<Operand> inputs, Slot like, Effect effect = {});
    /// Let everything from instruction `from` on, outputs included, read `new_slot` instead.
    void replace_reads(std::size_t from, Slot old_slot, Slot new_slot);
    void replace_reads_of(std::size_t at, Slot old_slot, Slot new_slot);
    /// True if another slot with the same storage is read from instruction `from` on.
    bool shares_storage_later(Slot slot, std::size_t from) const;
    bool is_written_later(Slot slot, std::size_t from) const;
    /// Number of instructions before `limit` after which `slot` holds its value; nothing if it is
    /// written later through another tensor that shares its storage.
    std::optional<std::size_t> settled_after(Slot slot, std::size_t limit) const;

  private:
    int next_alias_set() const;

    TracedProgram& traced_;
};

/// Drop what no declared output depends on. A write is kept while its storage is read.
void remove_dead(TracedProgram& traced);

/// Whether a call of aten::grad keeps the graph that it goes through, so that another may follow
/// it.
bool keeps_graph(const Instruction& gradient);
/// Whether its result may be differentiated again.
bool creates_graph(const Instruction& gradient);

}  // namespace nvalchemi

#endif
