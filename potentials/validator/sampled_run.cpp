// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/sampled_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "potentials/validator/diagnosis.hpp"

namespace nvalchemi {

namespace {

std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

std::string difference_text(const char* name, const SampledQuantity& quantity, const char* unit) {
    return std::string(name) + " of " + std::to_string(quantity.atoms) + " atoms differ by up to " +
           text_of(quantity.difference) + " " + unit + " (tolerance " +
           text_of(quantity.tolerance) + ")";
}

std::string slope_text(const SampledRun& run) {
    if (!run.no_slope.empty()) return "the slope was not compared: " + run.no_slope;
    return "all forces along one random direction differ from the slope of the decomposed energy "
           "by " +
           text_of(run.slope_difference()) + " eV/A (tolerance " + text_of(run.slope_tolerance) +
           ")";
}

std::string right_forces_text(const SampledRun& run) {
    return "forces of " + std::to_string(run.forces.atoms) +
           " atoms are those of the undecomposed model";
}

/// Sampled and wrong atoms of the strata on one side; an atom counts once for each of its strata.
struct Tally {
    std::int64_t sampled = 0, wrong = 0;
};

Tally tally(const std::vector<StratumReached>& strata, bool interior) {
    Tally sum;
    for (const auto& stratum : strata) {
        if ((stratum.neighbor == kInterior) != interior) continue;
        sum.sampled += stratum.sampled;
        sum.wrong += stratum.wrong;
    }
    return sum;
}

Diagnostic finding(const char* symptom, double confidence, std::vector<std::string> evidence,
                   const char* advice) {
    return {symptom, confidence, std::move(evidence), advice, {}, "[]"};
}

Diagnostic wrong_energies(const SampledRun& run) {
    std::vector<std::string> evidence{difference_text("energies", run.energies, "eV")};
    if (run.forces.compared() && run.forces.passed() && run.slope_passed()) {
        evidence.push_back(right_forces_text(run));
        return finding("energies_alone_differ", 0.7, std::move(evidence),
                       "Forces are right and energies are not: they are given to other atoms than "
                       "they belong to. Do not use energies of atoms, and report it with this "
                       "file.");
    }
    const auto beside = tally(run.strata, false), inside = tally(run.strata, true);
    const auto count = [](const Tally& side) {
        return std::to_string(side.wrong) + " wrong of " + std::to_string(side.sampled);
    };
    evidence.push_back(
        "atoms with neighbours of another rank, or with images of their own rank's "
        "atoms: " +
        count(beside));
    evidence.push_back("atoms without: " + count(inside));
    if (inside.wrong == 0)
        return finding("energies_wrong_beside_ranks", inside.sampled > 0 ? 0.75 : 0.5,
                       std::move(evidence),
                       "What comes from another rank is wrong although the exchange is right: the "
                       "spec leaves out an exchange of halo rows, or scatter_outputs of an "
                       "operator.");
    return finding("energies_wrong_everywhere", 0.5, std::move(evidence),
                   "Atoms that see none of another rank are wrong too: through the layers of a "
                   "model a missing exchange of halo rows or missing scatter_outputs reach them as "
                   "well, and so do wrong neighbours, a sum over the system or inputs that are not "
                   "the same on all ranks.");
}

Diagnostic wrong_forces(const SampledRun& run) {
    std::vector<std::string> evidence;
    if (!run.slope_passed()) evidence.push_back(slope_text(run));
    if (run.energies.compared())
        evidence.push_back("energies of " + std::to_string(run.energies.atoms) +
                           " atoms are those of the undecomposed model");
    if (!run.forces.passed()) {
        evidence.push_back(difference_text("forces", run.forces, "eV/A"));
        return finding("backward_exchange", 0.8, std::move(evidence),
                       "The energies are right and the forces are not: an exchange of the backward "
                       "pass is missing or wrong, or an operator has a wrong derivative where it "
                       "is decomposed.");
    }
    if (run.forces.compared()) {
        evidence.push_back(right_forces_text(run));
        return finding("non_conservative_forces", 0.8, std::move(evidence),
                       "The decomposition is not to blame: ask the model's author whether its "
                       "forces are meant to conserve energy.");
    }
    evidence.push_back("forces were not compared: " + run.forces.not_compared);
    return finding("forces_are_no_slopes", 0.5, std::move(evidence),
                   "Either an exchange of the backward pass is missing or wrong, or the model's "
                   "own forces are not the slopes of its energy: nvalchemi-validate with "
                   "--finite-differences tells the two apart, and so does a larger force_room.");
}

}  // namespace

double SampledRun::slope_difference() const {
    const double difference = std::fabs(slope - projected_forces);
    return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

void SampledRun::mark_unreached() {
    const char* why = "the check stopped before it";
    for (auto* quantity : {&energies, &forces})
        if (quantity->atoms == 0 && quantity->compared()) quantity->not_compared = why;
    if (slope_tolerance == 0 && no_slope.empty()) no_slope = why;
}

std::vector<StratumReached> worst_first(std::vector<StratumReached> strata) {
    std::stable_sort(strata.begin(), strata.end(),
                     [](const auto& a, const auto& b) { return a.bound() > b.bound(); });
    return strata;
}

std::vector<Deviation> quantities_of(const SampledRun& run, bool has_volume) {
    const auto unchecked = [](const char* name, const char* unit) {
        return Deviation{.quantity = name, .unit = unit, .compared = false};
    };
    const auto sampled = [](const char* name, const char* unit, const SampledQuantity& quantity) {
        Deviation found{.quantity = name, .unit = unit, .compared = quantity.compared()};
        if (!found.compared) return found;
        found.largest = quantity.largest;
        found.difference = quantity.difference;
        found.tolerance = quantity.tolerance;
        if (quantity.tag == 0) return found;
        found.worst = quantity.tag;
        found.rank = quantity.owner;
        return found;
    };
    Deviation slope{
        .quantity = "forces along one direction", .unit = "eV/A", .compared = run.no_slope.empty()};
    if (slope.compared) {
        slope.largest = std::fabs(run.projected_forces);
        slope.difference = run.slope_difference();
        slope.tolerance = run.slope_tolerance;
    }
    return {unchecked("energy", "eV"), sampled("atomic energies", "eV", run.energies),
            sampled("forces", "eV/A", run.forces),
            has_volume ? unchecked("stress", "eV/A^3") : unchecked("virial", "eV"), slope};
}

std::vector<Diagnostic> diagnose_sampled(const SampledRun& run) {
    if (run.numbers_agree()) return {};
    return {run.energies.passed() ? wrong_forces(run) : wrong_energies(run)};
}

std::vector<std::string> unchecked_by_samples() {
    return {"energy", "stress", "sums over the system", "further outputs"};
}

}  // namespace nvalchemi
