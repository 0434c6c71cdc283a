// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/partition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "potentials/lattice.hpp"

namespace nvalchemi {

namespace {

// of the atoms that equal parts would have
constexpr double kSmallerShare = 0.8;

class Bisection {
  public:
    explicit Bisection(const WholeSystem& system)
        : fractions_(wrapped_fractions(system)),
          heights_(cell_heights(system)),
          owners_(static_cast<std::size_t>(system.size()), 0) {}

    void cut(std::vector<std::size_t> atoms, int first, int ranks) {
        if (ranks == 1) {
            for (const auto atom : atoms) owners_[atom] = first;
            return;
        }
        const int axis = longest_extent(atoms);
        const auto before = [&](std::size_t a, std::size_t b) {
            const double x = fractions_[3 * a + axis], y = fractions_[3 * b + axis];
            return x != y ? x < y : a < b;
        };
        std::sort(atoms.begin(), atoms.end(), before);
        const int left = ranks / 2;
        const auto count =
            static_cast<double>(atoms.size()) * left / static_cast<double>(ranks) * kSmallerShare;
        const auto middle = atoms.begin() + static_cast<std::ptrdiff_t>(
                                                std::max(std::min<double>(1, atoms.size()), count));
        cut({atoms.begin(), middle}, first, left);
        cut({middle, atoms.end()}, first + left, ranks - left);
    }

    std::vector<int> take() { return std::move(owners_); }

  private:
    int longest_extent(const std::vector<std::size_t>& atoms) const {
        double longest = -1;
        int result = 0;
        for (int axis = 0; axis < 3; ++axis) {
            double low = INFINITY, high = -INFINITY;
            for (const auto atom : atoms) {
                low = std::min(low, fractions_[3 * atom + axis]);
                high = std::max(high, fractions_[3 * atom + axis]);
            }
            const double extent = atoms.empty() ? 0 : (high - low) * heights_[axis];
            if (extent <= longest) continue;
            longest = extent;
            result = axis;
        }
        return result;
    }

    std::vector<double> fractions_, heights_;
    std::vector<int> owners_;
};

}  // namespace

std::vector<double> wrapped_fractions(const WholeSystem& system) {
    const auto lattice = make_lattice(system.cell, system.periodic);
    std::vector<double> fractions;
    for (std::int64_t atom = 0; atom < system.size(); ++atom) {
        const double* x = &system.positions[3 * atom];
        const auto fraction = lattice.fractional({x[0], x[1], x[2]});
        for (int axis = 0; axis < 3; ++axis)
            fractions.push_back(system.periodic[axis] ? fraction[axis] - std::floor(fraction[axis])
                                                      : fraction[axis]);
    }
    return fractions;
}

std::vector<double> cell_heights(const WholeSystem& system) {
    const auto lattice = make_lattice(system.cell, system.periodic);
    return {lattice.height(0), lattice.height(1), lattice.height(2)};
}

std::vector<int> bisect(const WholeSystem& system, int ranks) {
    std::vector<std::size_t> atoms(static_cast<std::size_t>(system.size()));
    std::iota(atoms.begin(), atoms.end(), 0);
    Bisection bisection(system);
    bisection.cut(std::move(atoms), 0, ranks);
    return bisection.take();
}

}  // namespace nvalchemi
