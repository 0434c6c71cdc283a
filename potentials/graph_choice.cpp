// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/graph_choice.hpp"

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

/// Do `work`, which does not end an agreement, on all ranks; throws on all if it throws on one.
void together(RecordableExchange* exchange, const std::function<void()>& work) {
    std::string problem;
    try {
        work();
    } catch (const c10::Error& error) {
        problem = first_line(error.what_without_backtrace());
    } catch (const std::exception& error) {
        problem = first_line(error.what());
    }
    const bool failed = !problem.empty();
    if (!(exchange ? exchange->any(failed) : failed)) return;
    throw ModelError(failed ? problem : "another rank could not record one");
}

RecordableExchange* recordable(HaloExchange& exchange) {
    return exchange.ranks() > 1 ? dynamic_cast<RecordableExchange*>(&exchange) : nullptr;
}

std::string percent(double part) { return std::to_string(std::lround(100.0 * part)) + " %"; }

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
                         const torch::Device& device, OpenRecorder open)
    : wanted_(wanted), card_(card), model_(model), device_(device), open_(std::move(open)) {}

/// Why this evaluation cannot be recorded, the same on all ranks; empty: it can.
std::string GraphChoice::obstacle(const AtomGraph& graph, const HaloExchange& exchange) const {
    if (!open_ && !device_.is_cuda()) return "the model runs on the CPU";
    const auto* between_ranks = dynamic_cast<const RecordableExchange*>(&exchange);
    if (exchange.ranks() > 1 && between_ranks == nullptr)
        return "rows travel between " + std::to_string(exchange.ranks()) + " parts";
    if (card_.rows == RowMode::Raw)
        return "the model sees copies of atoms as rows of their own (\"rows\": \"raw\" in its "
               "card)";
    if (takes_neighbor_table(card_)) return "the model takes a table of neighbours";
    if (card_.find_input(InputRole::SetupCell))
        return "the number of the model's wave vectors or mesh points follows the cell";
    if (exchange.ranks() > 1) return between_ranks->obstacle();
    if (graph.n_rows > graph.n_owned) return "rows were not folded";
    return {};
}

void GraphChoice::give_up(const std::string& reason) {
    recorded_.reset();
    decided_ = true;
    if (wanted_ == GraphUse::Yes)
        throw ModelError("keyword graphs: got yes, expected auto or no, because " + reason);
    if (device_.is_cuda()) news_ = "no CUDA graph: " + reason;
}

/// What has been prepared. Throws ModelError on all ranks.
void GraphChoice::record(RecordableExchange* exchange) {
    for (int run = 0; run < 2; ++run) together(exchange, [&] { recorded_->warm_up(exchange); });
    together(exchange, [&] { recorded_->record(exchange); });
}

void GraphChoice::decide(const AtomGraph& graph, HaloExchange& exchange, const ModelResults& plain,
                         const Evaluation& evaluation) {
    const auto reason = obstacle(graph, exchange);
    if (!reason.empty()) return give_up(reason);
    auto* const between_ranks = recordable(exchange);
    if (!between_ranks && graph.n_owned == 0) return;
    if (wanted_ == GraphUse::Auto) {
        if (++evaluations_ < DECIDING_EVALUATION_OF_AUTO) return;
        const double waiting = 1.0 - evaluation.seconds_launching / evaluation.seconds_model;
        const bool pays = waiting <= MOST_WAITING_OF_AUTO;
        if (!(between_ranks ? between_ranks->any(pays) : pays))
            return give_up("the GPU works on for " + percent(waiting) +
                           " of an evaluation's time with all of it launched; a graph pays up to " +
                           percent(MOST_WAITING_OF_AUTO));
    }
    decided_ = true;
    try {
        if (between_ranks) between_ranks->open_room();
        together(between_ranks, [&] {
            auto recorder = open_ ? open_(device_.index()) : open_graph_recorder(device_.index());
            recorded_ =
                std::make_unique<StaticEvaluation>(card_, model_, device_, std::move(recorder));
            recorded_->prepare(graph, between_ranks);
        });
        record(between_ranks);
        const double tolerance = model_.precision() == "float64" ? 1e-9 : 1e-4;
        together(between_ranks,
                 [&] { require_same_results(card_, recorded_->replay(), plain, tolerance); });
    } catch (const std::exception& error) {
        return give_up(error.what());
    }
    news_ = "evaluations are recorded as a CUDA graph and replayed";
}

std::optional<Evaluation> GraphChoice::evaluate(const AtomGraph& graph, HaloExchange& exchange,
                                                bool edge_moments) {
    auto* const between_ranks = recordable(exchange);
    if (!replays(edge_moments)) return std::nullopt;
    if (!between_ranks && (graph.n_owned == 0 || graph.n_rows > graph.n_owned)) return std::nullopt;
    if (between_ranks) {
        // a rank that throws here answers any() as it leaves the evaluation
        const bool changed = between_ranks->any(recorded_->prepare(graph, between_ranks));
        try {
            if (changed) record(between_ranks);
        } catch (const std::exception& error) {
            give_up(error.what());
            return std::nullopt;
        }
        between_ranks->settle();
        return replay(graph);
    }
    try {
        together(nullptr, [&] {
            if (recorded_->prepare(graph)) record(nullptr);
        });
        return replay(graph);
    } catch (const NotFiniteError&) {
        throw;
    } catch (const std::exception& error) {
        give_up(error.what());
    }
    return std::nullopt;
}

Evaluation GraphChoice::replay(const AtomGraph& graph) {
    try {
        auto evaluation = consolidate(card_, graph, recorded_->replay());
        evaluation.replayed = true;
        return evaluation;
    } catch (const c10::Error& error) {
        throw ModelError("model '" + card_.name +
                         "' as a CUDA graph: " + first_line(error.what_without_backtrace()));
    }
}

}  // namespace nvalchemi
