// SPDX-License-Identifier: GPL-2.0-only
// The in-memory group as other languages see it.
#include "kernels/run_in_parts.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "kernels/halo_exchange.hpp"
#include "unittest/kernels/expect_contains.hpp"

namespace nvalchemi {
namespace {

/// Three atoms on two ranks, as in decompositions.hpp.
struct Arguments {
    std::array<std::int64_t, 2> n_owned = {2, 1};
    std::array<std::int64_t, 2> n_halo = {1, 2};
    std::array<std::int64_t, 6> sources = {1, 0, 0, 1, 0, 0};
};

struct Result {
    std::string text;
    int failed_rank = 0;
};

Result run(int (*body)(int), const Arguments& arguments = {}) {
    Result result;
    const char* text = nvalchemi_run_in_parts(2, arguments.n_owned.data(), arguments.n_halo.data(),
                                              arguments.sources.data(), body, &result.failed_rank);
    result.text = text == nullptr ? "nothing" : text;
    return result;
}

std::array<std::array<double, 3>, 2> rows_after_forward;

int forward(int rank) {
    std::array<double, 3>& rows = rows_after_forward[static_cast<std::size_t>(rank)];
    rows = rank == 0 ? std::array<double, 3>{1, 2, -1} : std::array<double, 3>{3, -1, -1};
    try {
        current_exchange()->forward({rows.data(), 3, 1, ElementType::Float64, -1});
    } catch (const std::exception&) {
        return 1;
    }
    return 0;
}

TEST(RunInParts, GivesEveryBodyItsExchange) {
    const Result result = run(forward);

    EXPECT_EQ(result.text, "nothing");
    EXPECT_EQ(result.failed_rank, -1);
    EXPECT_EQ(rows_after_forward[0], (std::array<double, 3>{1, 2, 3}));
    EXPECT_EQ(rows_after_forward[1], (std::array<double, 3>{3, 2, 1}));
}

TEST(RunInParts, NamesTheRankWhoseBodyFailedByItself) {
    const Result result = run([](int rank) { return rank == 1 ? 7 : forward(rank); });

    EXPECT_EQ(result.text, "the body of rank 1 failed");
    EXPECT_EQ(result.failed_rank, 1);
}

TEST(RunInParts, RefusesWhatIsNoDecomposition) {
    Arguments arguments;
    arguments.sources[1] = 5;

    const Result result = run(forward, arguments);

    EXPECT_CONTAINS(result.text, "halo row 0 of rank 0: got owner rank 1 row 5");
    EXPECT_EQ(result.failed_rank, -1);
}

}  // namespace
}  // namespace nvalchemi
