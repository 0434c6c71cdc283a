// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_SAMPLED_RUN_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_SAMPLED_RUN_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "potentials/validation.hpp"
#include "potentials/validator/attempt.hpp"
#include "potentials/validator/sampled_choice.hpp"

namespace nvalchemi {

struct Diagnostic;

/// One quantity of sampled atoms, in eV and Angstrom.
struct SampledQuantity {
    std::int64_t atoms = 0;    ///< compared
    std::int64_t skipped = 0;  ///< because their clusters have no room
    std::int64_t largest_cluster = 0;
    double largest = 0;     ///< absolute value of the reference
    double difference = 0;  ///< infinite where a number is not finite
    double tolerance = 0;
    double noise = 0;          ///< what another order of edges changes
    std::int64_t tag = 0;      ///< atom with the largest difference, 0: none
    int owner = 0;             ///< its rank
    std::string not_compared;  ///< why; empty if it was

    bool compared() const { return not_compared.empty(); }
    bool passed() const { return !compared() || difference <= tolerance; }
};

/// A stratum of the sample: atoms of a rank beside one other rank, or its own images, or none.
struct StratumReached {
    int rank = 0;
    int neighbor = kInterior;
    std::int64_t rows = 0;
    std::int64_t sampled = 0;  ///< whose energies were compared
    std::int64_t wrong = 0;    ///< of them
    double difference = 0;     ///< the largest, eV; infinite where a number is not finite

    /// On the fraction of wrong atoms if none was found: see bound_on_wrong().
    double bound() const { return bound_on_wrong(rows, sampled); }
};

/// What a comparison of sampled atoms looked at and found, beside exchanges and partition.
struct SampledRun {
    std::string mode = "sampled";  ///< that was asked for: "sampled", or "auto"
    std::int64_t natoms = 0;
    std::uint64_t seed = 1;
    std::int64_t count = 0;  ///< atoms wanted of each stratum
    std::int64_t room = 0, force_room = 0;

    /// How far energies reach, and what one step more would change (eV); negative: not tried.
    int hops = 0;
    double cutoff = 0;
    double beyond_reach = -1;

    SampledQuantity energies, forces;
    std::vector<StratumReached> strata;  ///< of all ranks; of a run on rank 0 alone
    double stratum_bound = 1;            ///< of the worst stratum

    /// dE/dh along one random direction of all atoms, eV/Angstrom.
    double slope = 0, projected_forces = 0, slope_tolerance = 0;
    std::string no_slope;  ///< why there is none

    ExchangeTrace trace;              ///< of the evaluation that was compared
    std::int64_t bytes_per_step = 0;  ///< that all ranks sent in it
    double seconds = 0;

    double slope_difference() const;
    bool slope_passed() const { return !no_slope.empty() || slope_difference() <= slope_tolerance; }
    bool numbers_agree() const { return energies.passed() && forces.passed() && slope_passed(); }
    /// Whether the archive was asked for any energy or force. Without, a run can be wrong by any
    /// amount although nothing disagrees: wrong energies have their own slopes.
    bool has_reference() const { return energies.compared() || forces.compared(); }
    /// After a failure: say of what was not reached that it was not compared.
    void mark_unreached();
    /// At 95 % confidence fewer of all atoms are wrong if no sampled one is.
    double bound() const { return bound_on_wrong(natoms, energies.atoms); }
};

/// The strata with the largest bounds first.
std::vector<StratumReached> worst_first(std::vector<StratumReached> strata);

/// In the order of Deviations, and the slope; what a sample does not show is not compared.
/// `has_volume`: the last of Deviations is a stress, else a virial.
std::vector<Deviation> quantities_of(const SampledRun& run, bool has_volume);

/// What differences in the numbers say where the exchanges are right, the most certain first.
std::vector<Diagnostic> diagnose_sampled(const SampledRun& run);

/// Quantities that a sample says nothing of.
std::vector<std::string> unchecked_by_samples();

}  // namespace nvalchemi

#endif
