// SPDX-License-Identifier: GPL-2.0-only
// Whether the sub-domains of a run suit the model.
#include <algorithm>
#include <limits>

#include "potentials/validator/decomposed_run.hpp"

namespace nvalchemi {

namespace {

void advise_on_width(double cutoff, double skin, PartitionHealth& health) {
    if (health.narrowest < cutoff)
        health.advice.push_back("the narrowest sub-domain is " + angstrom(health.narrowest) +
                                " wide, less than the cutoff of " + angstrom(cutoff) +
                                ": halo rows come from beyond the nearest ranks, and there are "
                                "more of them than owned rows; fewer ranks are faster");
    else if (health.narrowest < cutoff + skin)
        health.advice.push_back("the narrowest sub-domain is " + angstrom(health.narrowest) +
                                " wide, less than cutoff and skin together (" +
                                angstrom(cutoff + skin) +
                                "): ghosts come from beyond the nearest ranks; a smaller skin or "
                                "fewer ranks are faster");
}

void advise(const std::vector<RunPart>& parts, double cutoff, double skin,
            PartitionHealth& health) {
    if (parts.size() == 1) {
        health.advice.push_back(
            "one rank exchanges nothing, so that this run shows nothing of a decomposition; "
            "keyword world_size of a gathered comparison plays several");
        return;
    }
    if (health.empty_parts > 0)
        health.advice.push_back(std::to_string(health.empty_parts) +
                                " of the ranks own no atom: use fewer ranks, or balance");
    if (health.sees_everything)
        health.advice.push_back(
            "a rank has every atom of the system as one of its rows: faults of the halo can hide; "
            "validate a larger system, more than two cutoffs (" +
            angstrom(2 * cutoff) + ") wider than a sub-domain");
    advise_on_width(cutoff, skin, health);
}

}  // namespace

PartitionHealth judge_run_parts(const std::vector<RunPart>& parts, double cutoff, double skin) {
    PartitionHealth health;
    health.narrowest = std::numeric_limits<double>::infinity();
    double box = health.narrowest;
    for (const auto& part : parts) {
        health.parts.push_back({part.owned,
                                part.halo,
                                part.edges,
                                part.remote,
                                part.rows_received,
                                part.rows_sent,
                                {part.width, part.width + 3}});
        health.empty_parts += part.owned == 0;
        health.sees_everything =
            health.sees_everything || (part.remote == 0 && part.owned > 0 && parts.size() > 1);
        for (int axis = 0; axis < 3; ++axis) {
            auto& smallest = part.is_cut[axis] ? health.narrowest : box;
            smallest = std::min(smallest, part.width[axis]);
        }
    }
    // nothing is cut on one rank
    if (health.narrowest == std::numeric_limits<double>::infinity()) health.narrowest = box;
    advise(parts, cutoff, skin, health);
    return health;
}

}  // namespace nvalchemi
