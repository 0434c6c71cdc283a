// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/self_test.hpp"

#include <algorithm>
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
    std::vector<double> energies, edge_gradients, forces;
    double virial[9] = {0};

    explicit Assembled(const SampleStructure& structure)
        : energies(structure.size()),
          edge_gradients(3 * structure.edges.size()),
          forces(3 * structure.size()) {}

    void add(const Evaluation& part, const RankPart& rank) {
        for (std::int64_t row = 0; row < rank.rows.owned; ++row)
            energies[rank.atom_of_row[row]] += part.atomic_energies[row];
        for (std::size_t k = 0; k < part.edge_gradients.size(); ++k)
            edge_gradients[3 * rank.edge_of_edge[k / 3] + k % 3] += part.edge_gradients[k];
        for (std::size_t k = 0; k < part.row_forces.size(); ++k)
            forces[3 * rank.atom_of_row[k / 3] + k % 3] += part.row_forces[k];
        for (int k = 0; k < 9; ++k) virial[k] += part.virial[k];
    }
};

struct Deviation {
    double largest = 0;
    double scale = 0;
    bool exceeds(double tolerance) const { return !(largest <= tolerance * std::max(scale, 1e-3)); }
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

std::string quantity(const char* name, const Deviation& d) {
    char text[160];
    std::snprintf(text, sizeof text, "%s differ by %.3g (largest %.3g)", name, d.largest, d.scale);
    return text;
}

void compare(const ModelCard& card, const Assembled& parts, const Assembled& whole) {
    // rounding of the dtype in a network of a few layers, with a wide margin
    const double tolerance = card.dtype == "float32" ? 2e-3 : 1e-7;
    const std::pair<const char*, Deviation> checks[] = {
        {"per-atom energies", deviation(parts.energies, whole.energies)},
        {"gradients with respect to edge vectors",
         deviation(parts.edge_gradients, whole.edge_gradients)},
        {"forces", deviation(parts.forces, whole.forces)},
        {"virials", deviation(parts.virial, whole.virial)}};
    for (const auto& [name, found] : checks)
        if (found.exceeds(tolerance))
            throw ModelError(
                "model '" + card.name +
                "': a structure of 14 atoms in three parts does not reproduce the undecomposed "
                "model: " + quantity(name, found) +
                ". The model uses something that the distribution pass does not follow; it cannot "
                "be run in parallel as it is");
}

std::vector<int> unequal_parts(std::int64_t atoms) {
    // rank 1 of 3 stays empty
    std::vector<int> ranks(atoms, 0);
    for (std::int64_t atom = 0; atom < atoms; ++atom) ranks[atom] = atom % 3 == 1 ? 2 : 0;
    return ranks;
}

/// Adds up what the parts of one decomposition return.
Assembled evaluate_parts(const ModelCard& card, const DistributedModel& model,
                         const SampleStructure& structure, std::vector<ExchangeEvent>& events,
                         bool edge_moments = false) {
    constexpr int RANKS = 3;
    const auto parts = decompose(structure, card.rows, unequal_parts(structure.size()), RANKS);
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

}  // namespace

std::vector<ExchangeEvent> self_test(const ModelCard& card, const torch::jit::Module& module,
                                     const DistributedModel& model) {
    const auto structure = sample_structure(card);
    const auto graph = undecomposed_graph(structure);
    RankPart everything;
    everything.rows.owned = structure.size();
    for (std::int64_t atom = 0; atom < structure.size(); ++atom)
        everything.atom_of_row.push_back(atom);
    for (std::int64_t edge = 0; edge < structure.edges.size(); ++edge)
        everything.edge_of_edge.push_back(edge);
    Assembled whole(structure);
    whole.add(evaluate_undecomposed(card, module, torch::kCPU, graph.view()), everything);
    std::vector<ExchangeEvent> events;
    const auto parts = evaluate_parts(card, model, structure, events);
    compare(card, parts, whole);
    return events;
}

std::vector<ExchangeEvent> record_schedule(const ModelCard& card, const DistributedModel& model,
                                           bool edge_moments) {
    std::vector<ExchangeEvent> events;
    evaluate_parts(card, model, sample_structure(card), events, edge_moments);
    return events;
}

}  // namespace nvalchemi
