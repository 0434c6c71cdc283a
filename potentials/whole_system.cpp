// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/whole_system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "potentials/neighbor_search.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

// xx, yy, zz, xy, xz, yz
constexpr int kFirst[6] = {0, 1, 2, 0, 0, 1};
constexpr int kSecond[6] = {0, 1, 2, 1, 2, 2};

template <typename T>
std::vector<T> permuted(const std::vector<T>& rows, const std::vector<std::int64_t>& order,
                        std::size_t width) {
    std::vector<T> result;
    result.reserve(rows.size());
    for (const auto row : order)
        result.insert(result.end(), rows.begin() + row * width, rows.begin() + (row + 1) * width);
    return result;
}

double largest_magnitude(const std::vector<double>& values) {
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::fabs(value));
    return largest;
}

/// What any other way to compute edge vectors from the positions does to them, through other images
/// or an origin elsewhere: coordinates of atom and image have the last bit of their size.
void round_otherwise(std::vector<double>& vectors, double coordinate, std::uint64_t seed) {
    const double size = std::numeric_limits<double>::epsilon() * coordinate;
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> rounding(-size, size);
    for (double& component : vectors) component += rounding(random);
}

/// `seed` 0: as they are; else in another order, with vectors that are rounded otherwise.
EdgeList in_order(const WholeSystem& system, EdgeList edges, std::uint64_t seed) {
    if (seed == 0) return edges;
    std::vector<std::int64_t> order(edges.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    edges.receiver = permuted(edges.receiver, order, 1);
    edges.sender = permuted(edges.sender, order, 1);
    edges.vector = permuted(edges.vector, order, 3);
    edges.cell_shift = permuted(edges.cell_shift, order, 3);
    edges.shift = permuted(edges.shift, order, 3);
    round_otherwise(edges.vector,
                    largest_magnitude(system.positions) + largest_magnitude(edges.shift), seed);
    return edges;
}

AtomGraph folded_graph(const WholeSystem& system, const EdgeList& edges) {
    AtomGraph graph;
    graph.n_owned = graph.n_rows = system.size();
    graph.n_edges = edges.size();
    graph.species = system.species.data();
    graph.receiver = edges.receiver.data();
    graph.sender = edges.sender.data();
    graph.edge_vector = edges.vector.data();
    graph.position = system.positions.data();
    if (!system.charges.empty()) graph.charge = system.charges.data();
    if (!system.atom_inputs.empty()) graph.atom_inputs = system.atom_inputs.data();
    if (!system.system_inputs.empty()) graph.system_inputs = system.system_inputs.data();
    if (system.setup_cell) graph.setup_cell = system.setup_cell->data();
    graph.edge_shift = edges.shift.data();
    graph.edge_cell_shift = edges.cell_shift.data();
    std::copy_n(system.cell, 9, graph.cell);
    return graph;
}

/// dE/dr_e acts on the receiver as a force and on the sender as its opposite; its moment with r_e
/// is the virial.
void sum_edge_gradients(const EdgeList& edges, const std::vector<double>& gradients,
                        WholeEvaluation& whole) {
    const auto atoms = whole.forces.size() / 3;
    std::vector<double> squares(atoms, 0.0), moments(atoms, 0.0);
    whole.atomic_virials.assign(6 * atoms, 0.0);
    double moment = 0;
    for (std::int64_t e = 0; e < edges.size(); ++e) {
        const double* g = &gradients[3 * e];
        const double* r = &edges.vector[3 * e];
        const double g2 = g[0] * g[0] + g[1] * g[1] + g[2] * g[2];
        for (int a = 0; a < 3; ++a) {
            whole.forces[3 * edges.receiver[e] + a] += g[a];
            whole.forces[3 * edges.sender[e] + a] -= g[a];
            for (int b = 0; b < 3; ++b) whole.virial[3 * a + b] -= r[a] * g[b];
        }
        const double m2 = g2 * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
        for (const auto end : {edges.receiver[e], edges.sender[e]}) {
            for (int k = 0; k < 6; ++k)
                whole.atomic_virials[6 * end + k] -= 0.5 * r[kFirst[k]] * g[kSecond[k]];
            squares[end] += g2;
            moments[end] += 0.25 * m2;
        }
        moment += m2;
    }
    for (const double square : squares)
        whole.force_terms = std::max(whole.force_terms, std::sqrt(square));
    for (const double square : moments)
        whole.atomic_virial_terms = std::max(whole.atomic_virial_terms, std::sqrt(square));
    whole.virial_terms = std::sqrt(moment);
}

/// Sum of |x| |f| over rows: what cancels what the cell adds to a virial.
double size_of_moments(const std::vector<double>& positions, const Evaluation& evaluation) {
    double sum = 0;
    for (std::size_t row = 0; 3 * row < evaluation.row_forces.size(); ++row) {
        const double *x = &positions[3 * row], *f = &evaluation.row_forces[3 * row];
        sum += std::hypot(x[0], x[1], x[2]) * std::hypot(f[0], f[1], f[2]);
    }
    return sum;
}

}  // namespace

double WholeSystem::volume() const {
    const double* a = cell;
    const double* b = cell + 3;
    const double* c = cell + 6;
    return std::fabs(a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
                     a[2] * (b[0] * c[1] - b[1] * c[0]));
}

WholeEvaluation evaluate_whole(Session& session, const WholeSystem& system,
                               std::uint64_t edge_order) {
    const auto edges =
        neighbor_search(system.positions, system.cell, system.periodic, session.card().cutoff);
    return evaluate_with_edges(session, system, edges, edge_order);
}

WholeEvaluation evaluate_with_edges(Session& session, const WholeSystem& system,
                                    const EdgeList& given, std::uint64_t edge_order) {
    const auto edges = in_order(system, given, edge_order);
    const auto evaluation = session.evaluate_undecomposed(folded_graph(system, edges));

    WholeEvaluation whole;
    whole.energy = evaluation.energy;
    whole.atomic_energies = evaluation.atomic_energies;
    whole.extras = evaluation.extras;
    whole.forces.assign(3 * system.size(), 0.0);
    if (!evaluation.edge_gradients.empty())
        sum_edge_gradients(edges, evaluation.edge_gradients, whole);
    for (std::size_t k = 0; k < evaluation.row_forces.size(); ++k)
        whole.forces[k] += evaluation.row_forces[k];
    // Positions alone do not tell how the energy moves with the cell that folded rows refer to.
    whole.has_virial =
        evaluation.has_model_virial || session.card().forces == ForceSource::EdgeVectors;
    if (evaluation.has_model_virial) std::copy_n(evaluation.virial, 9, whole.virial);
    for (int k = 0; k < 9; ++k) whole.virial[k] += evaluation.lattice_virial[k];
    if (evaluation.has_lattice_virial)
        whole.virial_terms =
            std::hypot(whole.virial_terms, size_of_moments(system.positions, evaluation));
    return whole;
}

std::vector<double> energies_with_edges(Session& session, const WholeSystem& system,
                                        const EdgeList& edges, std::uint64_t edge_order) {
    const auto ordered = in_order(system, edges, edge_order);
    return session.undecomposed_energies(folded_graph(system, ordered)).atomic_energies;
}

}  // namespace nvalchemi
