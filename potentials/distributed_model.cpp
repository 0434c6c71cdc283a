// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distributed_model.hpp"

#include <chrono>

#include "potentials/consolidation.hpp"
#include "potentials/distribution/moment_form.hpp"
#include "potentials/distribution/tracer.hpp"
#include "potentials/evaluation_scope.hpp"
#include "potentials/model_inputs.hpp"
#include "potentials/sample_structure.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

// Extents of the two sample graphs: distinct primes, so that a dimension that follows rows or
// edges is told from one that does not.
constexpr std::int64_t PROBE_OWNED[2] = {29, 37};
constexpr std::int64_t PROBE_ROWS[2] = {41, 53};
constexpr std::int64_t PROBE_EDGES[2] = {127, 157};

Probe make_probe(const ModelCard& card, const torch::Device& device, int which) {
    const auto graph =
        random_graph(card, PROBE_OWNED[which], PROBE_ROWS[which], PROBE_EDGES[which], 7 + which);
    Probe probe;
    probe.inputs = make_model_inputs(card, graph.view(), device);
    probe.n_owned = PROBE_OWNED[which];
    probe.n_rows = PROBE_ROWS[which];
    probe.n_edges = PROBE_EDGES[which];
    return probe;
}

/// 0 * sum of what is differentiated: the first link of the chain that orders exchanges.
torch::Tensor first_token(const ModelInputs& inputs, const ModelCard& card,
                          const torch::Device& device) {
    const auto& leaf =
        card.forces == ForceSource::EdgeVectors ? inputs.edge_vectors : inputs.positions;
    if (leaf.defined()) return leaf.sum() * 0;
    return torch::zeros({}, torch::TensorOptions(model_dtype(card)).device(device));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

DistributedModel::DistributedModel(const ModelCard& card, const torch::jit::Module& module,
                                   const torch::Device& device, bool edge_moments)
    : card_(card), device_(device) {
    const EvaluationScope scope(model_dtype(card));
    auto traced =
        trace_model(card, module, make_probe(card, device, 0), make_probe(card, device, 1));
    distribute(traced, card);
    exchanges_ = planned_exchanges(traced);
    adapter_uses_ = traced.adapter_uses;
    if (edge_moments) moment_degree_ = scale_sender_gathers(traced);
    program_ = std::move(traced.program);
}

/// Forces that are complete on their owner have no parts on halo rows to be brought home.
std::vector<torch::Tensor> DistributedModel::owned_forces(std::vector<torch::Tensor> outputs,
                                                          const AtomGraph& graph) const {
    for (std::size_t k = 0; k < outputs.size(); ++k)
        if (card_.outputs[k].role == OutputRole::Forces && program_.whole[k] &&
            outputs[k].dim() > 0 && outputs[k].size(0) == graph.n_rows)
            outputs[k] = outputs[k].narrow(0, 0, graph.n_owned);
    return outputs;
}

Evaluation DistributedModel::evaluate(const AtomGraph& graph, HaloExchange& exchange,
                                      bool edge_moments) const {
    const auto start = std::chrono::steady_clock::now();
    const EvaluationScope scope(model_dtype(card_));
    const ExchangeScope exchange_scope(exchange);
    try {
        const auto inputs = make_model_inputs(card_, graph, device_);
        std::vector<c10::IValue> values;
        for (const auto& bound : inputs.bound)
            if (bound.value.isTensor()) values.push_back(bound.value);
        const bool with_moments = edge_moments && moment_degree_ > 0;
        const MomentRequest moments{
            torch::ones({with_moments ? graph.n_edges : 0},
                        torch::TensorOptions(model_dtype(card_)).device(device_)),
            moment_degree_};
        const auto result = program_.run(values, graph.n_owned, first_token(inputs, card_, device_),
                                         moments.factor);
        auto evaluation = consolidate(card_, graph, inputs, owned_forces(result.outputs, graph),
                                      result.token, with_moments ? &moments : nullptr);
        evaluation.seconds_model = seconds_since(start);
        return evaluation;
    } catch (const c10::Error& error) {
        throw ModelError("model '" + card_.name + "': " + error.what_without_backtrace());
    }
}

Evaluation evaluate_undecomposed(const ModelCard& card, const torch::jit::Module& module,
                                 const torch::Device& device, const AtomGraph& graph) {
    const auto start = std::chrono::steady_clock::now();
    const EvaluationScope scope(model_dtype(card));
    try {
        const auto inputs = make_model_inputs(card, graph, device);
        auto copy = module;
        const auto returned = copy.forward(pack_arguments(card, inputs));
        auto result = consolidate(card, graph, inputs, pick_outputs(card, returned), {});
        result.seconds_model = seconds_since(start);
        return result;
    } catch (const c10::Error& error) {
        throw ModelError("model '" + card.name + "': " + error.what_without_backtrace());
    }
}

}  // namespace nvalchemi
