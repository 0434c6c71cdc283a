// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTED_MODEL_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTED_MODEL_HPP

#include <memory>
#include <mutex>
#include <vector>

#include "kernels/halo_exchange.hpp"
#include "potentials/atom_graph.hpp"
#include "potentials/consolidation.hpp"
#include "potentials/distribution/distribution_pass.hpp"
#include "potentials/internal_torch.hpp"
#include "potentials/model_card.hpp"
#include "potentials/model_inputs.hpp"
#include "potentials/observed_value.hpp"

namespace nvalchemi {

/// A model after the distribution pass, ready to evaluate one rank's part.
class DistributedModel {
  public:
    /// Trace and distribute `module`, which is on `device`; with `edge_moments` ready to make them.
    /// With `overlap` other work goes on during exchanges where it can (overlap_pass.hpp).
    /// A model that takes a table of neighbours is traced with `slots` columns.
    /// Throws ModelError.
    DistributedModel(const ModelCard& card, const torch::jit::Module& module,
                     const torch::Device& device, bool edge_moments = false, bool overlap = false,
                     std::int64_t slots = FIRST_SLOTS);

    /// Collective over the ranks of `exchange`; `edge_moments` the same on all ranks.
    /// `observer` is told every floating point value of the forward pass that has rows of atoms
    /// or belongs to the whole system.
    /// `keep`: gets the results as they were on the model's device.
    Evaluation evaluate(const AtomGraph& graph, HaloExchange& exchange, bool edge_moments = false,
                        const ValueObserver& observer = {}, ModelResults* keep = nullptr) const;

    /// The same as far as tensors on the model's device, from inputs that were made for `graph`, of
    /// which only the extents are looked at. Work goes to torch's current stream.
    ModelResults run(const AtomGraph& graph, const ModelInputs& inputs, HaloExchange& exchange,
                     bool edge_moments = false, const ValueObserver& observer = {}) const;

    /// The energies alone, without their gradient: only what they need is run. Collective over the
    /// ranks of `exchange`.
    Evaluation evaluate_energies(const AtomGraph& graph, HaloExchange& exchange) const;

    const std::vector<PlannedExchange>& exchanges() const { return exchanges_; }
    /// The first call of a float64 model whose result is float32, empty if there is none.
    const std::string& rounds_at() const { return rounds_at_; }
    /// What results are right to: "float64" or "float32".
    std::string precision() const { return rounds_at_.empty() ? card_.dtype : "float32"; }
    /// Whether the pass took it that leaving out an element changes nothing else.
    bool varies_composition() const { return varies_composition_; }
    const std::vector<AdapterUse>& adapter_uses() const { return adapter_uses_; }
    const std::vector<ForeignCall>& foreign_calls() const { return foreign_calls_; }
    /// All calls, in the order of execution.
    std::vector<OperatorCall> operator_calls() const;

    static constexpr std::int64_t FIRST_SLOTS = 32;  ///< a power of 2, unlike the samples' extents

  private:
    std::shared_ptr<const DistributedModel> with_room_for(const AtomGraph& graph) const;

    std::vector<torch::Tensor> owned_forces(std::vector<torch::Tensor> outputs,
                                            const AtomGraph& graph) const;

    void check_where_results_stay(const AtomGraph& graph) const;
    void note_observables(const TracedProgram& traced);
    void overlap_where_possible(TracedProgram& traced);
    FlatProgram::Observer observe_rows(const AtomGraph& graph, const ValueObserver& observer) const;

    ModelCard card_;
    torch::jit::Module module_;
    torch::Device device_;
    bool edge_moments_ = false, overlap_ = false;
    std::int64_t slots_ = 0;  ///< 0: no table of neighbours
    /// The same model traced with more columns, once a row needed them.
    mutable std::shared_ptr<const DistributedModel> roomier_;
    mutable std::mutex roomier_mutex_;
    FlatProgram program_;
    bool varies_composition_ = false;
    std::string rounds_at_;
    bool energies_need_gradient_ = false;  ///< something before them differentiates
    int moment_degree_ = 0;
    std::vector<PlannedExchange> exchanges_;
    std::vector<AdapterUse> adapter_uses_;
    std::vector<ForeignCall> foreign_calls_;
    std::vector<int> row_dimension_;  ///< of a slot: where its rows are, or one of two negatives
};

/// The archive as it is, evaluated on a whole system without halo rows.
Evaluation evaluate_undecomposed(const ModelCard& card, const torch::jit::Module& module,
                                 const torch::Device& device, const AtomGraph& graph);

/// Its energies alone; a model that computes forces itself does so all the same.
Evaluation undecomposed_energies(const ModelCard& card, const torch::jit::Module& module,
                                 const torch::Device& device, const AtomGraph& graph);

}  // namespace nvalchemi

#endif
