// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_ADAPTER_USE_HPP
#define NVALCHEMI_POTENTIALS_ADAPTER_USE_HPP

#include <algorithm>
#include <string>
#include <vector>

namespace nvalchemi {

/// What one adapter of a spec does in one model.
struct AdapterUse {
    std::string pointer;              ///< in the spec, "/core/custom_ops/0"
    std::string target;               ///< "operator demo::push", "function aimnet.nbops.mol_sum"
    std::string action;               ///< "scatter_outputs on output 0"
    std::vector<std::string> places;  ///< source lines of the calls it applies to
};

/// Add a place once.
inline void note_place(AdapterUse& use, const std::string& place) {
    if (std::find(use.places.begin(), use.places.end(), place) == use.places.end())
        use.places.push_back(place);
}

}  // namespace nvalchemi

#endif
