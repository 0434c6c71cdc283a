// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/virtual_parts.hpp"

#include <algorithm>
#include <chrono>

#include "potentials/neighbor_search.hpp"

namespace nvalchemi {

namespace {

constexpr int kVoigt[6] = {0, 4, 8, 1, 2, 5};  // in a row-major 3 x 3 matrix

class Collection {
  public:
    Collection(std::int64_t atoms, int ranks) : atoms_(atoms), ranks_(ranks) {
        result_.sums.atomic_energies.assign(atoms, 0.0);
        result_.sums.forces.assign(3 * atoms, 0.0);
    }

    void add(const Evaluation& evaluation, const RankPart& part, int rank) {
        auto& sums = result_.sums;
        sums.energy += evaluation.energy;
        for (std::size_t row = 0; row < evaluation.atomic_energies.size(); ++row)
            sums.atomic_energies[part.atom_of_row[row]] += evaluation.atomic_energies[row];
        for (std::size_t k = 0; k < evaluation.row_forces.size(); ++k)
            sums.forces[3 * part.atom_of_row[k / 3] + k % 3] += evaluation.row_forces[k];
        double virial[9] = {0};
        if (evaluation.has_model_virial) std::copy_n(evaluation.virial, 9, virial);
        for (int k = 0; k < 9; ++k) virial[k] += evaluation.lattice_virial[k];
        add_edges(evaluation.edge_gradients, part, virial);
        for (int k = 0; k < 6; ++k) sums.virial[k] += virial[kVoigt[k]];
        for (const auto& [key, extra] : evaluation.extras) add_extra(key, extra, part, rank);
    }

    VirtualEvaluation take() { return std::move(result_); }

  private:
    void add_edges(const std::vector<double>& gradients, const RankPart& part, double virial[9]) {
        const auto& graph = part.graph;
        for (std::size_t edge = 0; 3 * edge < gradients.size(); ++edge) {
            const double* g = &gradients[3 * edge];
            const double* r = &graph.edge_vector[3 * edge];
            const auto receiver = part.atom_of_row[graph.receiver[edge]];
            const auto sender = part.atom_of_row[graph.sender[edge]];
            for (int a = 0; a < 3; ++a) {
                result_.sums.forces[3 * receiver + a] += g[a];
                result_.sums.forces[3 * sender + a] -= g[a];
                for (int b = 0; b < 3; ++b) virial[3 * a + b] -= r[a] * g[b];
            }
        }
    }

    void add_extra(const std::string& key, const ExtraOutput& extra, const RankPart& part,
                   int rank) {
        auto& whole = result_.sums.extras[key];
        whole.per_node = extra.per_node;
        whole.width = extra.width;
        const auto width = static_cast<std::size_t>(extra.width);
        whole.values.resize((extra.per_node ? atoms_ : ranks_) * width, 0.0);
        for (std::size_t k = 0; k < extra.values.size(); ++k) {
            const auto row = extra.per_node ? part.atom_of_row[k / width] : rank;
            whole.values[row * width + k % width] = extra.values[k];
        }
    }

    std::int64_t atoms_;
    int ranks_;
    VirtualEvaluation result_;
};

VirtualParts split(SampleStructure structure, const ModelCard& card, const std::vector<int>& owners,
                   int ranks) {
    VirtualParts result;
    result.structure = std::move(structure);
    result.owners = owners;
    result.parts = decompose(result.structure, card, owners, ranks);
    return result;
}

}  // namespace

VirtualParts make_virtual_parts(const WholeSystem& system, const ModelCard& card,
                                const std::vector<int>& owners, int ranks) {
    SampleStructure structure;
    structure.species = system.species;
    structure.positions = system.positions;
    structure.charges = system.charges;
    structure.atom_inputs = system.atom_inputs;
    structure.system_inputs = system.system_inputs;
    structure.setup_cell = system.setup_cell;
    std::copy_n(system.cell, 9, structure.cell);
    structure.edges = neighbor_search(system.positions, system.cell, system.periodic, card.cutoff);
    return split(std::move(structure), card, owners, ranks);
}

VirtualParts as_one_part(const VirtualParts& many, const ModelCard& card) {
    return split(many.structure, card, std::vector<int>(many.owners.size(), 0), 1);
}

VirtualEvaluation evaluate_virtual(Session& session, const VirtualParts& virtual_parts,
                                   const PartsOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    const auto& parts = virtual_parts.parts;
    std::vector<RankRows> rows;
    std::vector<AtomGraph> graphs;
    for (const auto& part : parts) {
        rows.push_back(part.rows);
        graphs.push_back(part.graph.view());
    }
    InMemoryGroup group(rows);
    const auto evaluations = session.evaluate_in_parts(group, graphs, options);

    Collection collection(virtual_parts.structure.size(), static_cast<int>(parts.size()));
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
        collection.add(evaluations[rank], parts[rank], static_cast<int>(rank));
    auto result = collection.take();
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
        result.events.push_back(group.events(static_cast<int>(rank)));
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

}  // namespace nvalchemi
