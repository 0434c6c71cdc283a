// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/reference.hpp"

#include <utility>

namespace nvalchemi {

Reference make_reference(Session& session, const WholeSystem& system) {
    Reference reference;
    reference.dtype = session.precision();
    reference.whole = evaluate_whole(session, system);
    const auto other = evaluate_whole(session, system, /*edge_order=*/1);
    reference.noise = measure_noise(system, reference.whole, other);
    reference.extra_noise = measure_extra_noise(reference.whole, other);
    return reference;
}

std::vector<Deviation> compare_with_reference(const WholeSystem& system, const Reference& reference,
                                              const VirtualEvaluation& found,
                                              const ValidationTolerance& tolerance) {
    const std::vector<bool> all(static_cast<std::size_t>(system.size()), true);
    const auto deviations = compare_evaluations(system, reference.whole, found.sums, all,
                                                reference.dtype, reference.noise, tolerance);
    std::vector<Deviation> result(deviations.begin(), deviations.end());
    for (auto& deviation : compare_extras(reference.whole, found.sums, all, reference.dtype,
                                          reference.extra_noise, tolerance))
        result.push_back(std::move(deviation));
    return result;
}

}  // namespace nvalchemi
