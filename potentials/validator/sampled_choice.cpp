// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/sampled_choice.hpp"

#include <algorithm>

namespace nvalchemi {

namespace {

/// The finaliser of the SplitMix64 generator (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/// The `count` rows with the smallest keys, ascending by them; all rows if there are fewer.
std::vector<std::int64_t> smallest(std::vector<std::int64_t> rows,
                                   const std::vector<std::uint64_t>& key, std::int64_t count) {
    std::sort(rows.begin(), rows.end(),
              [&](std::int64_t a, std::int64_t b) { return key[a] < key[b]; });
    if (static_cast<std::int64_t>(rows.size()) > count) rows.resize(count);
    return rows;
}

}  // namespace

std::uint64_t spread(std::uint64_t seed, std::uint64_t step, std::uint64_t id) {
    return mix(mix(mix(seed) ^ step) ^ id);
}

SampleChoice choose_sample(const std::vector<Stratum>& strata,
                           const std::vector<std::uint64_t>& key, std::int64_t count) {
    SampleChoice choice;
    std::size_t most = 0;
    for (const auto& stratum : strata) {
        choice.strata.push_back({stratum.neighbor, static_cast<std::int64_t>(stratum.rows.size()),
                                 smallest(stratum.rows, key, count)});
        most = std::max(most, choice.strata.back().drawn.size());
    }
    std::vector<bool> taken(key.size(), false);
    for (std::size_t turn = 0; turn < most; ++turn)
        for (const auto& stratum : choice.strata) {
            if (turn >= stratum.drawn.size() || taken[stratum.drawn[turn]]) continue;
            taken[stratum.drawn[turn]] = true;
            choice.rows.push_back(stratum.drawn[turn]);
        }
    return choice;
}

double bound_on_wrong(std::int64_t rows, std::int64_t sampled) {
    if (sampled >= rows) return 0.0;
    return sampled > 0 ? std::min(1.0, 3.0 / static_cast<double>(sampled)) : 1.0;
}

}  // namespace nvalchemi
