// SPDX-License-Identifier: GPL-2.0-only
// Order and number of exchanges on ranks that use different results, and the audit of sums.
#include <ATen/ATen.h>
#include <ATen/core/stack.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <memory>
#include <string>
#include <vector>

#include "unittest/kernels/rank_tensors.hpp"

namespace nvalchemi {
namespace {

using test::call;
using test::column;
using test::error_of;
using test::on_ranks;
using test::same;
using test::Tensor;
using test::Tensors;

using Kind = ExchangeEvent::Kind;
using Events = std::vector<ExchangeEvent>;

Tensor leaf(const Tensor& values) { return values.detach().clone().requires_grad_(true); }

/// Exchanges of widths 1, 2, 3 whose results only rank 0 uses: rank 1 returns early.
Tensor uses_results_on_rank_zero_only(int rank, const Tensor& x) {
    Tensor token = 0 * x.sum();
    Tensor energy = x.sum();
    for (std::int64_t width = 1; width <= 3; ++width) {
        const Tensor rows = x.unsqueeze(1).expand({-1, width});
        const auto [fresh, next_token] = call("halo_forward", rows, token);
        token = next_token;
        if (rank == 0) energy = energy + (fresh * fresh).sum();
    }
    return energy + 0 * token;
}

TEST(ExchangeOrder, BackwardIsTheReverseOnEveryRankAlsoWhereNoResultIsUsed) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const Events expected = {{Kind::Forward, 1}, {Kind::Forward, 2}, {Kind::Forward, 3},
                             {Kind::Reverse, 3}, {Kind::Reverse, 2}, {Kind::Reverse, 1}};

    const Tensors gradients = on_ranks(group, 2, [](std::size_t rank) {
        const Tensor x = leaf(rank == 0 ? column({1, 2, 0}) : column({3, 0, 0}));
        const Tensor energy = uses_results_on_rank_zero_only(static_cast<int>(rank), x);
        return torch::autograd::grad({energy}, {x})[0];
    });

    EXPECT_EQ(group.events(0), expected);
    EXPECT_EQ(group.events(1), expected);
    // d/dx of x + 6 x^2 at a, b; c enters through its copy on rank 0.
    EXPECT_TRUE(same(gradients[0], column({13, 25, 1})));
    EXPECT_TRUE(same(gradients[1], column({37, 1, 1})));
}

TEST(ExchangeOrder, WithoutTokenARankThatUsesNoResultWouldLeaveTheOthersWaiting) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());

    const std::string error = error_of([&] {
        group.run([](int rank, HaloExchange&) {
            const Tensor x = leaf(at::ones({3}, at::kDouble));
            const Tensor fresh = call("halo_forward", x);
            torch::autograd::grad({rank == 0 ? fresh.sum() : x.sum()}, {x});
        });
    });

    EXPECT_CONTAINS(error, "rank 1 returned while rank 0 calls reverse(width 1, float64)");
}

TEST(ExchangeOrder, SecondDerivativesKeepOneOrderToo) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const Events expected = {
        {Kind::Forward, 1}, {Kind::Forward, 2}, {Kind::Forward, 3},   // energy
        {Kind::Reverse, 3}, {Kind::Reverse, 2}, {Kind::Reverse, 1},   // gradient
        {Kind::Forward, 1}, {Kind::Forward, 2}, {Kind::Forward, 3},   // gradient of the gradient,
        {Kind::Reverse, 3}, {Kind::Reverse, 2}, {Kind::Reverse, 1}};  // through both passes

    group.run([](int rank, HaloExchange&) {
        const Tensor x = leaf(at::ones({3}, at::kDouble));
        const Tensor energy = uses_results_on_rank_zero_only(rank, x);
        const Tensor first = torch::autograd::grad({energy}, {x}, {}, true, true)[0];
        torch::autograd::grad({first.sum() + energy}, {x});
    });

    EXPECT_EQ(group.events(0), expected);
    EXPECT_EQ(group.events(1), expected);
}

TEST(ExchangeOrder, TheGradientOfTheTokenPassesThrough) {
    const Tensor token = leaf(at::ones({}, at::kDouble));
    const Tensor x = leaf(at::ones({3}, at::kDouble));
    Tensor next = token;
    for (const char* name :
         {"halo_forward", "halo_reverse", "halo_correct", "system_sum", "owned_system_sum"}) {
        next = std::get<1>(call(name, x, next));
        next = std::get<1>(call(name, at::ones({3}, at::kDouble), next));
    }

    const auto gradients = torch::autograd::grad({7 * next}, {token, x});

    EXPECT_EQ(gradients[0].item<double>(), 7.0);
    EXPECT_TRUE(same(gradients[1], at::zeros({3}, at::kDouble)));
}

/// TorchScript's executor profiles, specialises and optimises a graph in its first runs.
TEST(ExchangeOrder, HoldsInTorchScriptOverManyRuns) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    test::call("halo_forward", at::ones({1}));
    const std::string text = R"IR(
graph(%x : Tensor, %t : Tensor):
  %y : Tensor, %t1 : Tensor = nvalchemi_lmp::halo_forward(%x, %t)
  %z : Tensor = aten::sin(%y)
  %u : Tensor, %t2 : Tensor = nvalchemi_lmp::halo_correct(%z, %t1)
  %v : Tensor = aten::mul(%u, %u)
  return (%v, %t2))IR";
    const Events once = {{Kind::Forward, 1}, {Kind::Reverse, 1}, {Kind::Forward, 1},
                         {Kind::Reverse, 1}, {Kind::Forward, 1}, {Kind::Reverse, 1}};
    constexpr int kRuns = 5;
    const auto runs = [&](std::size_t rank) {
        auto graph = std::make_shared<torch::jit::Graph>();
        torch::jit::parseIR(text, graph.get());
        torch::jit::GraphExecutor executor(graph, "exchanges");
        Tensor last;
        for (int run = 0; run < kRuns; ++run) {
            const Tensor x = leaf(column({0.1, 0.2, 0.3}));
            torch::jit::Stack stack = {x, 0 * x.sum()};
            executor.run(stack);
            const Tensor used = rank == 0 ? stack[0].toTensor().sum() : x.sum();
            last = torch::autograd::grad({used + 0 * stack[1].toTensor()}, {x})[0];
        }
        return last;
    };

    const Tensors got = on_ranks(group, 2, runs);

    Events expected;
    for (int run = 0; run < kRuns; ++run) expected.insert(expected.end(), once.begin(), once.end());
    EXPECT_EQ(group.events(0), expected);
    EXPECT_EQ(group.events(1), expected);
    // E_0 = (2 sin a)^2 + (2 sin b)^2 + (2 sin c)^2 with two copies of each atom.
    const Tensor atoms = column({0.1, 0.2, 0.1});
    const Tensor slope = 8 * at::sin(atoms) * at::cos(atoms);
    EXPECT_TRUE(test::close(got[0].slice(0, 0, 2), slope.slice(0, 0, 2), 1e-14));
    EXPECT_TRUE(test::close(
        got[1], at::stack({slope[2] + 1, at::ones({}, at::kDouble), at::ones({}, at::kDouble)}),
        1e-14));
}

using Sum = std::function<Tensor(const Tensor&)>;

/// Adds the same small change to the reduced value on every rank and compares the change of
/// sum_r E_r with the gradient that arrives at each rank's own value: 1 if the adjoint is right.
std::vector<double> audit(const Sum& system_sum) {
    constexpr std::size_t kRanks = 3;
    constexpr double kStep = 1e-5;
    InMemoryGroup group(std::vector<RankRows>(kRanks, RankRows{1, {}}));
    const Tensor weights = column({0.3, 1.0, 2.5});
    const auto energy = [&](std::size_t rank, const Tensor& value, double shift) {
        const Tensor reduced = system_sum(value) + shift;
        return weights[static_cast<std::int64_t>(rank)] * at::sin(reduced);
    };
    const auto total = [&](double shift) {
        double sum = 0;
        for (const Tensor& part : on_ranks(group, kRanks, [&](std::size_t rank) {
                 return energy(rank, column({0.1}), shift).detach();
             })) {
            sum += part.item<double>();
        }
        return sum;
    };

    const double change = (total(kStep) - total(-kStep)) / (2 * kStep);
    std::vector<double> ratios;
    for (const Tensor& gradient : on_ranks(group, kRanks, [&](std::size_t rank) {
             const Tensor value = leaf(column({0.1}));
             return torch::autograd::grad({energy(rank, value, 0)}, {value})[0];
         })) {
        ratios.push_back(gradient.item<double>() / change);
    }
    return ratios;
}

TEST(SystemSumAudit, TheAdjointIsTheSumOnEveryRank) {
    for (const double ratio : audit([](const Tensor& x) { return call("system_sum", x); })) {
        EXPECT_NEAR(ratio, 1.0, 1e-8);
    }
}

TEST(SystemSumAudit, TellsAnIdentityAdjointApart) {
    const std::vector<double> ratios =
        audit([](const Tensor& x) { return x + (call("system_sum", x.detach()) - x.detach()); });

    for (const double ratio : ratios) EXPECT_GT(std::abs(ratio - 1.0), 0.1);
}

}  // namespace
}  // namespace nvalchemi
