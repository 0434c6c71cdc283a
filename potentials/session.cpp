// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/session.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "kernels/register_ops.hpp"
#include "potentials/archive.hpp"
#include "potentials/distributed_model.hpp"
#include "potentials/element_test.hpp"
#include "potentials/evaluation_scope.hpp"
#include "potentials/graph_choice.hpp"
#include "potentials/model_inputs.hpp"
#include "potentials/reference_check.hpp"
#include "potentials/self_test.hpp"
#include "potentials/spec_against_card.hpp"
#include "potentials/staged_exchange.hpp"
#include "potentials/torch_release.hpp"

namespace nvalchemi {

namespace {

ModelCard read_card(const std::string& archive, const SessionOptions& options) {
    if (options.card_text)
        return parse_model_card(*options.card_text, options.card_path, options.spec_reading);
    if (const auto text = read_embedded_card(archive, options.path))
        return parse_model_card(*text, options.path + ":nvalchemi.json", options.spec_reading);
    throw ModelError(options.path +
                     ": got an archive without a model card, expected the extra file "
                     "'nvalchemi.json' inside it or a file NAME.card.json beside it; "
                     "see the model card page of the documentation");
}

void set_total_charge(ModelCard& card, const std::optional<double>& charge) {
    if (!charge) return;
    if (card.find_input(InputRole::TotalCharge) == nullptr)
        throw ModelError("model '" + card.name + "': got a total charge of " +
                         std::to_string(*charge) +
                         ", but the model has no input of role \"total_charge\"; leave it out");
    card.total_charge = *charge;
}

std::string listing_of(const DistributedModel& model) {
    std::string text;
    int number = 0;
    for (const auto& exchange : model.exchanges()) {
        text += std::to_string(++number) + ". " + exchange.name + ", width " +
                std::to_string(exchange.width);
        if (!exchange.source.empty()) text += ", after " + exchange.source;
        if (!exchange.module.empty()) text += ", module " + exchange.module;
        if (exchange.overlaps > 0)
            text += ", meanwhile " + std::to_string(exchange.overlaps) + " operators";
        text += "\n";
    }
    if (text.empty()) text = "no exchanges\n";
    for (const auto& use : model.adapter_uses()) {
        text += "spec " + use.pointer + ": " + use.target + ": " + use.action;
        if (use.places.empty()) text += "; not called by this model";
        for (const auto& place : use.places)
            text += (&place == &use.places[0] ? "; at " : ", ") + place;
        text += "\n";
    }
    return text;
}

/// The card counts for its own spec, not for one that replaces it.
void check_exchange_count(const ModelCard& card, const SessionOptions& options,
                          const DistributedModel& model) {
    if (options.spec) return;
    const auto found = static_cast<std::int64_t>(model.exchanges().size());
    if (!card.expected_exchanges || *card.expected_exchanges == found) return;
    throw ModelError("model card of '" + card.name + "' /expected_exchanges: got " +
                     std::to_string(*card.expected_exchanges) +
                     ", but the distribution pass finds " + std::to_string(found) + ":\n" +
                     listing_of(model) + "Correct the card, or export the model again");
}

}  // namespace

struct Session::Impl {
    ModelCard card;
    torch::Device device = torch::kCPU;
    torch::jit::Module module;
    std::unique_ptr<DistributedModel> model;
    std::unique_ptr<GraphChoice> graphs;
    std::vector<ExchangeEvent> schedule;
    std::vector<ExchangeEvent> moment_schedule;
    std::optional<std::vector<ExchangeEvent>> energy_schedule;  // made when first asked for
    std::optional<std::array<double, 9>> setup_cell;            // of the schedules

    const DistributedModel& distributed() const {
        if (model) return *model;
        throw ModelError("model '" + card.name +
                         "': got a call for its distributed form, expected one that was loaded "
                         "with SessionOptions::distribute");
    }
};

Session::Session(const std::string& archive, const SessionOptions& options)
    : impl_(std::make_unique<Impl>()) {
    register_operators();
    auto& card = impl_->card;
    card = read_card(archive, options);
    if (options.spec) card.spec = options.spec;
    set_total_charge(card, options.total_charge);
    if (options.threads > 0) at::set_num_threads(options.threads);
    // The optimising executor recompiles for every shape and gains nothing on these models.
    torch::jit::setGraphExecutorOptimize(false);
    // the user's first: it serves the card's entry of the same name too
    load_operator_libraries(options.operator_libraries);
    const auto folder = std::filesystem::path(options.path).parent_path().string();
    load_operator_libraries(card.operator_libraries, folder.empty() ? "." : folder);
    if (options.distribute) check_spec_against_card(card, options.spec_reading);
    impl_->device = select_device(options.device);
    if (!options.distribute) {
        impl_->module = load_module(archive, options.path, impl_->device);
        if (options.element_test && impl_->device.is_cpu()) test_elements(card, impl_->module);
        return;
    }
    // Analysis and self-test need host memory, whatever the device.
    impl_->module = load_module(archive, options.path, torch::kCPU);
    if (options.self_test || options.element_test) test_elements(card, impl_->module);
    impl_->model = std::make_unique<DistributedModel>(card, impl_->module, torch::kCPU,
                                                      options.edge_moments, options.overlap);
    if (options.counts_exchanges) check_exchange_count(card, options, *impl_->model);
    impl_->schedule = options.self_test ? self_test(card, impl_->module, *impl_->model)
                                        : record_schedule(card, *impl_->model);
    impl_->moment_schedule =
        options.edge_moments ? record_schedule(card, *impl_->model, true) : impl_->schedule;
    if (impl_->device.is_cuda()) {
        impl_->module = load_module(archive, options.path, impl_->device);
        impl_->model = std::make_unique<DistributedModel>(card, impl_->module, impl_->device,
                                                          options.edge_moments, options.overlap);
    }
    impl_->graphs =
        std::make_unique<GraphChoice>(options.graphs, card, *impl_->model, impl_->device);
    if (options.self_test && card.reference) check_reference(*this);
}

Session::~Session() = default;

const ModelCard& Session::card() const { return impl_->card; }

Evaluation Session::evaluate(const AtomGraph& graph, HaloExchange& exchange, bool edge_moments) {
    const auto& model = impl_->distributed();
    auto* graphs = impl_->graphs.get();
    if (graphs == nullptr) return model.evaluate(graph, exchange, edge_moments);
    if (auto replayed = graphs->evaluate(graph, exchange, edge_moments))
        return std::move(*replayed);
    ModelResults results;
    const bool decides = graphs->undecided() && !edge_moments;
    auto evaluation =
        model.evaluate(graph, exchange, edge_moments, {}, decides ? &results : nullptr);
    if (decides) graphs->decide(graph, exchange, results, evaluation);
    return evaluation;
}

std::vector<Evaluation> Session::evaluate_in_parts(InMemoryGroup& group,
                                                   const std::vector<AtomGraph>& parts,
                                                   const PartsOptions& options) {
    const EvaluationScope one_dtype_for_all_threads(model_dtype(impl_->card));
    std::vector<Evaluation> evaluations(parts.size());
    group.run([&](int rank, HaloExchange& memory) {
        StagedExchange staged(memory, -1);
        HaloExchange& own = impl_->device.is_cuda() ? static_cast<HaloExchange&>(staged) : memory;
        const auto wrapped = options.wrap_exchange ? options.wrap_exchange(rank, own) : nullptr;
        const auto observer = options.observer ? options.observer(rank) : ValueObserver();
        evaluations[rank] =
            impl_->distributed().evaluate(parts[rank], wrapped ? *wrapped : own, false, observer);
    });
    return evaluations;
}

Evaluation Session::evaluate_undecomposed(const AtomGraph& graph) {
    return nvalchemi::evaluate_undecomposed(impl_->card, impl_->module, impl_->device, graph);
}

void Session::settle(const double cell[9]) {
    auto& own = *impl_;
    std::array<double, 9> wanted{};
    std::copy_n(cell, 9, wanted.begin());
    if (!own.card.find_input(InputRole::SetupCell) || own.setup_cell == wanted) return;
    own.setup_cell = wanted;
    own.energy_schedule.reset();
    own.schedule = record_schedule_in_cell(own.card, own.distributed(), wanted, false);
    if (!own.moment_schedule.empty())
        own.moment_schedule = record_schedule_in_cell(own.card, own.distributed(), wanted, true);
}

const std::vector<ExchangeEvent>& Session::schedule(bool edge_moments) const {
    return edge_moments ? impl_->moment_schedule : impl_->schedule;
}

std::string Session::precision() const {
    return impl_->model ? impl_->model->precision() : impl_->card.dtype;
}

std::string Session::rounds_at() const {
    return impl_->model ? impl_->model->rounds_at() : std::string();
}

Evaluation Session::evaluate_energies(const AtomGraph& graph, HaloExchange& exchange) {
    return impl_->distributed().evaluate_energies(graph, exchange);
}

Evaluation Session::undecomposed_energies(const AtomGraph& graph) {
    return nvalchemi::undecomposed_energies(impl_->card, impl_->module, impl_->device, graph);
}

const std::vector<ExchangeEvent>& Session::energy_schedule() {
    if (!impl_->energy_schedule)
        impl_->energy_schedule =
            record_energy_schedule(impl_->card, impl_->distributed(), impl_->setup_cell);
    return *impl_->energy_schedule;
}

const std::vector<AdapterUse>& Session::adapter_uses() const {
    return impl_->distributed().adapter_uses();
}

const std::vector<PlannedExchange>& Session::planned_exchanges() const {
    return impl_->distributed().exchanges();
}

const std::vector<ForeignCall>& Session::foreign_calls() const {
    return impl_->distributed().foreign_calls();
}

std::vector<OperatorCall> Session::operator_calls() const {
    return impl_->distributed().operator_calls();
}

std::vector<std::string> Session::free_functions() const {
    constexpr std::string_view kPrefix = "__torch__.";
    std::vector<std::string> names;
    for (const auto* function : impl_->module._ivalue()->compilation_unit()->get_functions()) {
        const auto name = function->qualname().qualifiedName();
        names.push_back(name.rfind(kPrefix, 0) == 0 ? name.substr(kPrefix.size()) : name);
    }
    return names;
}

std::string Session::listing() const { return listing_of(impl_->distributed()); }

std::string Session::graph_news() { return impl_->graphs ? impl_->graphs->take_news() : ""; }

bool Session::replays(bool edge_moments) const {
    return impl_->graphs && impl_->graphs->replays(edge_moments);
}

int Session::graph_recordings() const { return impl_->graphs ? impl_->graphs->recordings() : 0; }

std::string Session::device_name() const { return impl_->device.str(); }
std::string Session::torch_version_built() { return TORCH_VERSION; }
std::string Session::torch_version_running() { return running_torch_version(); }

}  // namespace nvalchemi
