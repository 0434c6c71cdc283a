// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_KERNELS_DECOMPOSITIONS_HPP
#define NVALCHEMI_UNITTEST_KERNELS_DECOMPOSITIONS_HPP

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/in_memory_exchange.hpp"

namespace nvalchemi::test {

/// Three atoms a, b, c on two ranks:
///
///     rank 0:  a b | c'
///     rank 1:  c   | b' a'
inline std::vector<RankRows> three_atoms_on_two_ranks() {
    return {{2, {{1, 0}}}, {1, {{0, 1}, {0, 0}}}};
}

/// Unequal parts; with two or more ranks, one of them owns nothing. Halo rows are grouped by owner
/// and repeat owners: several images of one atom, and images of a rank's own atoms.
inline std::vector<RankRows> random_decomposition(int ranks, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<RankRows> parts(static_cast<std::size_t>(ranks));
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        const bool empty = ranks > 1 && rank == seed % parts.size();
        parts[rank].owned = empty ? 0 : static_cast<std::int64_t>(1 + random() % 5);
    }
    for (RankRows& part : parts) {
        const std::size_t n_halo = random() % 8;
        for (std::size_t i = 0; i < n_halo; ++i) {
            const auto owner = random() % parts.size();
            if (parts[owner].owned == 0) continue;
            const auto row = random() % static_cast<std::uint64_t>(parts[owner].owned);
            part.halo.push_back({static_cast<int>(owner), static_cast<std::int64_t>(row)});
        }
        std::stable_sort(
            part.halo.begin(), part.halo.end(),
            [](const HaloSource& a, const HaloSource& b) { return a.owner_rank < b.owner_rank; });
    }
    return parts;
}

inline std::int64_t total_rows(const RankRows& part) {
    return part.owned + static_cast<std::int64_t>(part.halo.size());
}

}  // namespace nvalchemi::test

#endif
