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

/// Hands out the rows of one stratum in the order of their keys.
class Deck {
  public:
    Deck(const Stratum& stratum, const std::vector<std::uint64_t>& key)
        : neighbor(stratum.neighbor), rows_(stratum.rows) {
        std::sort(rows_.begin(), rows_.end(),
                  [&](std::int64_t a, std::int64_t b) { return key[a] < key[b]; });
    }

    /// The next row that is not `taken`, or -1.
    std::int64_t draw(std::vector<bool>& taken) {
        while (next_ < rows_.size() && taken[rows_[next_]]) ++next_;
        if (next_ == rows_.size()) return -1;
        taken[rows_[next_]] = true;
        return rows_[next_++];
    }

    int neighbor;

  private:
    std::vector<std::int64_t> rows_;
    std::size_t next_ = 0;
};

}  // namespace

std::uint64_t spread(std::uint64_t seed, std::uint64_t step, std::uint64_t id) {
    return mix(mix(mix(seed) ^ step) ^ id);
}

SampleChoice choose_sample(const std::vector<Stratum>& strata,
                           const std::vector<std::uint64_t>& key, std::int64_t count) {
    std::vector<Deck> decks;
    for (const auto& stratum : strata) decks.emplace_back(stratum, key);

    SampleChoice choice;
    std::vector<bool> taken(key.size(), false);
    bool first_turn = true, drawn = true;
    while (drawn) {
        drawn = false;
        for (auto& deck : decks) {
            if (!first_turn && static_cast<std::int64_t>(choice.rows.size()) >= count) break;
            const auto row = deck.draw(taken);
            if (row < 0) continue;
            choice.rows.push_back({row, deck.neighbor});
            drawn = true;
        }
        first_turn = false;
    }
    for (const auto& stratum : strata) {
        const auto sampled =
            std::count_if(stratum.rows.begin(), stratum.rows.end(),
                          [&](std::int64_t row) { return static_cast<bool>(taken[row]); });
        choice.strata.push_back({stratum.neighbor, static_cast<std::int64_t>(stratum.rows.size()),
                                 static_cast<std::int64_t>(sampled)});
    }
    return choice;
}

double bound_on_wrong(std::int64_t rows, std::int64_t sampled) {
    if (sampled >= rows) return 0.0;
    return sampled > 0 ? std::min(1.0, 3.0 / static_cast<double>(sampled)) : 1.0;
}

}  // namespace nvalchemi
