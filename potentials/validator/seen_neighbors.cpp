// SPDX-License-Identifier: GPL-2.0-only
// Whether the ranks of a run saw the neighbours that exist.
#include <cmath>

#include "potentials/neighbor_search.hpp"
#include "potentials/validator/decomposed_run.hpp"

namespace nvalchemi {

namespace {

constexpr std::size_t kShown = 10;
// positions reach the ranks in other images, which rounds distances differently
constexpr double kAtCutoff = 1e-6;
constexpr double kVectorTolerance = 1e-6;

struct Existing {
    SeenNeighbors sure;
    std::int64_t at_cutoff = 0;
};

std::vector<Existing> search(const RunAtoms& atoms, double cutoff) {
    const auto& system = atoms.system;
    const auto edges =
        neighbor_search(system.positions, system.cell, system.periodic, cutoff + kAtCutoff);
    std::vector<Existing> result(atoms.ids.size());
    for (std::int64_t edge = 0; edge < edges.size(); ++edge) {
        auto& atom = result[edges.receiver[edge]];
        const double* v = &edges.vector[3 * edge];
        const double length = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        if (length > cutoff - kAtCutoff) {
            ++atom.at_cutoff;
            continue;
        }
        ++atom.sure.edges;
        atom.sure.senders += hash_of_atom(atoms.ids[edges.sender[edge]]);
        for (int axis = 0; axis < 3; ++axis) atom.sure.vectors[axis] += v[axis];
    }
    return result;
}

bool same(const SeenNeighbors& seen, const Existing& existing) {
    const auto& sure = existing.sure;
    if (existing.at_cutoff > 0)
        return seen.edges >= sure.edges && seen.edges <= sure.edges + existing.at_cutoff;
    bool close = true;
    for (int axis = 0; axis < 3; ++axis)
        close = close && std::fabs(seen.vectors[axis] - sure.vectors[axis]) <= kVectorTolerance;
    return seen.edges == sure.edges && seen.senders == sure.senders && close;
}

}  // namespace

std::uint64_t hash_of_atom(std::int64_t id) {
    // the finaliser of splitmix64
    auto x = static_cast<std::uint64_t>(id) + 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

Completeness check_seen_neighbors(const RunAtoms& atoms, double cutoff) {
    const auto existing = search(atoms, cutoff);
    Completeness result;
    for (std::size_t atom = 0; atom < existing.size(); ++atom) {
        const auto& seen = atoms.seen[atom];
        const auto& found = existing[atom];
        const bool right = same(seen, found);
        // pairs at the cutoff count as existing where they were seen
        const auto expected = right ? seen.edges : found.sure.edges + found.at_cutoff;
        result.edges_seen += seen.edges;
        result.edges_expected += expected;
        result.atoms_owned_otherwise += atom > 0 && atoms.ids[atom] == atoms.ids[atom - 1];
        if (right) continue;
        ++result.atoms_wrong;
        if (result.first.size() < kShown)
            result.first.push_back({atoms.ids[atom], atoms.owners[atom], seen.edges, expected});
    }
    result.complete = result.atoms_wrong == 0 && result.atoms_owned_otherwise == 0;
    return result;
}

}  // namespace nvalchemi
