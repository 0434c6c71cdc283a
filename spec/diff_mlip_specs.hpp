// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_DIFF_MLIP_SPECS_HPP
#define NVALCHEMI_SPEC_DIFF_MLIP_SPECS_HPP

#include <string>
#include <vector>

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

/// One difference between two specs, in their canonical JSON forms.
struct SpecDifference {
    std::string
        pointer;       ///< JSON pointer in the left spec, or in the right one if only it has this
    std::string left;  ///< JSON on one line, or "absent"
    std::string right;
    bool operator==(const SpecDifference&) const = default;
};

/// All differences, in the order of the format; none if the specs are equal, with absent shard
/// fields equal to the default list. Adapters and outputs are matched by name, wherever they stand;
/// if two lists differ in nothing but order, the difference is the order.
std::vector<SpecDifference> spec_diff(const MLIPSpec& left, const MLIPSpec& right);

}  // namespace nvalchemi

#endif
