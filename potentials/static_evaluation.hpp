// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_STATIC_EVALUATION_HPP
#define NVALCHEMI_POTENTIALS_STATIC_EVALUATION_HPP

#include <memory>

#include "potentials/consolidation.hpp"
#include "potentials/distributed_model.hpp"
#include "potentials/graph_recorder.hpp"
#include "potentials/model_inputs.hpp"
#include "potentials/padded_graph.hpp"

namespace nvalchemi {

/// Energy and gradient of graphs without halo rows, in tensors whose shapes and addresses stay from
/// one graph to the next: recorded once, then replayed.
class StaticEvaluation {
  public:
    /// `model` is on `device` and outlives this.
    StaticEvaluation(const ModelCard& card, const DistributedModel& model,
                     const torch::Device& device, std::unique_ptr<GraphRecorder> recorder);

    /// The results for `graph`: views of tensors that the next call overwrites. Throws what
    /// GraphRecorder::record() throws, after which no further call may be made.
    ModelResults evaluate(const AtomGraph& graph);

    int recordings() const { return recordings_; }  ///< so far

  private:
    void keep_inputs(const ModelInputs& inputs);
    void renew_inputs(const ModelInputs& inputs) const;
    void run();

    const ModelCard& card_;
    const DistributedModel& model_;
    torch::Device device_;
    std::unique_ptr<GraphRecorder> recorder_;
    PaddedGraph padded_;
    ModelInputs inputs_;
    ModelResults results_;
    int recordings_ = 0;
};

}  // namespace nvalchemi

#endif
