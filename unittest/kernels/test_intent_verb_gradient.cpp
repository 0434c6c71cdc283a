// SPDX-License-Identifier: GPL-2.0-only
// First and second derivatives of the intent verbs over all ranks, and the order of their
// exchanges.
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
using test::Energy;
using test::expect_equal_gradients;
using test::finite_differences;
using test::gradient;
using test::gradients;
using test::leaf;
using test::on_ranks;
using test::same;
using test::Tensor;
using test::Tensors;

using Kind = ExchangeEvent::Kind;
using Events = std::vector<ExchangeEvent>;

/// Uses every verb, with a nonlinear function between any two, on tensors that pad one row on every
/// second rank. The index of rows that are not owned names no system.
class EveryVerb {
  public:
    EveryVerb(const std::vector<RankRows>& parts, bool ordered) : ordered_(ordered) {
        for (std::size_t rank = 0; rank < parts.size(); ++rank) {
            const std::int64_t n =
                test::total_rows(parts[rank]) + static_cast<std::int64_t>(rank % 2);
            const std::int64_t owned = parts[rank].owned;
            mixing_.push_back(0.4 * test::random_rows({n, n}));
            inputs_.push_back(test::random_rows({n, 2}));
            owned_.push_back(owned);
            index_.push_back(at::full({n}, -1, rank % 2 == 0 ? at::kInt : at::kLong));
            index_.back().narrow(0, 0, owned).copy_(at::arange(owned).remainder(3));
        }
    }
    const Tensors& inputs() const { return inputs_; }

    Tensor operator()(std::size_t rank, const Tensor& x) const {
        Tensor token = 0 * x.sum();
        const Tensor target = call("autograd_target", x);
        const Tensor fresh = exchange("refresh_neighbors", at::sin(target), token);
        const Tensor whole = exchange("scatter_to_owners", mixing_[rank].mm(fresh), token);
        const Tensor node = at::tanh(call("to_local", whole)) * fresh;
        const Tensor widened =
            exchange("refresh_neighbors", node.narrow(0, 0, owned_[rank]), token);
        const Tensor sums = sum(at::sin(node), rank, 3, "owned", token);
        const Tensor part = sum(at::cos(node), rank, 3, "local", token);
        const Tensor one = sum(node * node, rank, 1, "owned", token, at::zeros_like(index_[rank]));
        const double weight = 1.0 + static_cast<double>(rank);
        const Tensor of_systems = sums * part + at::exp(0.1 * sums) + one * sums;
        return (widened * widened).sum() + (whole * fresh).sum() + weight * of_systems.sum() +
               0 * token;
    }

  private:
    Tensor exchange(const char* name, const Tensor& rows, Tensor& token) const {
        if (!ordered_) return call(name, rows);
        const auto [result, next_token] = call(name, rows, token);
        token = next_token;
        return result;
    }
    Tensor sum(const Tensor& rows, std::size_t rank, std::int64_t n_systems, const char* scope,
               Tensor& token, const Tensor& index = {}) const {
        const Tensor& systems = index.defined() ? index : index_[rank];
        if (!ordered_) return call_system_sum(rows, systems, n_systems, scope);
        const auto [result, next_token] = call_system_sum(rows, systems, n_systems, token, scope);
        token = next_token;
        return result;
    }

    bool ordered_;
    Tensors mixing_;
    Tensors inputs_;
    Tensors index_;
    std::vector<std::int64_t> owned_;
};

/// Plain overloads have no order among exchanges that do not need one another, as here two sums
/// and a refresh, so the backward pass is compared on ranks that all use all results.
class IntentVerbGradient : public ::testing::TestWithParam<std::tuple<int, bool>> {
  protected:
    IntentVerbGradient()
        : parts_(test::random_decomposition(std::get<0>(GetParam()), 3)),
          group_(parts_),
          energy_(parts_, std::get<1>(GetParam())) {}
    std::vector<RankRows> parts_;
    InMemoryGroup group_;
    EveryVerb energy_;
};
INSTANTIATE_TEST_SUITE_P(, IntentVerbGradient,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4), ::testing::Bool()),
                         [](const auto& test) {
                             return std::to_string(std::get<0>(test.param)) +
                                    (std::get<1>(test.param) ? "RanksOrdered" : "RanksPlain");
                         });

TEST_P(IntentVerbGradient, EqualsFiniteDifferences) {
    const Tensors analytic = gradients(group_, energy_.inputs(), energy_);

    expect_equal_gradients(analytic, finite_differences(group_, energy_.inputs(), energy_));
}

TEST_P(IntentVerbGradient, OfTheGradientEqualsFiniteDifferences) {
    Tensors directions;
    for (const Tensor& x : energy_.inputs()) {
        directions.push_back(test::random_rows(x.sizes().vec()));
    }
    const Energy slope = [&](std::size_t rank, const Tensor& x) {
        return (gradient(energy_(rank, x), x, /*create_graph=*/true) * directions[rank]).sum();
    };

    const Tensors analytic = gradients(group_, energy_.inputs(), slope);

    expect_equal_gradients(analytic, finite_differences(group_, energy_.inputs(), slope));
}

/// <verb(x), y> = <x, gradient of <verb(x), y>>, summed over ranks: the verbs are linear.
TEST(IntentVerbAdjoint, OfEachVerbIsItsGradient) {
    using Verb = std::function<Tensor(const Tensor& x, const Tensor& index)>;
    const std::vector<std::pair<const char*, Verb>> verbs = {
        {"refresh_neighbors",
         [](const Tensor& x, const Tensor&) { return call("refresh_neighbors", x); }},
        {"scatter_to_owners",
         [](const Tensor& x, const Tensor&) { return call("scatter_to_owners", x); }},
        {"system_sum over ranks",
         [](const Tensor& x, const Tensor& index) { return call_system_sum(x, index, 4); }},
        {"system_sum of this rank", [](const Tensor& x, const Tensor& index) {
             return call_system_sum(x, index, 4, "local");
         }}};
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (unsigned seed = 0; seed < 10; ++seed) {
            const std::vector<RankRows> parts = test::random_decomposition(ranks, seed);
            InMemoryGroup group(parts);
            for (const auto& [name, verb] : verbs) {
                Tensors x;
                for (std::size_t rank = 0; rank < parts.size(); ++rank) {
                    const auto others = static_cast<std::int64_t>((rank + seed) % 3);
                    x.push_back(test::random_rows({test::total_rows(parts[rank]) + others, 3}));
                }
                std::vector<double> left(parts.size());
                std::vector<double> right(parts.size());

                group.run([&, &verb = verb](int number, HaloExchange&) {
                    const auto rank = static_cast<std::size_t>(number);
                    const Tensor input = leaf(x[rank]);
                    const Tensor index = at::arange(input.size(0)).remainder(4);
                    const Tensor image = verb(input, index);
                    // Each rank its own y: a result that is the same on all would hide a factor.
                    const Tensor y = at::cos(at::arange(image.numel(), at::kDouble) + number + seed)
                                         .view(image.sizes());
                    const Tensor product = (image * y).sum();
                    left[rank] = product.item<double>();
                    right[rank] = (x[rank] * gradient(product, input)).sum().item<double>();
                });

                double difference = 0;
                for (std::size_t rank = 0; rank < parts.size(); ++rank) {
                    difference += left[rank] - right[rank];
                }
                EXPECT_NEAR(difference, 0, 1e-12) << name << ", " << ranks << " ranks, " << seed;
            }
        }
    }
}

/// Adds the same small change to a system's sum on every rank and compares the change of the total
/// energy with the gradient at each owned row of that system: equal if the adjoint is right.
TEST(SystemSumByIndexAudit, TheAdjointIsTheSumOverRanksOnEachOwnedRow) {
    constexpr double kStep = 1e-4;
    for (int ranks = 2; ranks <= 4; ++ranks) {
        const std::vector<RankRows> parts = test::random_decomposition(ranks, 5);
        InMemoryGroup group(parts);
        Tensors inputs;
        for (const RankRows& part : parts) {
            inputs.push_back(test::random_rows({test::total_rows(part)}));
        }
        const auto energy_with = [](const Tensor& shift) {
            return [shift](std::size_t rank, const Tensor& x) {
                const Tensor index = at::arange(x.size(0)).remainder(2);
                const Tensor sums = call_system_sum(x, index, 2) + shift;
                const double weight = 0.3 + static_cast<double>(rank);
                return (weight * at::sin(sums) + sums * sums + 2.0).sum();
            };
        };
        const auto change = [&](const Tensor& direction) {
            return (test::total(group, inputs, energy_with(kStep * direction)) -
                    test::total(group, inputs, energy_with(-kStep * direction))) /
                   (2 * kStep);
        };
        const Tensor expected = column({change(column({1, 0})), change(column({0, 1}))});

        const Tensors got = gradients(group, inputs, energy_with(at::zeros({2}, at::kDouble)));

        for (std::size_t rank = 0; rank < parts.size(); ++rank) {
            for (std::int64_t row = 0; row < parts[rank].owned; ++row) {
                const Tensor ratio = got[rank][row] / expected[row % 2];
                EXPECT_NEAR(ratio.item<double>(), 1.0, 1e-6) << "rank " << rank << " row " << row;
            }
        }
    }
}

class IntentVerbGradientOfType : public ::testing::TestWithParam<at::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(, IntentVerbGradientOfType, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& test) { return std::string(c10::toString(test.param)); });

// rank 0:  a b | c' | z      rank 1:  c | b' a' |      z belongs to no atom
TEST_P(IntentVerbGradientOfType, RefreshNeighborsSendsHaloGradientsHomeAndKeepsThatOfOtherRows) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const Tensors weights = {column({1, 2, 30, 7}, GetParam()), column({3, 20, 10}, GetParam())};

    const Tensors got = gradients(group, weights, [&](std::size_t rank, const Tensor& x) {
        return (weights[rank] * call("refresh_neighbors", x)).sum();
    });

    EXPECT_TRUE(same(got[0], column({11, 22, 0, 7}, GetParam())));
    EXPECT_TRUE(same(got[1], column({33, 0, 0}, GetParam())));
}

TEST_P(IntentVerbGradientOfType, SystemSumReachesOwnedRowsWithTheSumOverRanks) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const Tensors index = {column({0, 1, -9, -9}, at::kInt), column({1, -9, -9}, at::kInt)};
    const Tensors weights = {column({1, 2}, GetParam()), column({10, 20}, GetParam())};
    const auto weighted = [&](const char* scope) {
        return [&, scope](std::size_t rank, const Tensor& x) {
            return (weights[rank] * call_system_sum(x, index[rank], 2, scope)).sum();
        };
    };
    const Tensors inputs = {column({1, 2, 3, 4}, GetParam()), column({5, 6, 7}, GetParam())};

    const Tensors owned = gradients(group, inputs, weighted("owned"));
    const Tensors local = gradients(group, inputs, weighted("local"));

    EXPECT_TRUE(same(owned[0], column({11, 22, 0, 0}, GetParam())));
    EXPECT_TRUE(same(owned[1], column({22, 0, 0}, GetParam())));
    EXPECT_TRUE(same(local[0], column({1, 2, 0, 0}, GetParam())));
    EXPECT_TRUE(same(local[1], column({20, 0, 0}, GetParam())));
}

TEST(IntentVerbOrder, BackwardIsTheReverseOnEveryRankAlsoWhereNoResultIsUsed) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const Events expected = {{Kind::Forward, 1},   {Kind::Reverse, 2},   {Kind::Forward, 2},
                             {Kind::SystemSum, 5}, {Kind::SystemSum, 5}, {Kind::Reverse, 2},
                             {Kind::Forward, 2},   {Kind::Reverse, 1}};

    group.run([](int rank, HaloExchange&) {
        const Tensor x = leaf(at::ones({4}, at::kDouble));
        const Tensor index = at::zeros({4}, at::kLong);
        const auto [fresh, first] = call("refresh_neighbors", x, 0 * x.sum());
        const auto [whole, second] =
            call("scatter_to_owners", x.unsqueeze(1).expand({4, 2}), first);
        const auto [sums, last] = call_system_sum(x, index, 5, second, "owned");
        Tensor energy = x.sum() + 0 * last;
        if (rank == 0) energy = energy + fresh.sum() + whole.sum() + sums.sum();
        gradient(energy, x);
    });

    EXPECT_EQ(group.events(0), expected);
    EXPECT_EQ(group.events(1), expected);
}

}  // namespace
}  // namespace nvalchemi
