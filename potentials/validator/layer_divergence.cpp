// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/layer_divergence.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

namespace nvalchemi {

namespace {

constexpr double kNoiseFactor = 100;

using Key = std::pair<std::size_t, std::size_t>;  // call, output

/// One value of a program, by atom or by rank.
struct Record {
    bool per_row = false;
    std::vector<double> projection, magnitude;
};

using Records = std::map<Key, Record>;

Records observe(Session& session, const VirtualParts& parts, PartsOptions options) {
    Records records;
    std::mutex mutex;
    options.observer = [&](int rank) -> ValueObserver {
        return [&, rank](const ObservedValue& value) {
            const std::lock_guard<std::mutex> lock(mutex);
            auto& record = records[{value.call, value.output}];
            record.per_row = value.per_row;
            const auto size = value.per_row ? parts.owners.size() : parts.parts.size();
            record.projection.resize(size, 0.0);
            record.magnitude.resize(size, 0.0);
            for (std::size_t row = 0; row < value.projection.size(); ++row) {
                const auto place = value.per_row ? parts.parts[rank].atom_of_row[row] : rank;
                record.projection[place] = value.projection[row];
                record.magnitude[place] = value.magnitude[row];
            }
        };
    };
    try {
        evaluate_virtual(session, parts, options);
    } catch (const NotFiniteError&) {
        // what came before is what is looked for
    }
    return records;
}

double largest(const std::vector<double>& values) {
    double result = 0;
    for (const double value : values)
        if (std::isfinite(value)) result = std::max(result, value);
    return result;
}

bool differ(double left, double right, double tolerance) {
    if (std::isnan(left) || std::isnan(right)) return std::isnan(left) != std::isnan(right);
    if (std::isinf(left) || std::isinf(right)) return left != right;
    return std::fabs(left - right) > tolerance;
}

class Comparison {
  public:
    Comparison(const VirtualParts& parts, double epsilon) : parts_(parts), epsilon_(epsilon) {
        const auto& edges = parts.structure.edges;
        for (std::int64_t edge = 0; edge < edges.size(); ++edge)
            if (parts.owners[edges.receiver[edge]] != parts.owners[edges.sender[edge]])
                near_face_.insert(edges.receiver[edge]);
    }

    /// Whether the value differs; then `result` says how.
    bool differs(const OperatorCall& call, const Record& whole, const Record& again,
                 const Record& found, LayerDivergence& result) {
        sums_ranks_ = call.op == "nvalchemi_lmp::system_sum";
        double noise = 0;
        for (std::size_t k = 0; k < whole.projection.size(); ++k)
            if (std::isfinite(whole.projection[k] - again.projection[k]))
                noise = std::max(noise, std::fabs(whole.projection[k] - again.projection[k]));
        // rounding accumulates from call to call
        const double scale = largest(whole.magnitude);
        noise_ = std::max(noise_, scale > 0 ? noise / scale : 0.0);
        const double tolerance = scale * std::max(epsilon_, kNoiseFactor * noise_) + 1e-300;
        result.per_row = whole.per_row;
        return whole.per_row ? rows_differ(whole, found, scale, tolerance, result)
                             : systems_differ(whole, found, scale, tolerance, result);
    }

  private:
    bool rows_differ(const Record& whole, const Record& found, double scale, double tolerance,
                     LayerDivergence& result) {
        result.atoms_wrong = result.wrong_near_face = 0;
        result.difference = 0;
        for (std::size_t atom = 0; atom < whole.projection.size(); ++atom) {
            if (!differ(whole.projection[atom], found.projection[atom], tolerance)) continue;
            const double difference = std::fabs(whole.projection[atom] - found.projection[atom]) /
                                      std::max(scale, 1e-300);
            ++result.atoms_wrong;
            result.wrong_near_face += static_cast<std::int64_t>(near_face_.count(atom));
            if (result.atoms_wrong > 1 && difference <= result.difference) continue;
            result.difference = difference;
            result.worst_atom = static_cast<std::int64_t>(atom);
        }
        return result.atoms_wrong > 0;
    }

    /// A value of the whole system is right if every rank has it, or if the ranks' sum is it.
    bool systems_differ(const Record& whole, const Record& found, double scale, double tolerance,
                        LayerDivergence& result) {
        const double expected = whole.projection[0];
        double sum = 0, worst = 0;
        result.same_on_all_ranks = true;
        for (const double value : found.projection) {
            sum += value;
            if (differ(value, expected, tolerance))
                worst = std::max(worst, std::fabs(value - expected));
            if (differ(value, found.projection[0], tolerance)) result.same_on_all_ranks = false;
        }
        const bool all_right =
            std::none_of(found.projection.begin(), found.projection.end(),
                         [&](double value) { return differ(value, expected, tolerance); });
        if (all_right || (!sums_ranks_ && !differ(sum, expected, tolerance))) return false;
        const auto ranks = static_cast<double>(found.projection.size());
        result.difference = worst / std::max(scale, 1e-300);
        result.mean_over_reference = sum / ranks / expected;
        result.sum_over_reference = sum / expected;
        return true;
    }

    const VirtualParts& parts_;
    double epsilon_;
    bool sums_ranks_ = false;  ///< the value is the ranks' sum, so it must be the same on each
    double noise_ = 0;
    std::set<std::int64_t> near_face_;
};

}  // namespace

LayerDivergence find_divergence(Session& session, const VirtualParts& parts,
                                const PartsOptions& options) {
    const auto& card = session.card();
    auto one = as_one_part(parts, card);
    const auto whole = observe(session, one, {});
    one.structure = with_reversed_edges(one.structure);
    const auto again = observe(session, as_one_part(one, card), {});
    const auto found = observe(session, parts, options);

    LayerDivergence result;
    Comparison comparison(parts, card.dtype == "float64" ? 1e-12 : 1e-5);
    const auto calls = session.operator_calls();
    for (const auto& [key, record] : whole) {
        const auto other = found.find(key);
        const auto rounded = again.find(key);
        if (other == found.end() || rounded == again.end()) continue;
        ++result.values;
        if (!comparison.differs(calls[key.first], record, rounded->second, other->second, result))
            continue;
        result.found = true;
        result.position = key.first;
        result.output = key.second;
        result.call = calls[key.first];
        return result;
    }
    result.difference = 0;
    return result;
}

}  // namespace nvalchemi
