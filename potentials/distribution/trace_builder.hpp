// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_TRACE_BUILDER_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_TRACE_BUILDER_HPP

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "potentials/distribution/abstract_value.hpp"
#include "potentials/distribution/adapter_binding.hpp"

namespace nvalchemi {

/// One operator call of the model while it is being traced.
struct Call {
    std::string name;       ///< qualified, "aten::index_add_"
    std::string base;       ///< without namespace and trailing underscore, "index_add"
    bool in_place = false;  ///< writes its first argument
    const c10::FunctionSchema* schema = nullptr;
    std::function<void(torch::jit::Stack&)> run;
    std::vector<AbstractPtr> args;
    std::string source;
    std::string module;
    Effect effect;

    /// Argument by the name in the operator's schema; nullptr if it has none of that name.
    AbstractPtr arg(const std::string& name) const;
    /// Replace an argument.
    void set_arg(const std::string& name, AbstractPtr value);
    /// A fixed integer argument, `fallback` if absent or None.
    std::int64_t integer(const std::string& name, std::int64_t fallback) const;
    bool flag(const std::string& name, bool fallback) const;
    bool has_schema_arg(const std::string& name) const;
};

/// Appends instructions to a TracedProgram, executing each in both probes.
class TraceBuilder {
  public:
    /// `extents[space][probe]` for the node, edge and owned spaces. Throws SpecError if an
    /// operator adapter of `spec` does not bind.
    TraceBuilder(TracedProgram& traced, const std::array<std::array<std::int64_t, 2>, 4>& extents,
                 const MLIPSpec& spec);

    /// A program input with its two probe values.
    AbstractPtr add_input(c10::IValue first, c10::IValue second, TensorFacts facts,
                          bool is_species = false);
    /// Run `call` and append it. Returns one value for each result (one list value for an operator
    /// that returns a list of tensors). Facts of new tensors have the right rank but no spaces.
    std::vector<AbstractPtr> emit(Call& call);
    /// Run `call` once, without a trace: all of its arguments are fixed.
    std::vector<AbstractPtr> fold(Call& call);
    /// Append the slice of the owned rows along `dim`.
    AbstractPtr slice_owned(const AbstractPtr& tensor, int dim, const Call& on_behalf_of);
    /// Append a collective on all rows (halo_forward, halo_correct) or a system value
    /// (system_sum), by the name of its operator.
    AbstractPtr exchange(const std::string& name, const AbstractPtr& value,
                         const Call& on_behalf_of);
    /// The model folds `rows` itself: a sum over senders that just made them is not folded again.
    void leave_fold_to_verb(const AbstractPtr& rows);
    /// Append a collective that widens owned rows to all rows.
    AbstractPtr widen_owned(const AbstractPtr& tensor, const Call& on_behalf_of);
    /// Append what makes the number `count` of rows or edges on this rank a 0-dim tensor of `dtype`
    /// that is this rank's part of the number in the whole system.
    AbstractPtr count_as_tensor(const Dim& count, torch::ScalarType dtype,
                                const Call& on_behalf_of);
    /// Append a check that the whole system has at least one edge: the model treats its absence as
    /// a special case, which a rank cannot tell from having none itself.
    void require_edges(const Call& on_behalf_of);
    /// The model's own tensors, which it must not change.
    void note_state(const torch::Tensor& tensor);
    bool is_state(const torch::Tensor& tensor) const;
    /// Whether a tensor holds zeros whatever the structure: just made, and never written.
    bool holds_zeros(const AbstractPtr& tensor) const;
    /// Turn a fixed tensor into a value of this evaluation, so that it can be written.
    void materialise(const AbstractPtr& tensor, const Call& on_behalf_of);

    /// Facts of a tensor value. Of a fixed tensor: its rank, nothing placed.
    TensorFacts facts(const AbstractPtr& tensor) const;
    void set_facts(const AbstractPtr& tensor, TensorFacts facts);
    /// In the last instruction, a reshape, write constant extents in place of -1: torch cannot
    /// infer an extent on a rank without rows.
    void settle_inferred_extents(const AbstractPtr& result);

    std::int64_t extent(Space space, int probe) const { return extents_.at(space)[probe]; }
    Space new_edge_space(std::int64_t first, std::int64_t second);
    /// The edges or rows that a mask over them selects: the same space whenever the same mask is
    /// used.
    Space selected_space(const AbstractPtr& mask);
    /// Whether `space` is a subset of the rows that a mask selects by species alone: whether it is
    /// empty in the whole system then depends on the composition only, which the self-test varies.
    bool is_selected_by_species(Space space) const;
    /// Note that emptiness of such a subset was taken to change nothing.
    void vary_composition() { traced_.varies_composition = true; }
    /// Several blocks of the edges of `base` one after the other; the same space for the same base
    /// and size.
    Space merged_edge_space(Space base, std::int64_t first, std::int64_t second);
    /// The base of a merged space, SPACE_NONE for others.
    Space merged_from(Space space) const;
    AbstractPtr owned_count() const { return owned_count_; }
    /// Append the number of rows, halo rows included.
    AbstractPtr row_count(const Call& on_behalf_of);
    const MLIPSpec& spec() const { return spec_; }
    OperatorAdapters& operator_adapters() { return operator_adapters_; }

    /// Fill what depends on the finished trace: aliases, differentiability, widths.
    void finish();
    [[noreturn]] static void refuse(const Call& call, const std::string& problem);

  private:
    Slot new_slot(const c10::IValue& first);
    AbstractPtr new_value(c10::IValue first, c10::IValue second);
    void note_rounding();
    AbstractPtr extent_of(const AbstractPtr& placed, const Call& on_behalf_of);

    TracedProgram& traced_;
    const MLIPSpec spec_;
    OperatorAdapters operator_adapters_;
    std::map<Space, std::array<std::int64_t, 2>> extents_;
    std::map<Space, Space> merged_;     ///< merged space to its base
    std::map<Slot, Space> selected_;    ///< mask to the edges that it selects
    std::vector<c10::IValue> samples_;  ///< first probe of each slot
    AbstractPtr owned_count_;
    std::set<Slot> species_inputs_;
    std::set<const void*> state_;  ///< storages of the model's own tensors
    AbstractPtr rows_;             ///< an input that has one entry for each row
    AbstractPtr edges_;            ///< an input that has one entry for each edge
    bool edges_required_ = false;
};

}  // namespace nvalchemi

#endif
