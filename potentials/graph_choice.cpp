// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/graph_choice.hpp"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <chrono>
#include <cmath>
#include <sstream>

#include "potentials/evaluation_scope.hpp"
#include "potentials/neighbor_table.hpp"

namespace nvalchemi {

namespace {

using torch::Tensor;

void require_same(const std::string& name, const Tensor& found, const Tensor& expected,
                  double tolerance) {
    if (!expected.defined() || expected.numel() == 0) return;
    const auto reference = expected.detach().to(torch::kFloat64);
    const auto difference =
        found.detach().to(torch::kFloat64).reshape(reference.sizes()) - reference;
    const double error = difference.abs().max().item<double>();
    const double bar = tolerance * (1.0 + reference.abs().max().item<double>());
    if (error <= bar) return;
    std::ostringstream text;
    text << name << " differs by " << error
         << " if rows that belong to no atom are added, expected at most " << bar
         << ": the model computes something of all rows together";
    throw ModelError(text.str());
}

/// Of an error of torch, which goes on about debugging.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

void require_same_results(const ModelCard& card, const ModelResults& found,
                          const ModelResults& expected, double tolerance) {
    for (std::size_t k = 0; k < expected.outputs.size(); ++k) {
        if (card.outputs[k].role == OutputRole::Energy) continue;  // nobody reads it
        require_same("output '" + card.outputs[k].key + "'", found.outputs[k], expected.outputs[k],
                     tolerance);
    }
    require_same("the gradient of the energy", found.gradient, expected.gradient, tolerance);
    require_same("the gradient of positions", found.position_gradient, expected.position_gradient,
                 tolerance);
    require_same("the virial", found.lattice_virial, expected.lattice_virial, tolerance);
}

GraphChoice::GraphChoice(GraphUse wanted, const ModelCard& card, const DistributedModel& model,
                         const torch::Device& device)
    : wanted_(wanted), card_(card), model_(model), device_(device) {}

/// Why this evaluation cannot be recorded, whatever the model is; empty: it can.
std::string GraphChoice::obstacle(const AtomGraph& graph, const HaloExchange& exchange) const {
    if (!device_.is_cuda()) return "the model runs on the CPU";
    if (exchange.ranks() > 1)
        return "rows travel between " + std::to_string(exchange.ranks()) + " ranks";
    if (graph.n_rows > graph.n_owned)
        return "the model sees copies of atoms as rows of their own (\"rows\": \"raw\" in its "
               "card)";
    if (takes_neighbor_table(card_)) return "the model takes a table of neighbours";
    if (card_.find_input(InputRole::SetupCell))
        return "the number of the model's wave vectors or mesh points follows the cell";
    return {};
}

/// Of an evaluation without a graph: the time after the host has launched everything.
double GraphChoice::part_spent_waiting(const AtomGraph& graph) const {
    const StreamScope stream_scope(device_, graph.cuda_stream);
    const auto stream = c10::impl::getDeviceGuardImpl(device_.type())->getStream(device_);
    SerialExchange alone(graph.n_rows);
    double part = 1.0;
    for (int repeat = 0; repeat < 2; ++repeat) {  // the first may be slow to launch
        const auto inputs = make_model_inputs(card_, graph, device_);
        stream.synchronize();
        const auto start = std::chrono::steady_clock::now();
        const auto results = model_.run(graph, inputs, alone);
        const std::chrono::duration<double> launched = std::chrono::steady_clock::now() - start;
        stream.synchronize();
        const std::chrono::duration<double> done = std::chrono::steady_clock::now() - start;
        part = 1.0 - launched / done;
    }
    return part;
}

void GraphChoice::give_up(const std::string& reason) {
    recorded_.reset();
    decided_ = true;
    if (wanted_ == GraphUse::Yes)
        throw ModelError("keyword graphs: got yes, expected auto or no, because " + reason);
    if (device_.is_cuda()) news_ = "no CUDA graph: " + reason;
}

void GraphChoice::compare(const AtomGraph& graph) {
    const StreamScope stream_scope(device_, graph.cuda_stream);
    SerialExchange alone(graph.n_rows);
    const auto plain = model_.run(graph, make_model_inputs(card_, graph, device_), alone);
    const double tolerance = model_.precision() == "float64" ? 1e-9 : 1e-4;
    require_same_results(card_, recorded_->evaluate(graph), plain, tolerance);
}

void GraphChoice::decide(const AtomGraph& graph, const HaloExchange& exchange) {
    const auto reason = obstacle(graph, exchange);
    if (!reason.empty()) return give_up(reason);
    if (graph.n_owned == 0) return;
    decided_ = true;
    try {
        if (wanted_ == GraphUse::Auto)
            if (const double part = part_spent_waiting(graph); part > MOST_WAITING_OF_AUTO)
                return give_up("the GPU works " + std::to_string(std::lround(100.0 * part)) +
                               " % of an evaluation's time with all of it launched, a graph pays "
                               "up to " +
                               std::to_string(std::lround(100.0 * MOST_WAITING_OF_AUTO)) + " %");
        recorded_ = std::make_unique<StaticEvaluation>(card_, model_, device_,
                                                       open_graph_recorder(device_.index()));
        compare(graph);
    } catch (const c10::Error& error) {
        return give_up(first_line(error.what_without_backtrace()));
    } catch (const std::exception& error) {
        return give_up(first_line(error.what()));
    }
    news_ = "evaluations are recorded as a CUDA graph and replayed";
}

std::optional<Evaluation> GraphChoice::evaluate(const AtomGraph& graph,
                                                const HaloExchange& exchange, bool edge_moments) {
    if (!recorded_ || edge_moments || graph.n_owned == 0 || exchange.ranks() > 1 ||
        graph.n_rows > graph.n_owned)
        return std::nullopt;
    try {
        auto evaluation = consolidate(card_, graph, recorded_->evaluate(graph));
        evaluation.replayed = true;
        return evaluation;
    } catch (const NotFiniteError&) {
        throw;
    } catch (const c10::Error& error) {
        give_up(first_line(error.what_without_backtrace()));
    } catch (const std::exception& error) {
        give_up(first_line(error.what()));
    }
    return std::nullopt;
}

}  // namespace nvalchemi
