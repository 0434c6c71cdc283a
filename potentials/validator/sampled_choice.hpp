// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_SAMPLED_CHOICE_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_SAMPLED_CHOICE_HPP

#include <cstdint>
#include <vector>

namespace nvalchemi {

/// Neighbour rank of the stratum of atoms that see no atom of another rank.
constexpr int kInterior = -1;

/// Owned atoms of a rank that see atoms of one other rank, or of none (kInterior). An atom near
/// several ranks belongs to several strata.
struct Stratum {
    int neighbor = kInterior;
    std::vector<std::int64_t> rows;  ///< owned rows
};

struct SampledRow {
    std::int64_t row = 0;
    int neighbor = kInterior;  ///< of the stratum that it was drawn for
};

/// What was drawn from one stratum.
struct StratumCount {
    int neighbor = kInterior;
    std::int64_t rows = 0;
    std::int64_t sampled = 0;  ///< rows of it in the sample, whatever they were drawn for
};

struct SampleChoice {
    std::vector<SampledRow> rows;  ///< distinct; the first of each stratum come first
    std::vector<StratumCount> strata;
};

/// A number that depends on nothing but its arguments, well spread: the same atom gets the same
/// number on every rank and in any order of rows.
std::uint64_t spread(std::uint64_t seed, std::uint64_t step, std::uint64_t id);

/// Draw `count` rows without repetition, at least one from every stratum (more than `count` where
/// there are more strata), the others from the strata in turn. Within a stratum the rows with the
/// smallest `key` (one for each owned row) are drawn.
SampleChoice choose_sample(const std::vector<Stratum>& strata,
                           const std::vector<std::uint64_t>& key, std::int64_t count);

/// Upper bound, at 95 % confidence, of the fraction of wrong atoms in a stratum of `rows` of which
/// `sampled` were right: 3 / sampled, and 0 where all were looked at.
double bound_on_wrong(std::int64_t rows, std::int64_t sampled);

}  // namespace nvalchemi

#endif
