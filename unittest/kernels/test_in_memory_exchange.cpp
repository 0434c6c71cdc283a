// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/in_memory_exchange.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "unittest/kernels/decompositions.hpp"
#include "unittest/kernels/expect_contains.hpp"

namespace nvalchemi {
namespace {

using Kind = ExchangeEvent::Kind;
using Columns = std::vector<std::vector<double>>;

RowBlock block_of(std::vector<double>& values, std::int64_t rows, std::int64_t width = 1) {
    return {values.data(), rows, width, ElementType::Float64, -1};
}

RowBlock column_of(std::vector<double>& values) {
    return block_of(values, static_cast<std::int64_t>(values.size()));
}

/// Text that run() throws, or "nothing".
std::string failure_of(InMemoryGroup& group, const std::function<void(int, HaloExchange&)>& body) {
    try {
        group.run(body);
    } catch (const std::exception& error) {
        return error.what();
    }
    return "nothing";
}

TEST(InMemoryExchange, ForwardOverwritesHaloRowsOnly) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    Columns rows = {{1, 2, -9}, {3, -9, -9}};

    group.run([&](int rank, HaloExchange& exchange) {
        exchange.forward(column_of(rows[static_cast<std::size_t>(rank)]));
    });

    EXPECT_EQ(rows, (Columns{{1, 2, 3}, {3, 2, 1}}));
}

TEST(InMemoryExchange, ReverseAddsToOwnersAndZeroesHaloRows) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    Columns rows = {{1, 2, 30}, {3, 20, 10}};

    group.run([&](int rank, HaloExchange& exchange) {
        exchange.reverse(column_of(rows[static_cast<std::size_t>(rank)]));
    });

    EXPECT_EQ(rows, (Columns{{11, 22, 0}, {33, 0, 0}}));
}

TEST(InMemoryExchange, ReverseAddsAllImagesOfOneAtomAndImagesOfOwnAtoms) {
    // rank 0: a | a' a' b'    rank 1: b | b'
    InMemoryGroup group({{1, {{0, 0}, {0, 0}, {1, 0}}}, {1, {{1, 0}}}});
    Columns rows = {{1, 10, 100, 5}, {2, 50}};

    group.run([&](int rank, HaloExchange& exchange) {
        exchange.reverse(column_of(rows[static_cast<std::size_t>(rank)]));
    });

    EXPECT_EQ(rows, (Columns{{111, 0, 0, 0}, {57, 0}}));
}

TEST(InMemoryExchange, ReverseAddsInRankOrderThenRowOrder) {
    // 1 + 1e16 - 1e16 is 0 in this order and 1 in any order that cancels first.
    InMemoryGroup group({{1, {{0, 0}}}, {0, {{0, 0}}}});
    for (int repeat = 0; repeat < 50; ++repeat) {
        Columns rows = {{1, 1e16}, {-1e16}};

        group.run([&](int rank, HaloExchange& exchange) {
            exchange.reverse(column_of(rows[static_cast<std::size_t>(rank)]));
        });

        ASSERT_EQ(rows[0][0], 0.0);
    }
}

TEST(InMemoryExchange, SystemSumGivesTheSameBitsToEveryRank) {
    InMemoryGroup group(std::vector<RankRows>(3));
    Columns values = {{1, 1e16}, {2, 1}, {3, -1e16}};

    group.run([&](int rank, HaloExchange& exchange) {
        exchange.system_sum(block_of(values[static_cast<std::size_t>(rank)], 1, 2));
    });

    EXPECT_EQ(values, (Columns{{6, 0}, {6, 0}, {6, 0}}));
}

TEST(InMemoryExchange, ReportsRowsAndRanks) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());

    group.run([](int rank, HaloExchange& exchange) {
        EXPECT_EQ(exchange.owned_rows(), rank == 0 ? 2 : 1);
        EXPECT_EQ(exchange.total_rows(), 3);
        EXPECT_EQ(exchange.ranks(), 2);
    });
}

TEST(InMemoryExchange, RecordsTheCallsOfTheLastRun) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    std::vector<ExchangeEvent> expected = {{Kind::Forward, 2}, {Kind::SystemSum, 6}};
    const auto body = [](int, HaloExchange& exchange) {
        std::vector<double> rows(6);
        exchange.forward(block_of(rows, 3, 2));
        exchange.system_sum(block_of(rows, 3, 2));
    };

    group.run(body);
    group.run(body);

    EXPECT_EQ(group.events(0), expected);
    EXPECT_EQ(group.events(1), expected);
}

TEST(InMemoryExchange, OpensAScopeOnEveryThread) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());

    group.run([](int, HaloExchange& exchange) { EXPECT_EQ(current_exchange(), &exchange); });

    EXPECT_EQ(current_exchange(), nullptr);
}

TEST(InMemoryExchange, DifferentKindsEndEveryRankNamingBothCalls) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    std::atomic<int> thrown = 0;

    const std::string failure = failure_of(group, [&](int rank, HaloExchange& exchange) {
        std::vector<double> rows(3);
        try {
            rank == 0 ? exchange.forward(column_of(rows)) : exchange.reverse(column_of(rows));
        } catch (...) {
            ++thrown;
            throw;
        }
    });

    EXPECT_CONTAINS(failure, "rank 0 calls forward(width 1, float64)");
    EXPECT_CONTAINS(failure, "rank 1 calls reverse(width 1, float64)");
    EXPECT_CONTAINS(failure, "every rank must issue the same exchanges");
    EXPECT_EQ(thrown, 2);
}

TEST(InMemoryExchange, DifferentWidthsAndTypesAreErrors) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());

    const std::string widths = failure_of(group, [](int rank, HaloExchange& exchange) {
        std::vector<double> rows(6);
        exchange.forward(block_of(rows, 3, 1 + rank));
    });
    const std::string types = failure_of(group, [](int rank, HaloExchange& exchange) {
        std::vector<double> rows(3);
        RowBlock block = column_of(rows);
        if (rank == 1) block.type = ElementType::Int64;
        exchange.forward(block);
    });

    EXPECT_CONTAINS(widths, "forward(width 2, float64)");
    EXPECT_CONTAINS(types, "forward(width 1, int64)");
}

TEST(InMemoryExchange, AFailedRankEndsThoseThatWaitAndItsErrorIsRethrown) {
    InMemoryGroup group(std::vector<RankRows>(3));
    std::atomic<int> ended = 0;
    const auto body = [&](int rank, HaloExchange& exchange) {
        if (rank == 2) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            throw std::domain_error("model broke");
        }
        std::vector<double> value(1);
        try {
            exchange.system_sum(column_of(value));
        } catch (const std::exception& error) {
            ++ended;
            EXPECT_CONTAINS(error.what(), "rank 2 failed (model broke) while rank");
            // Layers in between may change the type: still not this rank's own failure.
            throw std::logic_error("wrapped");
        }
    };

    EXPECT_THROW(group.run(body), std::domain_error);
    EXPECT_EQ(ended, 2);
}

TEST(InMemoryExchange, ARankThatReturnsEarlyEndsThoseThatWait) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    const auto returns_first = [](bool first) {
        return [first](int rank, HaloExchange& exchange) {
            std::vector<double> rows(3);
            if (rank == 1 && !first) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (rank == 1) return;
            if (first) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            exchange.forward(column_of(rows));
        };
    };

    for (const bool first : {true, false}) {
        EXPECT_CONTAINS(failure_of(group, returns_first(first)),
                        "rank 1 returned while rank 0 calls forward(width 1, float64)");
    }
}

TEST(InMemoryExchange, TheLowestRankThatFailedByItselfIsReported) {
    InMemoryGroup group(std::vector<RankRows>(3));

    const std::string failure = failure_of(group, [](int rank, HaloExchange&) {
        if (rank > 0) throw std::runtime_error("rank " + std::to_string(rank));
    });

    EXPECT_EQ(failure, "rank 1");
}

TEST(InMemoryExchange, RunsAgainAfterAFailure) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    EXPECT_NE(failure_of(group, [](int, HaloExchange&) { throw std::runtime_error("once"); }),
              "nothing");

    group.run([](int, HaloExchange& exchange) {
        std::vector<double> rows(3);
        exchange.forward(column_of(rows));
    });

    EXPECT_EQ(group.events(0).size(), 1U);
}

TEST(InMemoryExchange, RefusesBlocksThatItCannotMove) {
    InMemoryGroup group(std::vector<RankRows>{{2, {}}});
    std::vector<double> rows(3);
    RowBlock integers = block_of(rows, 2);
    integers.type = ElementType::Int64;
    RowBlock on_device = block_of(rows, 2);
    on_device.cuda_device = 1;
    const auto call = [&](void (HaloExchange::*method)(const RowBlock&), RowBlock block) {
        return failure_of(group, [=](int, HaloExchange& exchange) { (exchange.*method)(block); });
    };

    EXPECT_CONTAINS(call(&HaloExchange::forward, block_of(rows, 3)),
                    "forward on rank 0: got 3 rows, expected 2 rows (owned and halo)");
    EXPECT_CONTAINS(call(&HaloExchange::reverse, block_of(rows, 1)),
                    "reverse on rank 0: got 1 rows");
    EXPECT_CONTAINS(call(&HaloExchange::reverse, integers),
                    "got integers, expected float32 or float64");
    EXPECT_CONTAINS(call(&HaloExchange::system_sum, integers),
                    "system_sum on rank 0: got integers");
    EXPECT_CONTAINS(call(&HaloExchange::forward, on_device),
                    "got rows on CUDA device 1, expected host memory");
    EXPECT_CONTAINS(call(&HaloExchange::system_sum, on_device), "got rows on CUDA device 1");
}

TEST(InMemoryExchange, RefusesHaloRowsWithoutOwner) {
    const auto failure = [](std::vector<RankRows> ranks) -> std::string {
        try {
            InMemoryGroup group(std::move(ranks));
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "nothing";
    };

    EXPECT_EQ(failure({{1, {{0, 1}}}}),
              "InMemoryGroup: halo row 0 of rank 0: got owner rank 0 row 1, expected an owned row "
              "of one of 1 ranks");
    EXPECT_CONTAINS(failure({{1, {{0, -1}}}}), "got owner rank 0 row -1");
    EXPECT_CONTAINS(failure({{1, {{1, 0}}}}), "got owner rank 1 row 0");
    EXPECT_CONTAINS(failure({{1, {{-1, 0}}}}), "got owner rank -1 row 0");
    EXPECT_CONTAINS(failure({{-1, {}}}), "rank 0: got -1 owned rows, expected 0 or more");
    EXPECT_CONTAINS(failure({}), "got 0 ranks, expected at least 1");
}

TEST(ExchangeScope, NestsAndRestores) {
    SerialExchange outer(1);
    SerialExchange inner(2);

    {
        const ExchangeScope outer_scope(outer);
        {
            const ExchangeScope inner_scope(inner);
            EXPECT_EQ(current_exchange(), &inner);
        }
        EXPECT_EQ(current_exchange(), &outer);
        std::thread([] { EXPECT_EQ(current_exchange(), nullptr); }).join();
    }

    EXPECT_EQ(current_exchange(), nullptr);
}

}  // namespace
}  // namespace nvalchemi
