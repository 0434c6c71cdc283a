// SPDX-License-Identifier: GPL-2.0-only
// Numbers that the Python implementation of distribution specs gives on two ranks, measured there
// or following from a rule that was measured there, and what the same maps give here: the same, the
// same up to the number of ranks W, or different on purpose.
//
// That implementation sums the energy over ranks inside the graph and lets every rank differentiate
// its copy of the total, so its gradients are W times too large until it divides them. Here each
// rank differentiates the energy of its own atoms, and nothing is divided.
#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "unittest/kernels/rank_gradients.hpp"
#include "unittest/kernels/verb_calls.hpp"

namespace nvalchemi {
namespace {

using test::call;
using test::call_system_sum;
using test::column;
using test::gradients;
using test::on_ranks;
using test::same;
using test::Tensor;
using test::Tensors;

/// Each rank owns two atoms and has a halo row for one of the other's:
///
///     rank 0:  a b | c'      a is no halo row anywhere
///     rank 1:  c d | b'      d neither
InMemoryGroup two_ranks() { return InMemoryGroup({{2, {{1, 0}}}, {2, {{0, 1}}}}); }

/// A sum of one number for each row, as from one edge each.
Tensor scatter(const Tensor& values) {
    return at::zeros({3}, at::kDouble).index_add(0, at::arange(3), values);
}

Tensor weights(std::size_t rank) {
    return (1.0 + static_cast<double>(rank)) * column({1, 10, 100});
}

struct Measured {
    const char* name;
    Tensor (*map)(std::size_t rank, const Tensor& ones);
    std::vector<double> here[2];   ///< on rank 0 and 1
    std::vector<double> there[2];  ///< what the Python implementation gives
    double factor;                 ///< there = factor * here; 0: different on purpose, as it says
    bool of_gradient;              ///< of the map's sum, else of its value

    friend void PrintTo(const Measured& entry, std::ostream* stream) { *stream << entry.name; }
};

const Measured kMeasured[] = {
    {"gradient of a weighted corrected scatter",
     [](std::size_t rank, const Tensor& ones) {
         return (weights(rank) * call("halo_correct", scatter(ones))).sum();
     },
     {{1, 210, 102}, {102, 20, 210}},
     {{1, 210, 102}, {102, 20, 210}},
     1,
     true},
    {"corrected scatter",
     [](std::size_t, const Tensor& ones) { return call("halo_correct", scatter(ones)); },
     {{1, 2, 2}, {2, 1, 2}},
     {{1, 2, 2}, {2, 1, 2}},
     1,
     false},
    // There the accumulator is part of what is corrected, so that each copy of a shared row adds
    // it: 2 * (5 + 1). Here only the increment is: 5 + 2.
    {"scatter into fives",
     [](std::size_t, const Tensor& ones) {
         return at::full({3}, 5.0, at::kDouble) + call("halo_correct", scatter(ones));
     },
     {{6, 7, 7}, {7, 6, 7}},
     {{6, 12, 12}, {12, 6, 12}},
     0,
     false},
    {"scatter into fives in the order of the Python implementation",
     [](std::size_t, const Tensor& ones) {
         return call("halo_correct", at::full({3}, 5.0, at::kDouble) + scatter(ones));
     },
     {{6, 12, 12}, {12, 6, 12}},
     {{6, 12, 12}, {12, 6, 12}},
     1,
     false},
    // Not idempotent: each further time multiplies shared rows by the number of their copies.
    {"scatter corrected twice",
     [](std::size_t, const Tensor& ones) {
         return call("halo_correct", call("halo_correct", scatter(ones)));
     },
     {{1, 4, 4}, {4, 1, 4}},
     {{1, 4, 4}, {4, 1, 4}},
     1,
     false},
    // dim=-1 of a tensor with one dimension is dim=0. There the correction is skipped for it.
    {"scatter along the last of one dimensions",
     [](std::size_t, const Tensor& ones) {
         return call("halo_correct",
                     at::zeros({3}, at::kDouble).index_add(-1, at::arange(3), ones));
     },
     {{1, 2, 2}, {2, 1, 2}},
     {{1, 1, 1}, {1, 1, 1}},
     0,
     false},
    // There alpha is ignored.
    {"scatter with alpha",
     [](std::size_t, const Tensor& ones) {
         return call("halo_correct",
                     at::zeros({3}, at::kDouble).index_add(0, at::arange(3), ones, 0.5));
     },
     {{0.5, 1, 1}, {1, 0.5, 1}},
     {{1, 2, 2}, {2, 1, 2}},
     0,
     false},
    // The energy is the sum of all owned rows, on every rank, and every rank seeds it with 1.
    {"gradient of an energy summed over ranks",
     [](std::size_t, const Tensor& ones) {
         return call_system_sum(ones, at::zeros({3}, at::kLong), 1).sum();
     },
     {{2, 2, 0}, {2, 2, 0}},
     {{2, 2, 0}, {2, 2, 0}},
     1,
     true},
    {"gradient of the energy of owned atoms",
     [](std::size_t, const Tensor& ones) {
         return call_system_sum(ones, at::zeros({3}, at::kLong), 1, "local").sum();
     },
     {{1, 1, 0}, {1, 1, 0}},
     {{2, 2, 0}, {2, 2, 0}},
     2,
     true},
    {"gradient of a sum over ranks that is the same everywhere, half of it on each rank",
     [](std::size_t, const Tensor& ones) {
         return 0.5 * call_system_sum(ones, at::zeros({3}, at::kLong), 1).sum();
     },
     {{1, 1, 0}, {1, 1, 0}},
     {{2, 2, 0}, {2, 2, 0}},
     2,
     true},
    // With replicated_consumer the adjoint there is the identity: its consumer's own operator
    // sums the cotangents once more, since an adapter fires in backward passes too. Here adapters
    // are of forward passes alone, and the adjoint of a sum over ranks is a sum over ranks.
    {"gradient of all_reduce_sum with replicated_consumer",
     [](std::size_t rank, const Tensor& ones) {
         return (1.0 + static_cast<double>(rank)) * call("system_sum", ones.sum());
     },
     {{3, 3, 3}, {3, 3, 3}},
     {{1, 1, 1}, {2, 2, 2}},
     0,
     true},
};

Tensor row(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

}  // namespace

class MeasuredNumbers : public ::testing::TestWithParam<Measured> {};
INSTANTIATE_TEST_SUITE_P(, MeasuredNumbers, ::testing::ValuesIn(kMeasured), [](const auto& test) {
    std::string name = test.param.name;
    for (char& letter : name) {
        if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
    }
    return name;
});

TEST_P(MeasuredNumbers, AreReproducedOrDifferOnPurpose) {
    const Measured& entry = GetParam();
    InMemoryGroup group = two_ranks();
    const Tensors ones(2, at::ones({3}, at::kDouble));

    const Tensors got =
        entry.of_gradient
            ? gradients(group, ones, entry.map)
            : on_ranks(group, 2, [&](std::size_t rank) { return entry.map(rank, ones[rank]); });

    for (std::size_t rank = 0; rank < 2; ++rank) {
        EXPECT_TRUE(same(got[rank], row(entry.here[rank]))) << "rank " << rank;
        if (entry.factor != 0) {
            EXPECT_TRUE(same(entry.factor * got[rank], row(entry.there[rank])));
        } else {
            EXPECT_FALSE(at::equal(got[rank], row(entry.there[rank])));
        }
    }
}

/// There the width of 3 passes for coordinates, whose halo rows carry a periodic shift, and is left
/// alone. What a row is does not follow from its width: features of width 3 are refreshed.
TEST(WidthOfThree, IsRefreshedLikeAnyOther) {
    InMemoryGroup group = two_ranks();
    const Tensors rows = {at::full({3, 3}, 1.0, at::kDouble), at::full({3, 3}, 2.0, at::kDouble)};

    const Tensors got = test::apply(group, "refresh_neighbors", rows);

    for (std::size_t rank = 0; rank < 2; ++rank) {
        EXPECT_TRUE(at::equal(got[rank].narrow(0, 0, 2), rows[rank].narrow(0, 0, 2)));
        EXPECT_TRUE(at::equal(got[rank][2], rows[1 - rank][0]));  // there: still rows[rank][2]
    }
}

/// The factor is the number of ranks: not 2, and not the number of copies of an atom.
TEST(SeedOnEveryRank, MakesGradientsAsManyTimesTooLargeAsThereAreRanks) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
        const std::vector<RankRows> parts = test::random_decomposition(ranks, 3);
        InMemoryGroup group(parts);
        Tensors inputs;
        for (const RankRows& part : parts) inputs.push_back(at::ones({test::total_rows(part)}));

        const auto gradient_of = [&](const char* scope) {
            return gradients(group, inputs, [&](std::size_t, const Tensor& x) {
                return call_system_sum(x, at::zeros({x.size(0)}, at::kLong), 1, scope).sum();
            });
        };
        const Tensors of_total = gradient_of("owned");
        const Tensors of_part = gradient_of("local");

        for (std::size_t rank = 0; rank < parts.size(); ++rank) {
            EXPECT_TRUE(same(of_total[rank], ranks * of_part[rank])) << ranks << " ranks";
            EXPECT_EQ(of_part[rank].sum().item<double>(), static_cast<double>(parts[rank].owned));
        }
    }
}

}  // namespace nvalchemi
