// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_GRAPH_CHOICE_HPP
#define NVALCHEMI_POTENTIALS_GRAPH_CHOICE_HPP

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "potentials/distributed_model.hpp"
#include "potentials/session.hpp"
#include "potentials/static_evaluation.hpp"

namespace nvalchemi {

/// Part of an evaluation that the host may spend waiting for the GPU if GraphUse::Auto is to
/// record. What takes longer than that is bound by the GPU's work, of which a graph spares nothing.
constexpr double MOST_WAITING_OF_AUTO = 0.25;

/// The evaluation after which GraphUse::Auto decides: LibTorch launches the first ones slowly.
constexpr int DECIDING_EVALUATION_OF_AUTO = 3;

/// Decides whether evaluations of one model are recorded and replayed, and does so.
class GraphChoice {
  public:
    using OpenRecorder = std::function<std::unique_ptr<GraphRecorder>(int cuda_device)>;

    /// `model` is on `device`; both and `card` outlive this. `open`: what records, for a model on
    /// the CPU too (tests); empty: CUDA graphs.
    GraphChoice(GraphUse wanted, const ModelCard& card, const DistributedModel& model,
                const torch::Device& device, OpenRecorder open = {});

    /// Evaluate by replaying, if replays() says so and it can be done; else nothing, and the graph
    /// is to be evaluated as if this had not been called. Collective.
    std::optional<Evaluation> evaluate(const AtomGraph& graph, HaloExchange& exchange,
                                       bool edge_moments);

    /// Told of an evaluation without replaying and of its results on the device: decide now or
    /// later, recording the same graph. Throws ModelError, on all ranks, if graphs are wanted and
    /// cannot be. Collective.
    void decide(const AtomGraph& graph, HaloExchange& exchange, const ModelResults& plain,
                const Evaluation& evaluation);

    /// Whether the next evaluation will be replayed; the same on all ranks.
    bool replays(bool edge_moments) const { return recorded_ != nullptr && !edge_moments; }
    bool undecided() const { return wanted_ != GraphUse::No && !decided_; }
    std::string take_news() { return std::exchange(news_, std::string()); }
    int recordings() const { return recorded_ ? recorded_->recordings() : 0; }

  private:
    std::string obstacle(const AtomGraph& graph, const HaloExchange& exchange) const;
    void record(RecordableExchange* exchange);
    void give_up(const std::string& reason);
    Evaluation replay(const AtomGraph& graph);

    GraphUse wanted_;
    const ModelCard& card_;
    const DistributedModel& model_;
    torch::Device device_;
    OpenRecorder open_;
    bool decided_ = false;
    int evaluations_ = 0;                         ///< without replaying, so far
    std::unique_ptr<StaticEvaluation> recorded_;  ///< null: not used
    std::string news_;
};

/// Throws ModelError that names an output of `found` that differs from that of `expected` by more
/// than rounding.
void require_same_results(const ModelCard& card, const ModelResults& found,
                          const ModelResults& expected, double tolerance);

}  // namespace nvalchemi

#endif
