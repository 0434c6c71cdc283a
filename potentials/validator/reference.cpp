// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "potentials/neighbor_search.hpp"

namespace nvalchemi {

namespace {

constexpr double kTermFactor = 32;
constexpr double kNoiseFactor = 10;

std::map<std::string, ExtraOutput> extras_of(const Evaluation& evaluation) {
    std::map<std::string, ExtraOutput> extras;
    for (const auto& [key, extra] : evaluation.extras)
        extras[key] = {extra.per_node, extra.width, extra.values};
    return extras;
}

double largest_difference(const std::vector<double>& left, const std::vector<double>& right,
                          std::int64_t width, std::int64_t& worst) {
    double largest = 0;
    for (std::size_t k = 0; k < right.size(); ++k) {
        // an output of the whole system is compared on every rank
        const double difference = std::fabs(left[k % left.size()] - right[k]);
        if (std::isnan(largest) || difference <= largest) continue;
        largest = difference;
        worst = static_cast<std::int64_t>(k) / width;
    }
    return largest;
}

bool has_extras(const ModelCard& card) {
    return std::any_of(card.outputs.begin(), card.outputs.end(), [](const auto& output) {
        return output.role == OutputRole::Other || output.role == OutputRole::Charges;
    });
}

void add_extras(Session& session, const WholeSystem& system, Reference& reference) {
    SampleStructure structure;
    structure.species = system.species;
    structure.positions = system.positions;
    structure.charges = system.charges;
    structure.setup_cell = system.setup_cell;
    std::copy_n(system.cell, 9, structure.cell);
    structure.edges =
        neighbor_search(system.positions, system.cell, system.periodic, session.card().cutoff);
    const auto first = session.evaluate_undecomposed(undecomposed_graph(structure).view());
    structure = with_reversed_edges(std::move(structure));
    const auto second = session.evaluate_undecomposed(undecomposed_graph(structure).view());
    reference.extras = extras_of(first);
    std::int64_t nowhere = -1;
    for (const auto& [key, extra] : extras_of(second))
        reference.extra_noise[key] =
            largest_difference(reference.extras[key].values, extra.values,
                               std::max<std::int64_t>(1, extra.width), nowhere);
}

Deviation compare_extra(const std::string& key, const ExtraOutput& expected,
                        const ExtraOutput* found, double noise, const std::string& dtype) {
    Deviation deviation{.quantity = "output " + key, .unit = "units of the model"};
    for (const double value : expected.values)
        deviation.largest = std::max(deviation.largest, std::fabs(value));
    const bool same_shape = found != nullptr && found->width == expected.width &&
                            found->per_node == expected.per_node && !expected.values.empty() &&
                            found->values.size() % expected.values.size() == 0;
    if (expected.values.empty()) return deviation;
    deviation.difference = std::numeric_limits<double>::quiet_NaN();
    if (same_shape)
        deviation.difference =
            largest_difference(expected.values, found->values,
                               std::max<std::int64_t>(1, expected.width), deviation.worst);
    if (!expected.per_node) deviation.worst = -1;
    const bool wide = dtype == "float64";
    const double epsilon = wide ? std::numeric_limits<double>::epsilon()
                                : static_cast<double>(std::numeric_limits<float>::epsilon());
    deviation.tolerance = std::max({(wide ? 1e-10 : kTermFactor * epsilon) * deviation.largest,
                                    kTermFactor * epsilon, kNoiseFactor * noise});
    return deviation;
}

}  // namespace

Reference make_reference(Session& session, const WholeSystem& system) {
    Reference reference;
    reference.dtype = session.precision();
    reference.whole = evaluate_whole(session, system);
    reference.noise =
        measure_noise(system, reference.whole, evaluate_whole(session, system, /*edge_order=*/1));
    if (has_extras(session.card())) add_extras(session, system, reference);
    return reference;
}

std::vector<Deviation> compare_with_reference(const WholeSystem& system, const Reference& reference,
                                              const VirtualEvaluation& found,
                                              const ValidationTolerance& tolerance) {
    const std::vector<bool> all(static_cast<std::size_t>(system.size()), true);
    const auto deviations = compare_evaluations(system, reference.whole, found.sums, all,
                                                reference.dtype, reference.noise, tolerance);
    std::vector<Deviation> result(deviations.begin(), deviations.end());
    for (const auto& [key, expected] : reference.extras) {
        const auto output = found.extras.find(key);
        const auto noise = reference.extra_noise.find(key);
        result.push_back(compare_extra(
            key, expected, output == found.extras.end() ? nullptr : &output->second,
            noise == reference.extra_noise.end() ? 0 : noise->second, reference.dtype));
    }
    return result;
}

}  // namespace nvalchemi
