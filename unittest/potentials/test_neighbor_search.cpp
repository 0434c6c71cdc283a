// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/neighbor_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace nvalchemi {

namespace {

/// receiver, sender and the sender's lattice translation.
using Edge = std::array<std::int64_t, 5>;
using EdgeVectors = std::map<Edge, std::array<double, 3>>;

struct System {
    std::vector<double> positions;
    std::array<double, 9> cell{1, 0, 0, 0, 1, 0, 0, 0, 1};
    std::array<bool, 3> periodic{true, true, true};
    double cutoff = 1;

    EdgeList search() const {
        return neighbor_search(positions, cell.data(), periodic.data(), cutoff);
    }
    std::int64_t size() const { return static_cast<std::int64_t>(positions.size() / 3); }
};

EdgeVectors as_map(const EdgeList& edges) {
    EdgeVectors result;
    for (std::int64_t e = 0; e < edges.size(); ++e) {
        const auto* n = &edges.cell_shift[3 * e];
        const auto* v = &edges.vector[3 * e];
        result[{edges.receiver[e], edges.sender[e], n[0], n[1], n[2]}] = {v[0], v[1], v[2]};
    }
    return result;
}

/// All pairs over a range of shifts that is certainly wide enough: a lattice vector along k moves
/// a point by the volume over the area of the other two, normal to their plane, whatever the other
/// two coefficients are.
EdgeVectors brute_force(const System& s) {
    const auto& h = s.cell;
    std::int64_t range[3] = {0, 0, 0};
    const double volume =
        std::abs(h[0] * (h[4] * h[8] - h[5] * h[7]) + h[1] * (h[5] * h[6] - h[3] * h[8]) +
                 h[2] * (h[3] * h[7] - h[4] * h[6]));
    double spread = 0;  // largest distance of two atoms, or more
    for (int c = 0; c < 3; ++c) {
        double low = 0, high = 0;
        for (std::int64_t i = 0; i < s.size(); ++i) {
            const double x = s.positions[3 * i + c];
            low = i == 0 ? x : std::min(low, x);
            high = i == 0 ? x : std::max(high, x);
        }
        spread += high - low;
    }
    for (int k = 0; k < 3; ++k) {
        if (!s.periodic[k]) continue;
        const double* a = &h[3 * ((k + 1) % 3)];
        const double* b = &h[3 * ((k + 2) % 3)];
        const double area = std::hypot(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                                       a[0] * b[1] - a[1] * b[0]);
        range[k] = static_cast<std::int64_t>(std::ceil((s.cutoff + spread) * area / volume)) + 1;
    }
    EdgeVectors result;
    for (std::int64_t i = 0; i < s.size(); ++i) {
        for (std::int64_t j = 0; j < s.size(); ++j) {
            for (std::int64_t p = -range[0]; p <= range[0]; ++p) {
                for (std::int64_t q = -range[1]; q <= range[1]; ++q) {
                    for (std::int64_t r = -range[2]; r <= range[2]; ++r) {
                        if (i == j && p == 0 && q == 0 && r == 0) continue;
                        std::array<double, 3> v;
                        for (int c = 0; c < 3; ++c) {
                            v[c] = s.positions[3 * j + c] - s.positions[3 * i + c];
                            if (s.periodic[0]) v[c] += static_cast<double>(p) * h[c];
                            if (s.periodic[1]) v[c] += static_cast<double>(q) * h[3 + c];
                            if (s.periodic[2]) v[c] += static_cast<double>(r) * h[6 + c];
                        }
                        const double squared = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
                        if (squared < s.cutoff * s.cutoff) result[{i, j, p, q, r}] = v;
                    }
                }
            }
        }
    }
    return result;
}

/// Same edges with the same vectors.
void expect_equal(const EdgeVectors& found, const EdgeVectors& expected, const std::string& what) {
    EXPECT_EQ(found.size(), expected.size()) << what;
    for (const auto& [edge, vector] : expected) {
        const auto match = found.find(edge);
        ASSERT_NE(match, found.end()) << what << ": no edge " << edge[0] << " <- " << edge[1];
        for (int c = 0; c < 3; ++c) EXPECT_NEAR(match->second[c], vector[c], 1e-9) << what;
    }
}

void expect_like_brute_force(const System& system, const std::string& what) {
    const EdgeVectors expected = brute_force(system);
    const EdgeList edges = system.search();

    EXPECT_EQ(static_cast<std::size_t>(edges.size()), expected.size()) << what;
    expect_equal(as_map(edges), expected, what);
}

/// Atoms in and, with `outside`, several cells around a cell.
void fill(System& system, int n, double outside, std::mt19937& random) {
    std::uniform_real_distribution<double> fraction(-outside, 1 + outside);
    for (int i = 0; i < n; ++i) {
        const double f[3] = {fraction(random), fraction(random), fraction(random)};
        for (int c = 0; c < 3; ++c) {
            system.positions.push_back(f[0] * system.cell[c] + f[1] * system.cell[3 + c] +
                                       f[2] * system.cell[6 + c]);
        }
    }
}

System random_triclinic(std::mt19937& random) {
    std::uniform_real_distribution<double> off(-1.5, 1.5), length(2, 6);
    System system;
    for (int k = 0; k < 9; ++k) system.cell[k] = k % 4 == 0 ? length(random) : off(random);
    return system;
}

/// Not the time on the clock: other work on the machine must not fail a test.
double processor_seconds_since(std::clock_t start) {
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

std::string refusal_of(const System& system) {
    try {
        system.search();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "(accepted)";
}

}  // namespace

TEST(NeighborSearch, AgreesWithBruteForceInRandomTriclinicCells) {
    std::mt19937 random(1);
    for (int trial = 0; trial < 60; ++trial) {
        System system = random_triclinic(random);
        system.cutoff = std::uniform_real_distribution<double>(0.5, 7)(random);
        fill(system, 1 + trial % 7, 0, random);
        expect_like_brute_force(system, "trial " + std::to_string(trial));
    }
}

TEST(NeighborSearch, AgreesWithBruteForceForEveryPeriodicity) {
    std::mt19937 random(2);
    for (int mask = 0; mask < 8; ++mask) {
        for (int trial = 0; trial < 6; ++trial) {
            System system = random_triclinic(random);
            system.periodic = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0};
            system.cutoff = 1 + trial;
            fill(system, 8, 0.7, random);
            expect_like_brute_force(system, "mask " + std::to_string(mask));
        }
    }
}

TEST(NeighborSearch, AgreesWithBruteForceForAtomsFarOutsideTheCell) {
    std::mt19937 random(3);
    for (int trial = 0; trial < 5; ++trial) {
        System system = random_triclinic(random);
        system.cutoff = 3;
        fill(system, 4, 3, random);
        expect_like_brute_force(system, "trial " + std::to_string(trial));
    }
}

TEST(NeighborSearch, AgreesWithBruteForceWhereSeveralBinsFitIntoTheCell) {
    std::mt19937 random(4);
    for (const double cutoff : {0.9, 1.3, 2.0}) {
        System system;
        system.cell = {7, 0.5, 0, -2, 9, 0.3, 1, 3, 8};
        system.cutoff = cutoff;
        fill(system, 50, 0, random);
        expect_like_brute_force(system, "cutoff " + std::to_string(cutoff));
    }
}

TEST(NeighborSearch, AgreesWithBruteForceInNeedlesPlatesAndShearedCells) {
    std::mt19937 random(5);
    const std::vector<std::array<double, 9>> cells = {
        {40, 0, 0, 0, 1.5, 0, 0, 0, 1.5},  // needle
        {25, 0, 0, 0, 25, 0, 0, 0, 1.2},   // plate
        {3, 0, 0, 17, 3, 0, -22, 11, 3},   // sheared: the heights are far below the spacings
        {0, 0, 4, 4, 0, 0, 0, -4, 0},      // left-handed, axes permuted
        {2, 2, 0, 2, 0, 2, 0, 2, 2},       // primitive face-centred
    };
    for (std::size_t k = 0; k < cells.size(); ++k) {
        for (const double cutoff : {1.0, 4.5}) {
            System system;
            system.cell = cells[k];
            system.cutoff = cutoff;
            fill(system, 3, 0, random);
            expect_like_brute_force(system, "cell " + std::to_string(k));
        }
    }
}

TEST(NeighborSearch, AgreesWithBruteForceWhereHeightsAreBelowTheCutoffButSpacingsAreNot) {
    std::mt19937 random(11);
    System system;
    // Primitive face-centred: spacing 2.83, height 2.31, and no shorter vectors to be had.
    system.cell = {2, 2, 0, 2, 0, 2, 0, 2, 2};
    system.cutoff = 2.8;
    fill(system, 40, 0, random);
    expect_like_brute_force(system, "face-centred");
}

TEST(NeighborSearch, CountsTheShellsOfASimpleCubicCell) {
    System system;
    system.positions = {0.3, -0.2, 5.1};
    system.cutoff = 3.001;

    const EdgeList edges = system.search();

    // Lattice points at squared distance 1..9: 6 + 12 + 8 + 6 + 24 + 24 + 12 + 30.
    EXPECT_EQ(edges.size(), 122);
    for (std::int64_t e = 0; e < 3 * edges.size(); ++e) {
        EXPECT_EQ(edges.vector[e], static_cast<double>(edges.cell_shift[e]));
        EXPECT_EQ(edges.shift[e], edges.vector[e]);
    }
}

TEST(NeighborSearch, ExcludesTheDistanceOfTheCutoffItself) {
    System system;
    system.positions = {0, 0, 0};
    system.cutoff = 3;

    // Without the 30 points at squared distance 9.
    EXPECT_EQ(system.search().size(), 92);
}

TEST(NeighborSearch, CountsTheNeighborsOfRockSalt) {
    // 2 x 2 x 2 cubic cells of edge 2, one atom at each integer point.
    System system;
    system.cell = {4, 0, 0, 0, 4, 0, 0, 0, 4};
    for (int i = 0; i < 64; ++i) {
        for (const int x : {i / 16, i / 4 % 4, i % 4}) system.positions.push_back(x);
    }
    system.cutoff = 1.5;

    const EdgeList edges = system.search();

    std::vector<int> unlike(64), like(64);
    for (std::int64_t e = 0; e < edges.size(); ++e) {
        const auto parity = [&](std::int64_t i) { return (i / 16 + i / 4 % 4 + i % 4) % 2; };
        ++(parity(edges.receiver[e]) == parity(edges.sender[e]) ? like : unlike)[edges.receiver[e]];
    }
    EXPECT_EQ(unlike, std::vector<int>(64, 6));
    EXPECT_EQ(like, std::vector<int>(64, 12));
}

TEST(NeighborSearch, GivesBothDirectionsAsExactOpposites) {
    std::mt19937 random(6);
    System system = random_triclinic(random);
    system.cutoff = 5;
    fill(system, 12, 1, random);

    const EdgeVectors edges = as_map(system.search());

    ASSERT_GT(edges.size(), 100U);
    for (const auto& [edge, vector] : edges) {
        const auto opposite = edges.find({edge[1], edge[0], -edge[2], -edge[3], -edge[4]});
        ASSERT_NE(opposite, edges.end());
        for (int c = 0; c < 3; ++c) EXPECT_EQ(opposite->second[c], -vector[c]);
    }
}

TEST(NeighborSearch, OrdersEdgesByReceiverAndListsNoneTwice) {
    std::mt19937 random(7);
    System system = random_triclinic(random);
    system.cutoff = 6;
    fill(system, 9, 0, random);

    const EdgeList edges = system.search();

    EXPECT_TRUE(std::is_sorted(edges.receiver.begin(), edges.receiver.end()));
    EXPECT_EQ(as_map(edges).size(), static_cast<std::size_t>(edges.size()));
    ASSERT_EQ(edges.vector.size(), 3U * edges.size());
    ASSERT_EQ(edges.cell_shift.size(), 3U * edges.size());
    ASSERT_EQ(edges.shift.size(), 3U * edges.size());
    for (std::int64_t e = 0; e < edges.size(); ++e) {
        for (int c = 0; c < 3; ++c) {
            double shift = 0;
            for (int k = 0; k < 3; ++k) {
                shift += static_cast<double>(edges.cell_shift[3 * e + k]) * system.cell[3 * k + c];
            }
            EXPECT_NEAR(edges.shift[3 * e + c], shift, 1e-12);
            EXPECT_NEAR(edges.vector[3 * e + c],
                        system.positions[3 * edges.sender[e] + c] + shift -
                            system.positions[3 * edges.receiver[e] + c],
                        1e-12);
        }
    }
}

TEST(NeighborSearch, DoesNotDependOnTheImageAnAtomIsGivenIn) {
    std::mt19937 random(8);
    System system = random_triclinic(random);
    system.cutoff = 4;
    fill(system, 6, 0, random);
    System moved = system;
    // Atom 2 by two first and minus one third lattice vectors.
    for (int c = 0; c < 3; ++c) {
        moved.positions[6 + c] += 2 * system.cell[c] - system.cell[6 + c];
    }

    EdgeVectors back;
    for (const auto& [edge, vector] : as_map(moved.search())) {
        const std::int64_t m = (edge[1] == 2) - (edge[0] == 2);
        back[{edge[0], edge[1], edge[2] + 2 * m, edge[3], edge[4] - m}] = vector;
    }

    expect_equal(back, as_map(system.search()), "moved by lattice vectors");
}

TEST(NeighborSearch, HasNoEdgesWithoutAtomsOrNeighbors) {
    System empty;
    System lone;
    lone.positions = {0, 0, 0};
    lone.periodic = {false, false, false};
    lone.cutoff = 100;

    EXPECT_EQ(empty.search().size(), 0);
    EXPECT_EQ(lone.search().size(), 0);
}

TEST(NeighborSearch, IgnoresTheCellAlongNonPeriodicDirections) {
    System system;
    system.positions = {0, 0, 0, 0, 0, 2.5};
    system.periodic = {true, false, false};
    system.cell = {4, 0, 0, 0, 0, 0, std::numeric_limits<double>::quiet_NaN(), 0, 0};
    system.cutoff = 4.5;

    const EdgeList edges = system.search();

    // Each atom: two own images along x, and the other one alone (its images are 4.7 away).
    EXPECT_EQ(edges.size(), 6);
    System layer;
    layer.positions = {0.2, 0.3, 7};
    layer.periodic = {true, true, false};
    layer.cell = {1, 0, 0, 0, 1, 0, 0, 0, 0};
    layer.cutoff = 1.5;
    // The 4 + 4 next images in the square lattice.
    EXPECT_EQ(layer.search().size(), 8);
}

TEST(NeighborSearch, IsFastForFarOutliersInAnOpenSystem) {
    std::mt19937 random(9);
    System system;
    system.periodic = {false, false, false};
    system.cell = {20, 0, 0, 0, 20, 0, 0, 0, 20};
    system.cutoff = 2;
    fill(system, 8000, 0, random);
    system.positions.insert(system.positions.end(), {1e6, -1e6, 1e6});

    const std::clock_t start = std::clock();
    const EdgeList edges = system.search();
    const double seconds = processor_seconds_since(start);

    EXPECT_GT(edges.size(), 200000);
    EXPECT_LT(seconds, 2.0);
}

TEST(NeighborSearch, TakesUnderTwoSecondsForTwentyThousandAtoms) {
    std::mt19937 random(10);
    System system;
    system.cell = {27.2, 0, 0, 3, 27.2, 0, -4, 5, 27.2};
    fill(system, 20000, 0, random);
    system.cutoff = 2.13;  // density 0.994: 40 neighbors each

    const std::clock_t start = std::clock();
    const EdgeList edges = system.search();
    const double seconds = processor_seconds_since(start);

    EXPECT_NEAR(static_cast<double>(edges.size()) / 20000, 40, 1);
    EXPECT_LT(seconds, 2.0);
}

TEST(NeighborSearch, RefusesWhatItCannotSearch) {
    System system;
    system.positions = {0, 0, 0};
    System partial = system, flat = system, wide = system, lost = system, long_cell = system;
    partial.positions.push_back(1);
    flat.cell = {1, 0, 0, 0, 1, 0, 1, 1, 0};
    wide.cutoff = 500;
    lost.positions[1] = std::numeric_limits<double>::quiet_NaN();
    long_cell.cell[0] = 1e12;
    const std::string no_volume =
        "lattice: got periodic cell vectors that are not finite or not linearly independent, "
        "expected a cell with a volume (check the cell and its periodic directions)";

    EXPECT_EQ(refusal_of(partial),
              "neighbor_search: got 4 coordinates, expected three for each atom");
    EXPECT_EQ(refusal_of(flat), no_volume);
    EXPECT_EQ(refusal_of(long_cell), no_volume);
    EXPECT_EQ(refusal_of(wide),
              "neighbor_search: got a cutoff of 500.000000, which covers too many images of the "
              "cell, expected fewer than 1e7 (check the cell and the cutoff)");
    EXPECT_EQ(refusal_of(lost),
              "neighbor_search: got atom 0 at a position that is not finite or more than 1e7 cells "
              "away, expected one near the cell (has the simulation blown up?)");
    for (const double cutoff : {0.0, -1.0, std::nan("")}) {
        system.cutoff = cutoff;
        EXPECT_EQ(refusal_of(system), "neighbor_search: got cutoff " + std::to_string(cutoff) +
                                          ", expected a positive length");
    }
}

}  // namespace nvalchemi
