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

/// What was drawn from one stratum.
struct StratumSample {
    int neighbor = kInterior;
    std::int64_t rows = 0;            ///< that it has
    std::vector<std::int64_t> drawn;  ///< rows, each as likely as any other of the stratum
};

struct SampleChoice {
    std::vector<std::int64_t> rows;  ///< of all strata, distinct; the first of each come first
    std::vector<StratumSample> strata;
};

/// A number that depends on nothing but its arguments, well spread: the same atom gets the same
/// number on every rank and in any order of rows.
std::uint64_t spread(std::uint64_t seed, std::uint64_t step, std::uint64_t id);

/// Draw `count` rows of every stratum, or all where it has no more: those with the smallest `key`
/// (one for each owned row). A row near several ranks can be drawn for several strata.
SampleChoice choose_sample(const std::vector<Stratum>& strata,
                           const std::vector<std::uint64_t>& key, std::int64_t count);

/// Upper bound, at 95 % confidence, of the fraction of wrong atoms in a stratum of `rows` of which
/// `sampled` were right: 3 / sampled, and 0 where all were looked at.
double bound_on_wrong(std::int64_t rows, std::int64_t sampled);

}  // namespace nvalchemi

#endif
