// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distributed_model.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <set>
#include <stdexcept>

#include "kernels/kernel_operators.hpp"
#include "potentials/consolidation.hpp"
#include "potentials/distribution/moment_form.hpp"
#include "potentials/distribution/overlap_pass.hpp"
#include "potentials/distribution/tracer.hpp"
#include "potentials/evaluation_scope.hpp"
#include "potentials/model_inputs.hpp"
#include "potentials/neighbor_table.hpp"
#include "potentials/sample_structure.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

// Extents of the two sample graphs: distinct primes, so that a dimension that follows rows or
// edges is told from one that does not.
constexpr std::int64_t PROBE_OWNED[2] = {29, 37};
constexpr std::int64_t PROBE_ROWS[2] = {41, 53};
constexpr std::int64_t PROBE_EDGES[2] = {127, 157};

Probe make_probe(const ModelCard& card, const torch::Device& device, int which,
                 std::int64_t slots) {
    const auto graph =
        random_graph(card, PROBE_OWNED[which], PROBE_ROWS[which], PROBE_EDGES[which], 7 + which);
    Probe probe;
    probe.inputs = make_model_inputs(card, graph.view(), device, slots);
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

constexpr int NOT_OBSERVED = -2;
constexpr int OF_SYSTEM = -1;

int row_dimension_of(const TensorFacts& facts) {
    if (!facts.floating) return NOT_OBSERVED;
    const int dim = facts.placed_dim();
    if (dim < 0) return OF_SYSTEM;
    const bool more = std::any_of(facts.dims.begin() + dim + 1, facts.dims.end(),
                                  [](const Dim& d) { return d.space != SPACE_NONE; });
    const bool rows =
        facts.dims[dim] == Dim{SPACE_NODE, 1} || facts.dims[dim] == Dim{SPACE_OWNED, 1};
    return rows && !more ? dim : NOT_OBSERVED;
}

bool is_foreign(const std::string& op) {
    if (is_kernel_operator(op)) return true;
    const auto space = op.substr(0, op.find("::"));
    return space != "aten" && space != "prim" && space != "nvalchemi_lmp" && space != "prims";
}

/// Values of which an owned row is not complete before halo rows have been folded into it.
std::set<Slot> folded_next(const FlatProgram& program) {
    std::set<Slot> slots;
    for (const auto& instruction : program.code)
        if (instruction.name == "nvalchemi_lmp::halo_correct")
            slots.insert(instruction.inputs[0].slot);
    return slots;
}

/// A row's elements weighted by numbers between 1/2 and 3/2 that repeat nowhere.
ObservedValue fingerprint(const torch::Tensor& tensor, int dimension, std::int64_t owned) {
    ObservedValue observed;
    observed.per_row = dimension >= 0;
    const auto value = tensor.detach();
    auto rows =
        observed.per_row
            ? value.movedim(dimension, 0).narrow(0, 0, std::min(owned, value.size(dimension)))
            : value.unsqueeze(0);
    rows = rows.to(torch::kCPU, torch::kFloat64);
    const auto count = rows.size(0);
    const auto width = count > 0 ? rows.numel() / count : 0;
    rows = rows.reshape({count, width});
    const auto weights =
        torch::arange(width, torch::kFloat64).mul(1.7).add(0.3).sin().mul(0.5).add(1.0);
    const auto list = [](const torch::Tensor& numbers) {
        const auto flat = numbers.contiguous();
        return std::vector<double>(flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
    };
    observed.projection = list(rows.matmul(weights));
    observed.magnitude = list(rows.abs().sum(1));
    return observed;
}

/// Place of the per-atom energies among the outputs; every card has them.
std::size_t energies_output_of(const ModelCard& card) {
    return static_cast<std::size_t>(card.find_output(OutputRole::AtomicEnergies) -
                                    card.outputs.data());
}

std::vector<c10::IValue> tensors_of(const ModelInputs& inputs) {
    std::vector<c10::IValue> values;
    for (const auto& bound : inputs.bound)
        if (bound.value.isTensor()) values.push_back(bound.value);
    return values;
}

/// LibTorch's text tells what the GPU has and what is in use, and ends with hints on its settings.
[[noreturn]] void throw_out_of_memory(const ModelCard& card, const AtomGraph& graph,
                                      const std::string& text) {
    throw ModelError("model '" + card.name + "': out of GPU memory with " +
                     std::to_string(graph.n_owned) + " atoms, " +
                     std::to_string(graph.n_rows - graph.n_owned) + " halo rows and " +
                     std::to_string(graph.n_edges) + " edges on this rank. LibTorch says: " +
                     text.substr(0, text.find(" If reserved but unallocated")) +
                     " Use more GPUs, one rank for each, or fewer atoms. Memory grows with the "
                     "number of edges");
}

/// The interpreter's text is the model's stack of calls, and the reason at its end.
std::string reason_of(const std::string& text) {
    if (text.find("TorchScript") == std::string::npos) return text;
    const auto end = text.find_last_not_of(" \n") + 1;
    const auto start = text.find_last_of('\n', end - 1) + 1;
    return text.substr(start, end - start);
}

/// The archive's own forward.
c10::IValue call_archive(const ModelCard& card, torch::jit::Module module,
                         std::vector<c10::IValue> arguments) {
    try {
        return module.forward(std::move(arguments));
    } catch (const std::runtime_error& error) {
        throw ModelError("model '" + card.name + "': " + reason_of(error.what()));
    }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

DistributedModel::DistributedModel(const ModelCard& card, const torch::jit::Module& module,
                                   const torch::Device& device, bool edge_moments, bool overlap,
                                   std::int64_t slots)
    : card_(card),
      module_(module),
      device_(device),
      edge_moments_(edge_moments),
      overlap_(overlap),
      slots_(takes_neighbor_table(card) ? slots : 0) {
    const EvaluationScope scope(model_dtype(card));
    auto traced = trace_model(card, module, make_probe(card, device, 0, slots_),
                              make_probe(card, device, 1, slots_));
    distribute(traced, card);
    exchanges_ = planned_exchanges(traced);
    adapter_uses_ = traced.adapter_uses;
    varies_composition_ = traced.varies_composition;
    if (card.dtype == "float64") rounds_at_ = traced.rounds_at;
    note_observables(traced);
    if (edge_moments) moment_degree_ = scale_sender_gathers(traced);
    if (overlap) overlap_where_possible(traced);
    program_ = std::move(traced.program);
    const auto length = program_.length_of(energies_output_of(card_));
    for (std::size_t at = 0; at < std::min(length, traced.effects.size()); ++at)
        energies_need_gradient_ |= traced.effects[at].differentiates;
}

void DistributedModel::overlap_where_possible(TracedProgram& traced) {
    const auto counts = overlap_exchanges(traced, card_);
    for (std::size_t k = 0; k < counts.size(); ++k) exchanges_[k].overlaps = counts[k];
    row_dimension_.resize(traced.facts.size(), NOT_OBSERVED);  // rows under way are not to be seen
}

/// Values that a run can show: floating point, over rows or of the whole system, and not made from
/// a gradient, whose halo rows hold parts of what belongs to their owners.
void DistributedModel::note_observables(const TracedProgram& traced) {
    const auto& code = traced.program.code;
    row_dimension_.assign(traced.facts.size(), NOT_OBSERVED);
    const auto incomplete = folded_next(traced.program);
    std::vector<bool> from_gradient(traced.facts.size(), false);
    std::set<std::string> covered;
    for (const auto& adapter : card_.distribution().distribution.custom_ops)
        covered.insert(adapter.op);
    for (std::size_t at = 0; at < code.size(); ++at) {
        std::vector<Slot> read;
        for (const auto& input : code[at].inputs) input.append_slots(read);
        const bool tainted =
            traced.effects[at].differentiates ||
            std::any_of(read.begin(), read.end(), [&](Slot s) { return from_gradient[s]; });
        for (const auto slot : code[at].outputs) {
            from_gradient[slot] = tainted;
            if (!tainted && incomplete.count(slot) == 0)
                row_dimension_[slot] = row_dimension_of(traced.facts[slot]);
        }
        const bool sees_rows = std::any_of(read.begin(), read.end(), [&](Slot slot) {
            return traced.facts[slot].placed_dim() >= 0;
        });
        if (sees_rows && is_foreign(code[at].name))
            foreign_calls_.push_back(
                {code[at].name, code[at].source, covered.count(code[at].name) > 0});
    }
}

FlatProgram::Observer DistributedModel::observe_rows(const AtomGraph& graph,
                                                     const ValueObserver& observer) const {
    if (!observer) return {};
    return [this, &observer, owned = graph.n_owned](std::size_t at,
                                                    const std::vector<c10::IValue>& values) {
        const auto& outputs = program_.code[at].outputs;
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            const int dimension = row_dimension_[outputs[k]];
            const auto& value = values[outputs[k]];
            if (dimension == NOT_OBSERVED || !value.isTensor()) continue;
            auto observed = fingerprint(value.toTensor(), dimension, owned);
            observed.call = at;
            observed.output = k;
            observer(observed);
        }
    };
}

std::vector<OperatorCall> DistributedModel::operator_calls() const {
    std::vector<OperatorCall> calls;
    for (const auto& instruction : program_.code)
        calls.push_back({instruction.name, instruction.source, instruction.module});
    return calls;
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

/// The number of columns is a constant of the traced program: a row with more neighbours than that
/// has the model traced again, and so has each later one that needs still more. nullptr: this one.
std::shared_ptr<const DistributedModel> DistributedModel::with_room_for(
    const AtomGraph& graph) const {
    if (slots_ == 0) return nullptr;
    const auto needed = largest_neighbor_count(graph);
    if (needed <= slots_) return nullptr;
    const std::lock_guard<std::mutex> lock(roomier_mutex_);
    if (!roomier_ || roomier_->slots_ < needed) {
        auto slots = roomier_ ? roomier_->slots_ : slots_;
        while (slots < needed) slots *= 2;
        // on a thread of its own, which has no exchange: what traces a model runs its operators
        // alone, and must not meet those of other ranks that are being evaluated
        roomier_ = std::async(std::launch::async, [&] {
                       return std::make_shared<DistributedModel>(card_, module_, device_,
                                                                 edge_moments_, overlap_, slots);
                   }).get();
    }
    return roomier_;
}

/// Their pointers mean something to whoever reads the graph's.
void DistributedModel::check_where_results_stay(const AtomGraph& graph) const {
    const bool same = device_.is_cuda() ? graph.cuda_device == device_.index()
                                        : graph.cuda_device < 0 && device_.is_cpu();
    if (!graph.results_stay || same) return;
    throw ModelError(
        "model '" + card_.name + "': got a graph on " +
        (graph.cuda_device < 0 ? "the host" : "GPU " + std::to_string(graph.cuda_device)) +
        " whose results stay there, expected one on the model's device, " + device_.str());
}

ModelResults DistributedModel::run(const AtomGraph& graph, const ModelInputs& inputs,
                                   HaloExchange& exchange, bool edge_moments,
                                   const ValueObserver& observer) const {
    const EvaluationScope scope(model_dtype(card_));
    const ExchangeScope exchange_scope(exchange);
    const bool with_moments = edge_moments && moment_degree_ > 0;
    const MomentRequest moments{
        torch::ones({with_moments ? graph.n_edges : 0},
                    torch::TensorOptions(model_dtype(card_)).device(device_)),
        moment_degree_};
    auto result =
        program_.run(tensors_of(inputs), graph.n_owned, first_token(inputs, card_, device_),
                     moments.factor, observe_rows(graph, observer));
    return differentiate(card_, graph, inputs, owned_forces(std::move(result.outputs), graph),
                         result.token, with_moments ? &moments : nullptr);
}

Evaluation DistributedModel::evaluate(const AtomGraph& graph, HaloExchange& exchange,
                                      bool edge_moments, const ValueObserver& observer,
                                      ModelResults* keep) const {
    if (const auto roomier = with_room_for(graph))
        return roomier->evaluate(graph, exchange, edge_moments, observer, keep);
    const auto start = std::chrono::steady_clock::now();
    const StreamScope stream_scope(device_, graph.cuda_stream);
    try {
        check_where_results_stay(graph);
        const auto inputs = make_model_inputs(card_, graph, device_, slots_);
        auto results = run(graph, inputs, exchange, edge_moments, observer);
        const double launched = seconds_since(start);
        auto evaluation = consolidate(card_, graph, results);
        evaluation.seconds_launching = launched;
        evaluation.seconds_model = seconds_since(start);
        if (keep) *keep = std::move(results);
        return evaluation;
    } catch (const c10::OutOfMemoryError& error) {
        throw_out_of_memory(card_, graph, error.what_without_backtrace());
    } catch (const c10::Error& error) {
        throw ModelError("model '" + card_.name + "': " + error.what_without_backtrace());
    }
}

Evaluation DistributedModel::evaluate_energies(const AtomGraph& graph,
                                               HaloExchange& exchange) const {
    if (const auto roomier = with_room_for(graph))
        return roomier->evaluate_energies(graph, exchange);
    const EvaluationScope scope(model_dtype(card_));
    const ExchangeScope exchange_scope(exchange);
    const torch::AutoGradMode gradient(energies_need_gradient_);
    try {
        const auto inputs = make_model_inputs(card_, graph, device_, slots_);
        const auto energies = program_.run_for(energies_output_of(card_), tensors_of(inputs),
                                               graph.n_owned, first_token(inputs, card_, device_));
        return consolidate_energies(card_, graph, energies);
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
        const auto returned = call_archive(card, module, pack_arguments(card, inputs));
        auto result = consolidate(
            card, graph, differentiate(card, graph, inputs, pick_outputs(card, returned), {}));
        result.seconds_model = seconds_since(start);
        return result;
    } catch (const c10::Error& error) {
        throw ModelError("model '" + card.name + "': " + error.what_without_backtrace());
    }
}

Evaluation undecomposed_energies(const ModelCard& card, const torch::jit::Module& module,
                                 const torch::Device& device, const AtomGraph& graph) {
    const EvaluationScope scope(model_dtype(card));
    const torch::AutoGradMode gradient(card.forces == ForceSource::Model);
    try {
        const auto inputs = make_model_inputs(card, graph, device);
        const auto returned = call_archive(card, module, pack_arguments(card, inputs));
        return consolidate_energies(card, graph,
                                    pick_outputs(card, returned)[energies_output_of(card)]);
    } catch (const c10::Error& error) {
        throw ModelError("model '" + card.name + "': " + error.what_without_backtrace());
    }
}

}  // namespace nvalchemi
