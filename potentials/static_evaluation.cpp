// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/static_evaluation.hpp"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "potentials/evaluation_scope.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

using torch::Tensor;

bool has_rows(const OutputSpec& spec) {
    return spec.kind == OutputKind::PerNode || spec.role == OutputRole::AtomicEnergies ||
           spec.role == OutputRole::Forces;
}

/// Peers are in the middle of an evaluation: let them get to its end.
void stand_aside(RecordableExchange& exchange) {
    try {
        exchange.run_with_room(nullptr, [](HaloExchange&) { throw ModelError("not begun"); });
    } catch (const ModelError&) {
    }
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

void StaticEvaluation::run(HaloExchange& exchange) {
    results_ = model_.run(padded_.view(), inputs_, exchange);
    for (auto& output : results_.outputs) output = output.detach();
}

std::function<void()> StaticEvaluation::work(RecordableExchange* exchange) {
    if (exchange == nullptr)
        return [this] {
            SerialExchange alone(padded_.view().n_rows);
            run(alone);
        };
    return [this, exchange] {
        // rows travel on the stream that is being recorded
        void* stream = nullptr;
        if (device_.is_cuda())
            stream =
                c10::impl::getDeviceGuardImpl(device_.type())->getStream(device_).native_handle();
        exchange->run_with_room(stream, [this](HaloExchange& roomy) { run(roomy); });
    };
}

bool StaticEvaluation::prepare(const AtomGraph& graph, RecordableExchange* exchange) {
    cuda_stream_ = graph.cuda_stream;
    const StreamScope stream_scope(device_, cuda_stream_);
    const bool changed = padded_.fill(graph, exchange);
    n_edges_ = graph.n_edges;
    const auto inputs = make_model_inputs(card_, padded_.view(), device_);
    if (changed) {
        results_ = {};
        keep_inputs(inputs);
    } else {
        renew_inputs(inputs);
    }
    return changed;
}

void StaticEvaluation::warm_up(RecordableExchange* exchange) {
    const StreamScope stream_scope(device_, cuda_stream_);
    results_ = {};
    bool begun = false;
    try {
        recorder_->warm_up([&] {
            begun = true;
            work(exchange)();
        });
    } catch (...) {
        if (exchange && !begun) stand_aside(*exchange);
        throw;
    }
}

void StaticEvaluation::record(RecordableExchange* exchange) {
    const StreamScope stream_scope(device_, cuda_stream_);
    results_ = {};
    recorder_->record(work(exchange));
    ++recordings_;
}

Tensor StaticEvaluation::rows_of(const Tensor& values, std::size_t output) const {
    return has_rows(card_.outputs[output]) ? padded_.rows_of_graph(values) : values;
}

ModelResults StaticEvaluation::replay() {
    const StreamScope stream_scope(device_, cuda_stream_);
    recorder_->replay();
    ModelResults results;
    for (std::size_t k = 0; k < results_.outputs.size(); ++k)
        results.outputs.push_back(rows_of(results_.outputs[k], k));
    if (!results_.gradient.defined()) return results;
    if (results_.position_gradient.defined())
        results.position_gradient =
            padded_.rows_of_graph(results_.position_gradient.reshape({-1, 3}));
    results.lattice_virial = results_.lattice_virial;
    const auto gradient = results_.gradient.reshape({-1, 3});
    results.gradient = card_.forces == ForceSource::EdgeVectors ? gradient.narrow(0, 0, n_edges_)
                                                                : padded_.rows_of_graph(gradient);
    return results;
}

}  // namespace nvalchemi
