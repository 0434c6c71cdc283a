// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/self_test.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <mutex>

#include "potentials/evaluation_scope.hpp"
#include "potentials/model_inputs.hpp"
#include "potentials/sample_structure.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

/// What is compared, assembled over ranks: per atom and per edge of the whole structure.
struct Assembled {
    std::vector<double> energies, edge_gradients, forces, positions;
    double virial[9] = {0};
    double virial_term = 0;  ///< the largest of its terms, which may cancel

    explicit Assembled(const SampleStructure& structure)
        : energies(structure.size()),
          edge_gradients(3 * structure.edges.size()),
          forces(3 * structure.size()),
          positions(structure.positions) {}

    void add(const Evaluation& part, const RankPart& rank) {
        for (std::int64_t row = 0; row < rank.rows.owned; ++row)
            energies[rank.atom_of_row[row]] += part.atomic_energies[row];
        for (std::size_t k = 0; k < part.edge_gradients.size(); ++k)
            edge_gradients[3 * rank.edge_of_edge[k / 3] + k % 3] += part.edge_gradients[k];
        for (std::size_t k = 0; k < part.row_forces.size(); ++k) {
            const auto atom = rank.atom_of_row[k / 3];
            forces[3 * atom + k % 3] += part.row_forces[k];
            for (int axis = 0; part.has_lattice_virial && axis < 3; ++axis)
                virial_term = std::max(virial_term,
                                       std::abs(positions[3 * atom + axis] * part.row_forces[k]));
        }
        for (int k = 0; k < 9; ++k) {
            virial[k] += part.virial[k] + part.lattice_virial[k];
            virial_term =
                std::max({virial_term, std::abs(part.virial[k]), std::abs(part.lattice_virial[k])});
        }
    }
};

/// One quantity in two evaluations.
struct Deviation {
    double largest = 0;  ///< largest absolute difference; NaN if a value is not finite
    double scale = 0;    ///< largest absolute value
};

template <typename Range>
Deviation deviation(const Range& left, const Range& right) {
    Deviation result;
    for (std::size_t k = 0; k < std::size(left); ++k) {
        const double difference = std::abs(left[k] - right[k]);
        if (!(difference <= result.largest)) result.largest = difference;
        result.scale = std::max(result.scale, std::abs(right[k]));
    }
    return result;
}

constexpr std::array<const char*, 4> QUANTITIES = {
    "per-atom energies", "gradients with respect to edge vectors", "forces", "virials"};

std::array<Deviation, 4> deviations(const Assembled& left, const Assembled& right) {
    auto virial = deviation(left.virial, right.virial);
    virial.scale = std::max(virial.scale, right.virial_term);
    return {deviation(left.energies, right.energies),
            deviation(left.edge_gradients, right.edge_gradients),
            deviation(left.forces, right.forces), virial};
}

bool is_finite(const std::array<Deviation, 4>& found) {
    return std::all_of(found.begin(), found.end(),
                       [](const auto& d) { return std::isfinite(d.largest); });
}

/// The structure as one process sees it, on the archive as it is.
Assembled evaluate_whole(const ModelCard& card, const torch::jit::Module& module,
                         const SampleStructure& structure) {
    RankPart everything;
    everything.rows.owned = structure.size();
    for (std::int64_t atom = 0; atom < structure.size(); ++atom)
        everything.atom_of_row.push_back(atom);
    for (std::int64_t edge = 0; edge < structure.edges.size(); ++edge)
        everything.edge_of_edge.push_back(edge);
    Assembled whole(structure);
    whole.add(
        evaluate_undecomposed(card, module, torch::kCPU, undecomposed_graph(structure).view()),
        everything);
    return whole;
}

/// Adds up what the parts of one decomposition return.
Assembled evaluate_parts(const ModelCard& card, const DistributedModel& model,
                         const SampleStructure& structure, const std::vector<int>& rank_of_atom,
                         std::vector<ExchangeEvent>& events, bool edge_moments = false) {
    const int ranks = 1 + *std::max_element(rank_of_atom.begin(), rank_of_atom.end());
    const auto parts = decompose(structure, card, rank_of_atom, ranks);
    std::vector<RankRows> rows;
    for (const auto& part : parts) rows.push_back(part.rows);
    const EvaluationScope one_dtype_for_all_threads(model_dtype(card));
    InMemoryGroup group(rows);
    Assembled sum(structure);
    std::mutex mutex;
    group.run([&](int rank, HaloExchange& exchange) {
        const auto evaluation = model.evaluate(parts[rank].graph.view(), exchange, edge_moments);
        const std::lock_guard<std::mutex> lock(mutex);
        sum.add(evaluation, parts[rank]);
    });
    events = group.events(0);
    return sum;
}

/// The failure table of operator adapters: what each operator of the spec may lack.
std::string adapter_advice(const ModelCard& card, const DistributedModel& model) {
    const auto& adapters = card.distribution().distribution.custom_ops;
    std::string text;
    for (std::size_t k = 0; k < adapters.size(); ++k) {
        const auto& adapter = adapters[k];
        if (model.adapter_uses()[k].places.empty()) continue;
        text += " Operator " + adapter.op + ":";
        if (adapter.output_transforms.empty())
            text +=
                " if an output holds parts of sums on halo rows, declare scatter_outputs on it; if "
                "it is a sum over atoms, declare slice_owned on its rows and all_reduce_sum on it.";
        else if (adapter.arg_transforms.empty())
            text +=
                " if an output is a sum over atoms, declare slice_owned on its rows, so that each "
                "atom counts once.";
        else
            text += " compare its transforms with what it computes.";
    }
    return text;
}

[[noreturn]] void refuse(const ModelCard& card, const DistributedModel& model, std::int64_t atoms,
                         const char* quantity, const Deviation& found) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, " differ by %.3g (largest %.3g)", found.largest,
                  found.scale);
    throw ModelError("model '" + card.name + "': a structure of " + std::to_string(atoms) +
                     " atoms in parts does not reproduce the undecomposed model: " + quantity +
                     numbers +
                     ". The model uses something that the distribution pass does not follow; it "
                     "cannot be run in parallel as it is." +
                     adapter_advice(card, model));
}

/// The order of edges is LAMMPS's own: only rounding may depend on it.
void refuse_order(const ModelCard& card, const DistributedModel& model,
                  const std::array<Deviation, 4>& noise) {
    const double limit = model.precision() == "float32" ? 1e-2 : 1e-4;
    for (std::size_t k = 0; k < noise.size(); ++k) {
        if (noise[k].largest <= limit * std::max(noise[k].scale, 1e-3)) continue;
        char numbers[96];
        std::snprintf(numbers, sizeof numbers, " differ by %.3g (largest %.3g)", noise[k].largest,
                      noise[k].scale);
        throw ModelError("model '" + card.name + "': " + QUANTITIES[k] + numbers +
                         " when the same edges are given in another order, or when the model is "
                         "called twice; expected a model whose result depends on neither");
    }
}

/// Parts against the whole, up to rounding: measured by summing the edges in another order.
void compare(const ModelCard& card, const torch::jit::Module& module, const DistributedModel& model,
             const SampleStructure& structure, const std::vector<int>& rank_of_atom,
             std::vector<ExchangeEvent>& events) {
    const auto whole = evaluate_whole(card, module, structure);
    auto turned = with_reversed_edges(structure);
    auto again = evaluate_whole(card, module, turned);
    for (std::size_t k = 0; k + 2 < again.edge_gradients.size(); k += 3)
        std::swap(again.edge_gradients[k], again.edge_gradients[k + 2]);
    std::reverse(again.edge_gradients.begin(), again.edge_gradients.end());
    const auto noise = deviations(again, whole);
    // a model may have no finite energy there (an atom alone): nothing to compare
    if (!is_finite(noise)) return;
    refuse_order(card, model, noise);
    const double floor = model.precision() == "float32" ? 2e-5 : 1e-9;
    const auto found =
        deviations(evaluate_parts(card, model, structure, rank_of_atom, events), whole);
    for (std::size_t k = 0; k < found.size(); ++k) {
        const double tolerance =
            std::max(100 * noise[k].largest, floor * std::max(found[k].scale, 1e-3));
        if (!(found[k].largest <= tolerance))
            refuse(card, model, structure.size(), QUANTITIES[k], found[k]);
    }
}

/// Energies that depend on positions or cell themselves, where the card says that edge vectors are
/// all there is to differentiate: forces or pressure would be wrong on any number of ranks.
void refuse_hidden_inputs(const ModelCard& card, const torch::jit::Module& module) {
    if (card.forces != ForceSource::EdgeVectors) return;
    const auto structure = sample_structure(card);
    std::optional<Assembled> declared;
    for (const auto role : {InputRole::Positions, InputRole::Cell}) {
        auto probe = card;
        const InputSpec* changed_input = nullptr;
        for (auto* inputs : {&probe.inputs, &probe.arguments})
            for (auto& input : *inputs) {
                if (input.role != role || input.requires_grad) continue;
                input.requires_grad = true;
                changed_input = &input;
            }
        if (changed_input == nullptr) continue;
        if (!declared) declared = evaluate_whole(card, module, structure);
        const auto found = deviations(evaluate_whole(probe, module, structure), *declared);
        const bool moves = role == InputRole::Positions;
        const auto& changed = found[moves ? 2 : 3];
        if (changed.largest <= 1e-6 * std::max(changed.scale, 1e-3)) continue;
        const std::string subject = moves ? "positions" : "cell";
        const std::string result = moves ? "forces" : "the pressure";
        throw ModelError(
            "model '" + card.name + "': its energy depends on the " + subject +
            (changed_input->key.empty() ? "" : " (input '" + changed_input->key + "')") +
            " besides edge vectors, which the model card does not say; " + result +
            " would lack that part. Declare \"requires_grad\": true for that input");
    }
}

std::vector<int> unequal_parts(std::int64_t atoms) {
    // rank 1 of 3 stays empty
    std::vector<int> ranks(atoms, 0);
    for (std::int64_t atom = 0; atom < atoms; ++atom) ranks[atom] = atom % 3 == 1 ? 2 : 0;
    return ranks;
}

/// Parts of one row, of three rows, and of two that share an edge.
std::vector<int> smallest_parts() { return {0, 1, 1, 1, 2, 3}; }

/// Raw rows without shifts cannot show the archive a periodic structure as one process.
bool sees_images(const ModelCard& card) {
    return card.rows == RowMode::Folded || card.find_input(InputRole::EdgeShifts) ||
           card.find_input(InputRole::EdgeCellShifts) || card.find_input(InputRole::EdgeVectors);
}

/// The sample structure, its edges as they are, in another cell for what depends on the cell alone.
GraphStorage sample_in_cell(const ModelCard& card,
                            const std::optional<std::array<double, 9>>& setup_cell) {
    auto structure = sample_structure(card);
    if (setup_cell) {
        structure.setup_cell = setup_cell;
        std::copy(setup_cell->begin(), setup_cell->end(), structure.cell);
    }
    return undecomposed_graph(structure);
}

/// One process without halo rows that keeps note of what it is asked for.
class RecordingExchange final : public HaloExchange {
  public:
    explicit RecordingExchange(std::int64_t rows) : rows_(rows) {}
    std::int64_t owned_rows() const override { return rows_; }
    std::int64_t total_rows() const override { return rows_; }
    int ranks() const override { return 1; }
    void forward(const RowBlock& rows) override {
        events.push_back({ExchangeEvent::Kind::Forward, rows.width, rows.type});
    }
    void reverse(const RowBlock& rows) override {
        events.push_back({ExchangeEvent::Kind::Reverse, rows.width, rows.type});
    }
    void system_sum(const RowBlock& values) override {
        events.push_back({ExchangeEvent::Kind::SystemSum, values.rows * values.width});
    }

    std::vector<ExchangeEvent> events;

  private:
    std::int64_t rows_;
};

}  // namespace

std::vector<ExchangeEvent> self_test(const ModelCard& card, const torch::jit::Module& module,
                                     const DistributedModel& model) {
    std::vector<ExchangeEvent> events;
    try {
        compare(card, module, model, sample_cluster(card), smallest_parts(), events);
    } catch (const NotFiniteError&) {
        // without neighbours some models have no energy
    }
    if (sees_images(card)) {
        refuse_hidden_inputs(card, module);
        const auto structure = sample_structure(card);
        compare(card, module, model, structure, unequal_parts(structure.size()), events);
    }
    if (model.varies_composition()) {
        for (const std::size_t element : {std::size_t(0), card.species.size() - 1}) {
            auto structure = sample_cluster(card);
            std::fill(structure.species.begin(), structure.species.end(), element);
            std::vector<ExchangeEvent> same;
            try {
                compare(card, module, model, structure, smallest_parts(), same);
            } catch (const NotFiniteError&) {
                // as above
            }
        }
    }
    return events.empty() ? record_schedule(card, model) : events;
}

std::vector<ExchangeEvent> record_schedule(const ModelCard& card, const DistributedModel& model,
                                           bool edge_moments) {
    std::vector<ExchangeEvent> events;
    const auto structure = sample_structure(card);
    evaluate_parts(card, model, structure, unequal_parts(structure.size()), events, edge_moments);
    return events;
}

std::vector<ExchangeEvent> record_schedule_in_cell(const ModelCard& card,
                                                   const DistributedModel& model,
                                                   const std::array<double, 9>& setup_cell,
                                                   bool edge_moments) {
    const auto graph = sample_in_cell(card, setup_cell);
    RecordingExchange exchange(graph.view().n_rows);
    model.evaluate(graph.view(), exchange, edge_moments);
    return exchange.events;
}

std::vector<ExchangeEvent> record_energy_schedule(
    const ModelCard& card, const DistributedModel& model,
    const std::optional<std::array<double, 9>>& setup_cell) {
    const auto graph = sample_in_cell(card, setup_cell);
    RecordingExchange exchange(graph.view().n_rows);
    try {
        model.evaluate_energies(graph.view(), exchange);
    } catch (const NotFiniteError&) {
        // some models have no energy for such a structure; all calls have been made by then
    }
    return exchange.events;
}

}  // namespace nvalchemi
