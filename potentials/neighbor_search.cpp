// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/neighbor_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "potentials/lattice.hpp"

namespace nvalchemi {

namespace {

/// Candidates are taken a little beyond the cutoff, in bins a little wider than it, so that the
/// rounding of wrapped coordinates cannot lose a neighbor.
constexpr double kMargin = 1 + 1e-6;
constexpr std::int64_t kMostBinsPerDirection = std::int64_t{1} << 20;
/// Refuse rather than run for hours: a cutoff of more than a hundred cells in each direction.
constexpr double kMostBinsVisited = 1e7;
/// Farther out, a coordinate has too few digits left to tell neighbors apart.
constexpr double kFarthestFractional = 1e7;

/// Sorts atoms into bins of a lattice cell. Bins without atoms take no memory, so neither empty
/// space nor a far outlier costs anything.
class BinnedAtoms {
  public:
    BinnedAtoms(const std::vector<double>& positions, const Lattice& lattice, double cutoff)
        : lattice_(lattice), wide_squared_(cutoff * kMargin * cutoff * kMargin) {
        locate(positions);
        choose_bins(cutoff);
        for (Place& place : places_) place.bin = bin_of(place.fractional);
        sort_atoms();
    }

    /// Call visit(sender, image) for every atom within the cutoff of `receiver`, and perhaps some
    /// a rounding error beyond it: `image` is the lattice translation of the sender.
    template <typename Visit>
    void for_each_candidate(std::int64_t receiver, const Visit& visit) const {
        const Place& center = places_[receiver];
        Integer3 o;
        for (o[0] = -reach_[0]; o[0] <= reach_[0]; ++o[0]) {
            for (o[1] = -reach_[1]; o[1] <= reach_[1]; ++o[1]) {
                for (o[2] = -reach_[2]; o[2] <= reach_[2]; ++o[2]) {
                    visit_bin({center.bin[0] + o[0], center.bin[1] + o[1], center.bin[2] + o[2]},
                              center, visit);
                }
            }
        }
    }

  private:
    struct Place {
        Vector3 fractional;  ///< within [0, 1) along periodic directions
        Vector3 wrapped;     ///< the same point, Cartesian
        Integer3 wrap;       ///< lattice vectors taken off to get there
        Integer3 bin;
    };
    struct Range {
        std::int64_t begin = 0, end = 0;
    };

    void locate(const std::vector<double>& positions) {
        places_.resize(positions.size() / 3);
        for (std::size_t i = 0; i < places_.size(); ++i) {
            const Vector3 point = {positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]};
            Place& place = places_[i];
            place.fractional = lattice_.fractional(point);
            place.wrap = {};
            for (int k = 0; k < 3; ++k) {
                double& f = place.fractional[k];
                if (!(std::abs(f) < kFarthestFractional)) {
                    throw std::invalid_argument(
                        "neighbor_search: got atom " + std::to_string(i) +
                        " at a position that is not finite or more than 1e7 cells away, expected "
                        "one near the cell (has the simulation blown up?)");
                }
                if (!lattice_.periodic[k]) continue;
                const double whole = std::floor(f);
                place.wrap[k] = static_cast<std::int64_t>(whole);
                f -= whole;
            }
            const Vector3 taken = lattice_.translation(place.wrap);
            for (int c = 0; c < 3; ++c) place.wrapped[c] = point[c] - taken[c];
        }
    }

    /// How many bins divide each direction, and how many of them the cutoff reaches over.
    void choose_bins(double cutoff) {
        double visited = 1;
        for (int k = 0; k < 3; ++k) {
            low_[k] = 0;
            double extent = 1;
            if (!lattice_.periodic[k]) {
                const auto [low, high] = fractional_range(k);
                low_[k] = low;
                extent = std::max(high - low, 1e-12);
            }
            const double width = cutoff * kMargin / lattice_.height(k);
            count_[k] = std::max<std::int64_t>(
                1, static_cast<std::int64_t>(
                       std::min(extent / width, static_cast<double>(kMostBinsPerDirection))));
            per_unit_[k] = static_cast<double>(count_[k]) / extent;
            // Without periodicity nothing lies beyond the occupied bins.
            double reach = std::ceil(width * per_unit_[k]);
            if (!lattice_.periodic[k]) reach = std::min(reach, static_cast<double>(count_[k] - 1));
            visited *= 2 * reach + 1;
            if (!(visited < kMostBinsVisited)) {
                throw std::invalid_argument(
                    "neighbor_search: got a cutoff of " + std::to_string(cutoff) +
                    ", which covers too many images of the cell, expected fewer than 1e7 (check "
                    "the cell and the cutoff)");
            }
            reach_[k] = static_cast<std::int64_t>(reach);
        }
    }

    std::pair<double, double> fractional_range(int k) const {
        if (places_.empty()) return {0, 0};
        const auto [low, high] = std::minmax_element(
            places_.begin(), places_.end(),
            [k](const Place& a, const Place& b) { return a.fractional[k] < b.fractional[k]; });
        return {low->fractional[k], high->fractional[k]};
    }

    Integer3 bin_of(const Vector3& fractional) const {
        Integer3 bin;
        for (int k = 0; k < 3; ++k) {
            const double place = (fractional[k] - low_[k]) * per_unit_[k];
            bin[k] = std::clamp<std::int64_t>(static_cast<std::int64_t>(place), 0, count_[k] - 1);
        }
        return bin;
    }

    std::int64_t key(const Integer3& bin) const {
        return (bin[0] * count_[1] + bin[1]) * count_[2] + bin[2];
    }

    void sort_atoms() {
        sorted_.resize(places_.size());
        std::iota(sorted_.begin(), sorted_.end(), 0);
        std::stable_sort(sorted_.begin(), sorted_.end(), [this](std::int64_t a, std::int64_t b) {
            return key(places_[a].bin) < key(places_[b].bin);
        });
        const auto n = static_cast<std::int64_t>(sorted_.size());
        for (std::int64_t i = 0; i < n; ++i) {
            Range& range = bins_[key(places_[sorted_[i]].bin)];
            if (range.end == 0) range.begin = i;
            range.end = i + 1;
        }
    }

    template <typename Visit>
    void visit_bin(Integer3 bin, const Place& center, const Visit& visit) const {
        Integer3 image{};
        for (int k = 0; k < 3; ++k) {
            if (bin[k] >= 0 && bin[k] < count_[k]) continue;
            if (!lattice_.periodic[k]) return;
            image[k] = bin[k] >= 0 ? bin[k] / count_[k] : (bin[k] - count_[k] + 1) / count_[k];
            bin[k] -= image[k] * count_[k];
        }
        const auto found = bins_.find(key(bin));
        if (found == bins_.end()) return;
        Vector3 offset = lattice_.translation(image);
        for (int c = 0; c < 3; ++c) offset[c] -= center.wrapped[c];
        for (std::int64_t s = found->second.begin; s < found->second.end; ++s) {
            const Place& place = places_[sorted_[s]];
            const double x = place.wrapped[0] + offset[0], y = place.wrapped[1] + offset[1],
                         z = place.wrapped[2] + offset[2];
            if (x * x + y * y + z * z > wide_squared_) continue;
            visit(sorted_[s], Integer3{image[0] + center.wrap[0] - place.wrap[0],
                                       image[1] + center.wrap[1] - place.wrap[1],
                                       image[2] + center.wrap[2] - place.wrap[2]});
        }
    }

    const Lattice& lattice_;
    double wide_squared_;
    std::vector<Place> places_;
    Vector3 low_;       ///< fractional coordinate where bin 0 starts
    Vector3 per_unit_;  ///< bins per unit of fractional coordinate
    Integer3 count_, reach_;
    std::vector<std::int64_t> sorted_;  ///< atoms, bin by bin
    std::unordered_map<std::int64_t, Range> bins_;
};

void check_arguments(const std::vector<double>& positions, double cutoff) {
    if (positions.size() % 3 != 0) {
        throw std::invalid_argument("neighbor_search: got " + std::to_string(positions.size()) +
                                    " coordinates, expected three for each atom");
    }
    if (!(cutoff > 0) || !std::isfinite(cutoff)) {
        throw std::invalid_argument("neighbor_search: got cutoff " + std::to_string(cutoff) +
                                    ", expected a positive length");
    }
}

}  // namespace

EdgeList neighbor_search(const std::vector<double>& positions, const double cell[9],
                         const bool periodic[3], double cutoff) {
    check_arguments(positions, cutoff);
    const Lattice lattice = make_lattice(cell, periodic);
    const ReducedLattice reduced = reduce(lattice);
    const BinnedAtoms atoms(positions, reduced.lattice, cutoff);

    EdgeList edges;
    const auto n = static_cast<std::int64_t>(positions.size() / 3);
    for (std::int64_t receiver = 0; receiver < n; ++receiver) {
        atoms.for_each_candidate(receiver, [&](std::int64_t sender, const Integer3& image) {
            const Integer3 cell_shift = reduced.to_original(image);
            const Vector3 shift = lattice.translation(cell_shift);
            // The difference first: both directions of a pair are then exact negatives of each
            // other, so either both lie within the cutoff or neither does.
            Vector3 vector;
            double squared = 0;
            for (int c = 0; c < 3; ++c) {
                vector[c] = positions[3 * sender + c] - positions[3 * receiver + c] + shift[c];
                squared += vector[c] * vector[c];
            }
            if (!(squared < cutoff * cutoff)) return;
            if (sender == receiver && cell_shift == Integer3{}) return;
            edges.receiver.push_back(receiver);
            edges.sender.push_back(sender);
            edges.vector.insert(edges.vector.end(), vector.begin(), vector.end());
            edges.cell_shift.insert(edges.cell_shift.end(), cell_shift.begin(), cell_shift.end());
            edges.shift.insert(edges.shift.end(), shift.begin(), shift.end());
        });
    }
    return edges;
}

}  // namespace nvalchemi
