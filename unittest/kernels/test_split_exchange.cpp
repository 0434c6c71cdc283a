// SPDX-License-Identifier: GPL-2.0-only
// The two halves of halo_forward: values, gradients, what runs between them, misuse.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>
#include <vector>

#include "unittest/kernels/rank_gradients.hpp"

namespace nvalchemi {
namespace {

using test::call;
using test::column;
using test::error_of;
using test::leaf;
using test::on_ranks;
using test::same;
using test::Tensor;
using test::Tensors;

/// Hands calls on and notes them, with what is done between the halves.
class NotedExchange final : public HaloExchange {
  public:
    NotedExchange(HaloExchange& inner, std::vector<std::string>& notes)
        : inner_(inner), notes_(notes) {}
    std::int64_t owned_rows() const override { return inner_.owned_rows(); }
    std::int64_t total_rows() const override { return inner_.total_rows(); }
    int ranks() const override { return inner_.ranks(); }
    void forward(const RowBlock& rows) override { inner_.forward(rows); }
    void reverse(const RowBlock& rows) override { inner_.reverse(rows); }
    void system_sum(const RowBlock& values) override { inner_.system_sum(values); }
    void start(HaloMove move, const RowBlock& rows) override {
        notes_.push_back(move == HaloMove::Forward ? "start forward" : "start reverse");
        inner_.start(move, rows);
    }
    void finish(HaloMove move, const RowBlock& rows) override {
        notes_.push_back(move == HaloMove::Forward ? "finish forward" : "finish reverse");
        inner_.finish(move, rows);
    }

  private:
    HaloExchange& inner_;
    std::vector<std::string>& notes_;
};

thread_local std::vector<std::string>* notes_of_thread = nullptr;

/// x^2, with a note of when its value and its gradient are made.
class NotedSquare : public torch::autograd::Function<NotedSquare> {
  public:
    static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x) {
        context->save_for_backward({x});
        notes_of_thread->emplace_back("value");
        return x * x;
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list gradients) {
        notes_of_thread->emplace_back("gradient");
        return {2 * gradients[0] * context->get_saved_variables()[0]};
    }
};

Tensor split_energy(const Tensor& x) {
    const auto [under_way, token] = call("halo_forward_begin", x, 0 * x.sum());
    const Tensor meanwhile = NotedSquare::apply(x);
    const auto [fresh, last] = call("halo_forward_end", under_way, token);
    return (fresh * fresh * fresh).sum() + meanwhile.sum() + 0 * last;
}

Tensor whole_energy(const Tensor& x) {
    const auto [fresh, last] = call("halo_forward", x, 0 * x.sum());
    return (fresh * fresh * fresh).sum() + NotedSquare::apply(x).sum() + 0 * last;
}

Tensors gradients_of(InMemoryGroup& group, const Tensors& inputs, Tensor (*energy)(const Tensor&),
                     std::vector<std::vector<std::string>>& notes) {
    notes.assign(inputs.size(), {});
    return on_ranks(group, inputs.size(), [&](std::size_t rank) {
        notes_of_thread = &notes[rank];
        NotedExchange noted(*current_exchange(), notes[rank]);
        const ExchangeScope scope(noted);
        const Tensor x = leaf(inputs[rank]);
        return test::gradient(energy(x), x);
    });
}

/// Different on every rank; random_rows() would give the tests after these other numbers.
Tensor numbers(std::int64_t rows, std::size_t rank) {
    return at::sin(at::arange(3 * rows, at::kDouble) * 1.7 + static_cast<double>(rank) + 0.3)
        .reshape({rows, 3});
}

TEST(SplitExchange, HasTheBitsOfTheWholeOneAndWorkBetweenItsHalvesInBothPasses) {
    for (const int ranks : {1, 2, 3, 4}) {
        const auto parts = test::random_decomposition(ranks, 11);
        InMemoryGroup group(parts);
        Tensors inputs;
        for (const auto& part : parts)
            inputs.push_back(
                numbers(part.owned + static_cast<std::int64_t>(part.halo.size()), inputs.size()));
        std::vector<std::vector<std::string>> notes;
        const Tensors whole = gradients_of(group, inputs, whole_energy, notes);
        const Tensors split = gradients_of(group, inputs, split_energy, notes);
        for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
            EXPECT_TRUE(same(split[rank], whole[rank])) << "rank " << rank;
            EXPECT_EQ(notes[rank],
                      (std::vector<std::string>{"start forward", "value", "finish forward",
                                                "start reverse", "gradient", "finish reverse"}));
        }
    }
}

TEST(SplitExchange, WidensOwnedRowsAndGivesTheirGradientBack) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const Tensors inputs = {column({1, 2}), column({3})};
    std::vector<std::vector<std::string>> notes;

    const Tensors split = gradients_of(group, inputs, split_energy, notes);

    // d/dx of x^2 + 2 x^3: each atom is seen on its own rank and on one other
    EXPECT_TRUE(same(split[0], column({8, 28})));
    EXPECT_TRUE(same(split[1], column({60})));
}

TEST(SplitExchange, ResultMayBeChangedInPlace) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const Tensors results = on_ranks(group, 2, [](std::size_t rank) {
        const Tensor x = leaf(rank == 0 ? column({1, 2, 0}) : column({3, 0, 0}));
        const auto [under_way, token] = call("halo_forward_begin", x, 0 * x.sum());
        auto [fresh, last] = call("halo_forward_end", under_way, token);
        fresh.mul_(2);
        return test::gradient(fresh.sum() + 0 * last, x);
    });
    EXPECT_TRUE(same(results[0], column({4, 4, 0})));
    EXPECT_TRUE(same(results[1], column({4, 0, 0})));
}

TEST(SplitExchange, WithoutAnExchangeIsACopy) {
    const Tensor x = column({1, 2, 3});
    const auto [under_way, token] = call("halo_forward_begin", x, column({0})[0]);
    const auto [fresh, last] = call("halo_forward_end", under_way, token);
    EXPECT_TRUE(same(fresh, x));
    EXPECT_NE(fresh.data_ptr(), x.data_ptr());
}

TEST(SplitExchange, RefusesAnotherCallMeanwhile) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const auto begun_twice = [](int, HaloExchange&) {
        const Tensor x = column({1, 2, 3}), token = column({0})[0];
        call("halo_forward_begin", x, token);
        call("halo_forward_begin", x, token);
    };
    EXPECT_CONTAINS(error_of([&] { group.run(begun_twice); }),
                    "start on rank 0: got rows under way, expected their finish before");
    const auto summed = [](int, HaloExchange&) {
        call("halo_forward_begin", column({1, 2, 3}), column({0})[0]);
        call("system_sum", column({1}));
    };
    EXPECT_CONTAINS(error_of([&] { group.run(summed); }),
                    "another call on rank 0: got rows under way, expected their finish before");
    const auto not_begun = [](int, HaloExchange&) {
        call("halo_forward_end", column({1, 2, 3}), column({0})[0]);
    };
    EXPECT_CONTAINS(error_of([&] { group.run(not_begun); }),
                    "finish on rank 0: got rows that are not under way, expected those of the call "
                    "of start before it");
}

TEST(SplitExchange, RefusesToBeDifferentiatedTwice) {
    const Tensor x = leaf(column({1, 2, 3}));
    const auto [under_way, token] = call("halo_forward_begin", x, 0 * x.sum());
    const auto [fresh, last] = call("halo_forward_end", under_way, token);
    const Tensor energy = (fresh * fresh).sum() + 0 * last;
    EXPECT_CONTAINS(error_of([&] { test::gradient(energy, x, /*create_graph=*/true); }),
                    "halo_forward_end: got a gradient that is to be differentiated again, expected "
                    "one that is not");
}

}  // namespace
}  // namespace nvalchemi
