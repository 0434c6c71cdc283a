// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_LAYER_DIVERGENCE_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_LAYER_DIVERGENCE_HPP

#include <optional>
#include <string>

#include "potentials/validator/virtual_parts.hpp"

namespace nvalchemi {

/// The first call of the distributed program after which its parts and the same program on one
/// part differ.
struct LayerDivergence {
    bool found = false;      ///< false: no value of the forward pass differs
    std::size_t values = 0;  ///< how many were compared
    OperatorCall call;
    std::size_t position = 0;  ///< of the call in the program
    std::size_t output = 0;
    bool per_row = false;
    double difference = 0;  ///< largest, relative to the largest magnitude of the value
    // per row
    std::int64_t worst_atom = -1, atoms_wrong = 0, wrong_near_face = 0;
    // of the whole system: of the fixed linear function of its elements
    bool same_on_all_ranks = false;
    double mean_over_reference = 0;  ///< of a rank's value
    double sum_over_reference = 0;   ///< of the ranks' sum
};

/// Three evaluations: the parts, one part, and one part with its edges in reverse, which shows the
/// rounding of each value. Throws what evaluate_virtual() throws.
LayerDivergence find_divergence(Session& session, const VirtualParts& parts,
                                const PartsOptions& options);

}  // namespace nvalchemi

#endif
