// SPDX-License-Identifier: GPL-2.0-only
// First and second derivatives of the operators over all ranks.
#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "unittest/kernels/rank_gradients.hpp"

namespace nvalchemi {
namespace {

using test::call;
using test::close;
using test::column;
using test::Energy;
using test::error_of;
using test::expect_equal_gradients;
using test::finite_differences;
using test::gradient;
using test::gradients;
using test::leaf;
using test::same;
using test::Tensor;
using test::Tensors;

using Kind = ExchangeEvent::Kind;
/// Uses every operator once, on all rows of every rank, with a nonlinear function between any two.
/// Plain overloads give an order here because each exchange needs the result of the one before.
class EveryOperator {
  public:
    EveryOperator(const std::vector<RankRows>& parts, bool ordered) : ordered_(ordered) {
        for (const RankRows& part : parts) {
            const std::int64_t n = test::total_rows(part);
            mixing_.push_back(0.4 * test::random_rows({n, n}));
            inputs_.push_back(test::random_rows({n, 2}));
        }
    }
    const Tensors& inputs() const { return inputs_; }

    Tensor operator()(std::size_t rank, const Tensor& x) const {
        Tensor token = 0 * x.sum();
        const Tensor fresh = exchange("halo_forward", at::sin(x), token);
        const Tensor whole = exchange("halo_correct", mixing_[rank].mm(fresh), token);
        const Tensor home = exchange("halo_reverse", at::tanh(whole) * fresh, token);
        const Tensor sum = exchange("owned_system_sum", at::sin(home), token);
        const Tensor again = exchange("system_sum", sum * sum * x.sum(0), token);
        const Tensor kept = call("drop_halo_gradient", home);
        const double weight = 1.0 + static_cast<double>(rank);
        return (home * home).sum() + (kept * kept).sum() + weight * (again * sum).sum() + 0 * token;
    }

  private:
    Tensor exchange(const char* name, const Tensor& rows, Tensor& token) const {
        if (!ordered_) return call(name, rows);
        const auto [result, next_token] = call(name, rows, token);
        token = next_token;
        return result;
    }

    bool ordered_;
    Tensors mixing_;
    Tensors inputs_;
};

class CollectiveGradient : public ::testing::TestWithParam<std::tuple<int, bool>> {};
INSTANTIATE_TEST_SUITE_P(, CollectiveGradient,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4), ::testing::Bool()),
                         [](const auto& test) {
                             return std::to_string(std::get<0>(test.param)) +
                                    (std::get<1>(test.param) ? "RanksOrdered" : "RanksPlain");
                         });

TEST_P(CollectiveGradient, EqualsFiniteDifferences) {
    const auto [ranks, ordered] = GetParam();
    const std::vector<RankRows> parts = test::random_decomposition(ranks, 3);
    InMemoryGroup group(parts);
    const EveryOperator energy(parts, ordered);

    const Tensors analytic = gradients(group, energy.inputs(), energy);

    expect_equal_gradients(analytic, finite_differences(group, energy.inputs(), energy));
}

TEST_P(CollectiveGradient, OfTheGradientEqualsFiniteDifferences) {
    const auto [ranks, ordered] = GetParam();
    const std::vector<RankRows> parts = test::random_decomposition(ranks, 3);
    InMemoryGroup group(parts);
    const EveryOperator energy(parts, ordered);
    Tensors directions;
    for (const Tensor& x : energy.inputs())
        directions.push_back(test::random_rows(x.sizes().vec()));
    const Energy slope = [&](std::size_t rank, const Tensor& x) {
        return (gradient(energy(rank, x), x, /*create_graph=*/true) * directions[rank]).sum();
    };

    const Tensors analytic = gradients(group, energy.inputs(), slope);

    expect_equal_gradients(analytic, finite_differences(group, energy.inputs(), slope));
}

// rank 0:  a b | c'      rank 1:  c d | b'      weights 1, 10, 100 and twice that
TEST(HaloCorrectGradient, IsHaloCorrectOfTheWeights) {
    InMemoryGroup group({{2, {{1, 0}}}, {2, {{0, 1}}}});
    const Tensor weights = column({1, 10, 100});

    const Tensors got = gradients(group, {at::zeros({3}, at::kDouble), at::zeros({3}, at::kDouble)},
                                  [&](std::size_t rank, const Tensor& x) {
                                      const double factor = 1.0 + static_cast<double>(rank);
                                      return (factor * weights * call("halo_correct", x)).sum();
                                  });

    EXPECT_TRUE(same(got[0], column({1, 210, 102})));
    EXPECT_TRUE(same(got[1], column({102, 20, 210})));
}

class GradientOfType : public ::testing::TestWithParam<at::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(, GradientOfType, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& test) { return std::string(c10::toString(test.param)); });

// rank 0:  a b | c'      rank 1:  c | b' a'
TEST_P(GradientOfType, HaloForwardCollectsAtOwnersAndLeavesExactZerosInHaloRows) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const double infinity = std::numeric_limits<double>::infinity();
    const Tensors weights = {column({1, 2, infinity}, GetParam()), column({3, 20, 10}, GetParam())};

    const Tensors got = gradients(group, weights, [&](std::size_t rank, const Tensor& x) {
        return (weights[rank] * call("halo_forward", x)).sum();
    });

    EXPECT_TRUE(same(got[0], column({11, 22, 0}, GetParam())));
    EXPECT_TRUE(same(got[1], column({infinity, 0, 0}, GetParam())));
}

TEST_P(GradientOfType, OfWidenedRowsHasTheShapeOfTheOwnedRows) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const Tensors weights = {column({1, 2, 30}, GetParam()), column({3, 20, 10}, GetParam())};

    const Tensors got = gradients(group, {column({0, 0}, GetParam()), column({0}, GetParam())},
                                  [&](std::size_t rank, const Tensor& x) {
                                      return (weights[rank] * call("halo_forward", x)).sum();
                                  });

    EXPECT_TRUE(same(got[0], column({11, 22}, GetParam())));
    EXPECT_TRUE(same(got[1], column({33}, GetParam())));
}

TEST_P(GradientOfType, OwnedSystemSumReachesOwnedRowsOfAllRanks) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());

    const Tensors got = gradients(group, {column({1, 2, 3}, GetParam()), column({4}, GetParam())},
                                  [](std::size_t rank, const Tensor& x) {
                                      const double weight = rank == 0 ? 1 : 10;
                                      return weight * call("owned_system_sum", x);
                                  });

    EXPECT_TRUE(same(got[0], column({11, 11, 0}, GetParam())));
    EXPECT_TRUE(same(got[1], column({11}, GetParam())));
}

// The gradient of sqrt at the halo row is infinite, the cotangent zero: not a number.
TEST(DropHaloGradient, KeepsWhatIsNotANumberAwayFromOwners) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const auto energy = [](bool drop) {
        return [drop](std::size_t rank, const Tensor& x) {
            const std::int64_t owned = rank == 0 ? 2 : 1;
            const Tensor fresh = call("halo_forward", x);
            const Tensor stale =
                at::cat({fresh.narrow(0, 0, owned), 0 * fresh.narrow(0, owned, 3 - owned)});
            const Tensor root = at::sqrt(drop ? call("drop_halo_gradient", stale) : stale);
            return (root * at::cat({at::ones({owned}), at::zeros({3 - owned})})).sum();
        };
    };
    const Tensors inputs = {column({1, 4, 0}), column({16, 0, 0})};

    const Tensors dropped = gradients(group, inputs, energy(true));
    const Tensors kept = gradients(group, inputs, energy(false));

    EXPECT_TRUE(same(dropped[0], column({0.5, 0.25, 0})));
    EXPECT_TRUE(same(dropped[1], column({0.125, 0, 0})));
    EXPECT_TRUE(std::isnan(kept[0][0].item<double>()));
}

TEST(DropHaloGradient, IsAViewThatRefusesModification) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());

    group.run([](int, HaloExchange&) {
        const Tensor x = at::ones({3}).requires_grad_(true) * 1;
        Tensor view = call("drop_halo_gradient", x);
        EXPECT_TRUE(view.is_alias_of(x));
        EXPECT_NE(error_of([&] { view.add_(1); }), "nothing");
    });
}

TEST(CollectiveGradientCalls, NoneWhereTheInputHasNoGradient) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());

    group.run([](int, HaloExchange&) {
        const Tensor x = leaf(at::ones({3}));
        const auto [rows, token] = call("halo_forward", at::ones({3}), 0 * x.sum());
        EXPECT_FALSE(rows.requires_grad());
        EXPECT_TRUE(token.requires_grad());
        gradient((rows * x).sum() + 0 * token, x);
    });

    EXPECT_EQ(group.events(0),
              (std::vector<ExchangeEvent>{{Kind::Forward, 1, ElementType::Float32}}));
}

TEST(CollectiveGradientCalls, NoGraphWithoutGradientMode) {
    const at::NoGradGuard no_grad;
    const Tensor x = leaf(at::ones({3}));

    EXPECT_FALSE(call("halo_forward", x).requires_grad());
    EXPECT_FALSE(std::get<1>(call("halo_forward", x, 0 * x.sum())).requires_grad());
    const c10::InferenceMode inference;
    EXPECT_TRUE(same(call("halo_correct", at::ones({3})), at::ones({3})));
    EXPECT_TRUE(same(call("drop_halo_gradient", at::ones({3})), at::ones({3})));
}

TEST(CollectiveGradientCalls, RefuseAnotherExchangeThanThatOfTheForwardPass) {
    const Tensor x = leaf(at::ones({3}));
    SerialExchange first(3);
    SerialExchange second(3);
    Tensor sum;
    {
        const ExchangeScope scope(first);
        sum = call("halo_forward", x).sum();
    }

    EXPECT_EQ(error_of([&] { gradient(sum, x); }),
              "nvalchemi_lmp::halo_forward: got a backward pass on a thread without exchange, "
              "expected the exchange of the forward pass (differentiate within the same "
              "ExchangeScope, with autograd multithreading off for CUDA graphs)");
    const ExchangeScope scope(second);
    EXPECT_CONTAINS(error_of([&] { gradient(sum, x); }),
                    "got a backward pass with another exchange");
}

}  // namespace
}  // namespace nvalchemi
