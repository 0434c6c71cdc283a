// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "potentials/validator/partition.hpp"
#include "potentials/validator/partition_checks.hpp"

namespace nvalchemi {

namespace {

/// Extent of points on a circle of length 1 (periodic) or on a line.
double extent(std::vector<double> points, bool periodic) {
    if (points.size() < 2) return 0;
    std::sort(points.begin(), points.end());
    if (!periodic) return points.back() - points.front();
    double gap = 1 - points.back() + points.front();
    for (std::size_t k = 1; k < points.size(); ++k) gap = std::max(gap, points[k] - points[k - 1]);
    return 1 - gap;
}

std::vector<double> widths(const std::vector<double>& fractions, const std::vector<double>& heights,
                           const bool periodic[3], const RankPart& part) {
    std::vector<double> result;
    for (int axis = 0; axis < 3; ++axis) {
        std::vector<double> points;
        for (std::int64_t row = 0; row < part.rows.owned; ++row)
            points.push_back(fractions[3 * part.atom_of_row[row] + axis]);
        result.push_back(extent(points, periodic[axis]) * heights[axis]);
    }
    return result;
}

void count_messages(const VirtualParts& parts, PartitionHealth& health) {
    for (std::size_t rank = 0; rank < parts.parts.size(); ++rank)
        for (const auto& source : parts.parts[rank].rows.halo) {
            if (source.owner_rank == static_cast<int>(rank)) continue;
            ++health.parts[rank].rows_received;
            ++health.parts[source.owner_rank].rows_sent;
        }
}

void advise(const VirtualParts& parts, double cutoff, PartitionHealth& health) {
    const auto ranks = parts.parts.size();
    if (health.empty_parts > 0)
        health.advice.push_back(std::to_string(health.empty_parts) +
                                " of the parts own no atom: use fewer ranks, or balance");
    if (ranks > 1 && health.sees_everything)
        health.advice.push_back(
            "a part has every atom of the system as one of its rows: faults of the halo can hide; "
            "validate a larger structure, more than two cutoffs (" +
            angstrom(2 * cutoff) + ") wider than a part");
    if (ranks > 1 && health.narrowest < cutoff)
        health.advice.push_back("the narrowest part is " + angstrom(health.narrowest) +
                                " wide, less than the cutoff of " + angstrom(cutoff) +
                                ": halo rows come from beyond the nearest ranks, and there are "
                                "more of them than owned rows; fewer ranks are faster");
}

}  // namespace

std::string angstrom(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g A", value);
    return text;
}

PartitionHealth judge_partition(const WholeSystem& system, double cutoff,
                                const VirtualParts& parts) {
    const auto fractions = wrapped_fractions(system);
    const auto heights = cell_heights(system);
    PartitionHealth health;
    health.narrowest = std::numeric_limits<double>::infinity();
    for (const auto& part : parts.parts) {
        PartitionHealth::Part found;
        found.owned = part.rows.owned;
        found.halo = static_cast<std::int64_t>(part.rows.halo.size());
        found.edges = static_cast<std::int64_t>(part.graph.receiver.size());
        const std::set<std::int64_t> present(part.atom_of_row.begin(), part.atom_of_row.end());
        found.remote = system.size() - static_cast<std::int64_t>(present.size());
        found.width = widths(fractions, heights, system.periodic, part);
        health.empty_parts += found.owned == 0;
        health.sees_everything = health.sees_everything || (found.remote == 0 && found.owned > 0);
        if (found.owned > 0)
            for (int axis = 0; axis < 3; ++axis)
                health.narrowest = std::min(health.narrowest, found.width[axis]);
        health.parts.push_back(std::move(found));
    }
    if (!std::isfinite(health.narrowest)) health.narrowest = 0;
    count_messages(parts, health);
    advise(parts, cutoff, health);
    return health;
}

}  // namespace nvalchemi
