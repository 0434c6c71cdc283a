// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/static_evaluation.hpp"

#include "potentials/evaluation_scope.hpp"

namespace nvalchemi {

namespace {

using torch::Tensor;

bool has_rows(const OutputSpec& spec) {
    return spec.kind == OutputKind::PerNode || spec.role == OutputRole::AtomicEnergies ||
           spec.role == OutputRole::Forces;
}

}  // namespace

StaticEvaluation::StaticEvaluation(const ModelCard& card, const DistributedModel& model,
                                   const torch::Device& device,
                                   std::unique_ptr<GraphRecorder> recorder)
    : card_(card),
      model_(model),
      device_(device),
      recorder_(std::move(recorder)),
      padded_(card, device) {}

void StaticEvaluation::keep_inputs(const ModelInputs& inputs) {
    ModelInputs kept;
    for (const auto& bound : inputs.bound) {
        if (!bound.value.isTensor()) {
            kept.bound.push_back(bound);
            continue;
        }
        const auto given = bound.value.toTensor();
        const auto own = given.detach().clone().requires_grad_(given.requires_grad());
        if (given.is_same(inputs.edge_vectors)) kept.edge_vectors = own;
        if (given.is_same(inputs.positions)) kept.positions = own;
        if (given.is_same(inputs.position_leaf)) kept.position_leaf = own;
        if (given.is_same(inputs.cell_leaf)) kept.cell_leaf = own;
        kept.bound.push_back({bound.spec, own});
    }
    inputs_ = std::move(kept);
}

void StaticEvaluation::renew_inputs(const ModelInputs& inputs) const {
    const torch::NoGradGuard no_gradient;
    for (std::size_t k = 0; k < inputs.bound.size(); ++k)
        if (inputs.bound[k].spec->role != InputRole::Constant)
            inputs_.bound[k].value.toTensor().copy_(inputs.bound[k].value.toTensor());
}

void StaticEvaluation::run() {
    SerialExchange alone(padded_.view().n_rows);
    results_ = model_.run(padded_.view(), inputs_, alone);
    for (auto& output : results_.outputs) output = output.detach();
}

ModelResults StaticEvaluation::evaluate(const AtomGraph& graph) {
    const StreamScope stream_scope(device_, graph.cuda_stream);
    const bool changed = padded_.fill(graph);
    const auto inputs = make_model_inputs(card_, padded_.view(), device_);
    if (changed) {
        results_ = {};
        keep_inputs(inputs);
        recorder_->record([this] { run(); });
        ++recordings_;
    } else {
        renew_inputs(inputs);
    }
    recorder_->replay();

    ModelResults results;
    for (std::size_t k = 0; k < results_.outputs.size(); ++k)
        results.outputs.push_back(has_rows(card_.outputs[k])
                                      ? results_.outputs[k].narrow(0, 0, graph.n_rows)
                                      : results_.outputs[k]);
    if (!results_.gradient.defined()) return results;
    const bool edges = card_.forces == ForceSource::EdgeVectors;
    if (results_.position_gradient.defined())
        results.position_gradient =
            results_.position_gradient.reshape({-1, 3}).narrow(0, 0, graph.n_rows);
    results.lattice_virial = results_.lattice_virial;
    results.gradient =
        results_.gradient.reshape({-1, 3}).narrow(0, 0, edges ? graph.n_edges : graph.n_rows);
    return results;
}

}  // namespace nvalchemi
