// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_STATIC_EVALUATION_HPP
#define NVALCHEMI_POTENTIALS_STATIC_EVALUATION_HPP

#include <functional>
#include <memory>

#include "potentials/consolidation.hpp"
#include "potentials/distributed_model.hpp"
#include "potentials/graph_recorder.hpp"
#include "potentials/model_inputs.hpp"
#include "potentials/padded_graph.hpp"

namespace nvalchemi {

/// Energy and gradient of graphs in tensors whose shapes and addresses stay from one graph to the
/// next: recorded once, then replayed. Between ranks all of them make the same calls.
class StaticEvaluation {
  public:
    /// `model` is on `device` and outlives this.
    StaticEvaluation(const ModelCard& card, const DistributedModel& model,
                     const torch::Device& device, std::unique_ptr<GraphRecorder> recorder);

    /// Take `graph` in; `exchange` is that of its halo rows, nullptr for a graph without. True:
    /// shapes have changed, so that it must be recorded before it is replayed.
    bool prepare(const AtomGraph& graph, RecordableExchange* exchange = nullptr);

    /// Evaluate the graph without recording, and wait: see GraphRecorder::warm_up(). Peers of a
    /// rank that throws do not wait for it.
    void warm_up(RecordableExchange* exchange = nullptr);

    /// Record the evaluation of the graph, after warm_up(). Throws what GraphRecorder::record()
    /// throws.
    void record(RecordableExchange* exchange = nullptr);

    /// The results for the graph: views of tensors that the next call overwrites.
    ModelResults replay();

    int recordings() const { return recordings_; }  ///< so far

  private:
    void keep_inputs(const ModelInputs& inputs);
    void renew_inputs(const ModelInputs& inputs) const;
    void run(HaloExchange& exchange);
    std::function<void()> work(RecordableExchange* exchange);
    torch::Tensor rows_of(const torch::Tensor& values, std::size_t output) const;

    const ModelCard& card_;
    const DistributedModel& model_;
    torch::Device device_;
    std::unique_ptr<GraphRecorder> recorder_;
    PaddedGraph padded_;
    ModelInputs inputs_;
    ModelResults results_;
    std::int64_t n_edges_ = 0;     ///< of the graph
    void* cuda_stream_ = nullptr;  ///< that orders work on its memory
    int recordings_ = 0;
};

}  // namespace nvalchemi

#endif
