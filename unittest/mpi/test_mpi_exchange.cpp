// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/USER-NVALCHEMI/fault_injection.h"
#include "src/USER-NVALCHEMI/halo_plan.h"
#include "src/USER-NVALCHEMI/mpi_exchange.h"
#include "src/USER-NVALCHEMI/node_share.h"
#include "src/USER-NVALCHEMI/rank_agreement.h"
#include "unittest/mpi/world.hpp"

namespace nvalchemi {
namespace {

using Kind = ExchangeEvent::Kind;

/// Rank r owns r rows (rank 0 none, unless it is alone): unequal parts, one of them empty.
std::int64_t owned_by(int rank) { return ranks_in_world() == 1 ? 3 : rank; }

/// Rank r sees every row of all other ranks, those of its next neighbour twice, and its own first
/// row as an image.
std::vector<GhostHome> ghosts_of(int rank) {
    std::vector<GhostHome> homes;
    const int next = (rank + 1) % ranks_in_world();
    for (int owner = ranks_in_world() - 1; owner >= 0; --owner)
        for (std::int64_t row = 0; owner != rank && row < owned_by(owner); ++row)
            homes.insert(homes.end(), owner == next ? 2 : 1, GhostHome{owner, row});
    if (owned_by(rank) > 0) homes.push_back({rank, 0});
    return homes;
}

HaloRows rows_of_this_rank(bool folded) {
    return build_halo_rows(MPI_COMM_WORLD, owned_by(rank_in_world()), ghosts_of(rank_in_world()),
                           folded);
}

/// A number that tells where a row is owned.
double mark(int rank, std::int64_t row, std::int64_t column) {
    return 100.0 * (rank + 1) + 10.0 * static_cast<double>(row) + static_cast<double>(column);
}

template <typename T>
RowBlock block_of(std::vector<T>& values, std::int64_t rows, std::int64_t width) {
    return {values.data(), rows, width, kElementType<T>, -1};
}

/// An exchange of this rank's rows, with a block whose owned rows hold marks and whose halo rows
/// hold `halo`.
template <typename T>
struct Exchanged {
    explicit Exchanged(bool folded, std::int64_t width, double halo)
        : exchange(MPI_COMM_WORLD), rows(rows_of_this_rank(folded)), width(width) {
        exchange.set_plan(rows.plan);
        values.assign(static_cast<std::size_t>(rows.plan.total_rows * width), T(halo));
        for (std::int64_t row = 0; row < rows.plan.owned_rows; ++row)
            for (std::int64_t column = 0; column < width; ++column)
                at(row, column) = T(mark(rank_in_world(), row, column));
    }
    T& at(std::int64_t row, std::int64_t column) {
        return values[static_cast<std::size_t>(row * width + column)];
    }
    RowBlock block() { return block_of(values, rows.plan.total_rows, width); }

    MpiExchange exchange;
    HaloRows rows;
    std::int64_t width;
    std::vector<T> values;
};

/// Rows of all ranks that copy row `row` of this rank.
int copies_of(std::int64_t row, bool folded) {
    int copies = 0;
    for (int rank = 0; rank < ranks_in_world(); ++rank) {
        const auto homes = ghosts_of(rank);
        const auto seen = std::count_if(homes.begin(), homes.end(), [&](const GhostHome& home) {
            return home.rank == rank_in_world() && home.row == row;
        });
        if (!folded) copies += static_cast<int>(seen);
        if (folded && rank != rank_in_world()) copies += seen > 0;
    }
    return copies;
}

template <typename T>
class MpiExchangeOf : public testing::Test {};
using ElementTypes = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(MpiExchangeOf, ElementTypes);

TYPED_TEST(MpiExchangeOf, ForwardGivesEveryGhostItsOwnersRow) {
    for (const bool folded : {true, false})
        for (const std::int64_t width : {1, 3}) {
            Exchanged<TypeParam> rows(folded, width, -1);
            const auto before = rows.values;

            rows.exchange.forward(rows.block());

            const auto homes = ghosts_of(rank_in_world());
            for (std::size_t k = 0; k < homes.size(); ++k)
                for (std::int64_t column = 0; column < width; ++column)
                    EXPECT_EQ(rows.at(rows.rows.row_of_ghost[k], column),
                              TypeParam(mark(homes[k].rank, homes[k].row, column)));
            const auto owned = owned_by(rank_in_world()) * width;
            EXPECT_TRUE(std::equal(before.begin(), before.begin() + owned, rows.values.begin()));
        }
}

template <typename T>
class FloatingExchangeOf : public testing::Test {};
using FloatingTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(FloatingExchangeOf, FloatingTypes);

TYPED_TEST(FloatingExchangeOf, ReverseAddsEveryCopyToItsOwnerAndZeroesIt) {
    for (const bool folded : {true, false}) {
        Exchanged<TypeParam> rows(folded, 2, 0.5);

        rows.exchange.reverse(rows.block());

        for (std::int64_t row = 0; row < rows.rows.plan.total_rows; ++row)
            for (std::int64_t column = 0; column < 2; ++column) {
                const bool owned = row < rows.rows.plan.owned_rows;
                const double expected =
                    owned ? mark(rank_in_world(), row, column) + 0.5 * copies_of(row, folded) : 0;
                EXPECT_EQ(rows.at(row, column), TypeParam(expected));
            }
    }
}

TYPED_TEST(FloatingExchangeOf, SystemSumAddsOverRanks) {
    Exchanged<TypeParam> rows(true, 1, 0);
    std::vector<TypeParam> values = {TypeParam(rank_in_world()), TypeParam(1)};

    rows.exchange.system_sum(block_of(values, 2, 1));

    const int n = ranks_in_world();
    EXPECT_EQ(values, (std::vector<TypeParam>{TypeParam(n * (n - 1) / 2), TypeParam(n)}));
}

TEST(MpiExchange, ForwardAndReverseAreTransposes) {
    Exchanged<double> x(true, 2, 0.25), y(true, 2, 0.75);
    const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
        double mine = 0, all = 0;
        for (std::size_t k = 0; k < a.size(); ++k) mine += a[k] * b[k];
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return all;
    };
    for (std::size_t k = 0; k < y.values.size(); ++k)
        y.values[k] = static_cast<double>((7 * k + 3) % 11);
    const auto x0 = x.values, y0 = y.values;

    x.exchange.forward(x.block());
    y.exchange.reverse(y.block());

    EXPECT_DOUBLE_EQ(dot(x.values, y0), dot(x0, y.values));
}

TEST(MpiExchange, FoldedRowsHoldOneRowForEachRemoteAtomAndNoneForOwnImages) {
    std::int64_t remote = 0;
    for (int rank = 0; rank < ranks_in_world(); ++rank)
        if (rank != rank_in_world()) remote += owned_by(rank);

    const auto rows = rows_of_this_rank(true);

    EXPECT_EQ(rows.plan.total_rows, owned_by(rank_in_world()) + remote);
    if (owned_by(rank_in_world()) > 0) {
        EXPECT_EQ(rows.row_of_ghost.back(), 0);
    }
}

TEST(MpiExchange, RawRowsHoldOneRowForEachGhost) {
    const auto rows = rows_of_this_rank(false);

    auto sorted = rows.row_of_ghost;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
    EXPECT_EQ(rows.plan.total_rows,
              owned_by(rank_in_world()) + static_cast<std::int64_t>(rows.row_of_ghost.size()));
}

std::string failure_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

TEST(MpiExchange, RefusesIntegersToAdd) {
    Exchanged<std::int64_t> rows(true, 1, 0);

    EXPECT_NE(failure_of([&] { rows.exchange.reverse(rows.block()); }).find("expected float32"),
              std::string::npos);
}

TEST(MpiExchange, RefusesABlockWithAnotherNumberOfRows) {
    Exchanged<double> rows(true, 1, 0);
    auto block = rows.block();
    block.rows += 1;

    EXPECT_NE(failure_of([&] { rows.exchange.forward(block); }).find("(owned and halo rows)"),
              std::string::npos);
}

TEST(MpiExchange, RefusesWaysOfGpusForRowsInHostMemory) {
    MpiExchange exchange(MPI_COMM_WORLD);
    exchange.choose_way(HaloComm::Auto, -1);
    EXPECT_EQ(exchange.transport_name(),
              ranks_in_world() > 1 ? "MPI on host memory, one hop" : "none");
    if (ranks_in_world() == 1) return;
    for (const auto way : {HaloComm::Nccl, HaloComm::MpiDevice})
        EXPECT_EQ(failure_of([&] { exchange.choose_way(way, -1); }),
                  std::string("keyword halo_comm: got ") + halo_comm_name(way) +
                      ", expected auto or mpi, because rank 0: the model runs on the CPU");
}

/// Each rank in a partition of its own: none may take the place of another.
TEST(PlaceOnNode, CountsRanksOutsideOfTheCommunicator) {
    MPI_Comm alone;
    MPI_Comm_split(MPI_COMM_WORLD, rank_in_world(), 0, &alone);
    const NodePlace place = place_on_node(alone);
    MPI_Comm_free(&alone);
    std::vector<int> places(ranks_in_world());
    MPI_Allgather(&place.rank, 1, MPI_INT, places.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::sort(places.begin(), places.end());

    for (int rank = 0; rank < ranks_in_world(); ++rank) EXPECT_EQ(places[rank], rank);
    EXPECT_EQ(place.ranks, ranks_in_world());
    // the MPI may have been told to see no node but the process
    if (std::getenv("MPIR_CVAR_NOLOCAL") == nullptr) {
        EXPECT_EQ(place_on_node(MPI_COMM_WORLD).rank, rank_in_world());
    }
}

TEST(DeviceAt, DealsOutGpusInTurn) {
    EXPECT_EQ(device_at(0, 4, "auto"), "cuda:0");
    EXPECT_EQ(device_at(3, 4, "cuda"), "cuda:3");
    EXPECT_EQ(device_at(5, 4, "cuda"), "cuda:1");
    EXPECT_EQ(device_at(5, 1, "cuda"), "cuda");
    EXPECT_EQ(device_at(1, 4, "cuda:2"), "cuda:2");
    EXPECT_EQ(device_at(1, 4, "cpu"), "cpu");
}

TEST(NcclProblem, NamesARankThatSharesItsGpu) {
    const auto own = "GPU-" + std::to_string(rank_in_world());
    EXPECT_EQ(nccl_problem(MPI_COMM_WORLD, "", own), "");
    const auto shared = nccl_problem(MPI_COMM_WORLD, "", "GPU-0");
    EXPECT_EQ(shared, ranks_in_world() == 1
                          ? ""
                          : "rank 1 shares its GPU with another rank, expected a GPU for each");
    EXPECT_NE(nccl_problem(MPI_COMM_WORLD, "", "").find("has no UUID"), std::string::npos);
}

const std::vector<ExchangeEvent> kSchedule = {
    {Kind::Forward, 3}, {Kind::SystemSum, 2}, {Kind::Reverse, 3}};

/// The calls of kSchedule; rank `failing` throws before call number `at`.
void evaluate(Exchanged<double>& rows, int failing, int at) {
    std::vector<double> sums(2, 1.0);
    const auto fail_at = [&](int call) {
        if (rank_in_world() == failing && call == at) throw std::runtime_error("planted");
    };
    fail_at(0);
    rows.exchange.forward(rows.block());
    fail_at(1);
    rows.exchange.system_sum(block_of(sums, 2, 1));
    fail_at(2);
    rows.exchange.reverse(rows.block());
    fail_at(3);
    rows.exchange.end_evaluation();
}

TEST(MpiExchange, AFailureOnOneRankEndsTheEvaluationOnAll) {
    Exchanged<double> rows(true, 3, 0);
    for (int failing = 0; failing < ranks_in_world(); ++failing)
        for (int at = 0; at <= 3; ++at) {
            RankOutcome outcome;
            rows.exchange.begin_evaluation(kSchedule);
            outcome.failure = failure_of([&] { evaluate(rows, failing, at); });
            outcome.caused_by_peer = rows.exchange.peer_failed();
            if (!outcome.failure.empty()) rows.exchange.finish_poisoned();

            const auto agreed = agree_on_failure(MPI_COMM_WORLD, outcome);

            const auto prefix =
                ranks_in_world() > 1 ? "rank " + std::to_string(failing) + ": " : "";
            EXPECT_EQ(agreed, prefix + "planted") << "rank " << failing << " failed at " << at;
        }
}

TEST(MpiExchange, WorksAgainAfterAFailure) {
    Exchanged<double> rows(true, 3, 0);
    rows.exchange.begin_evaluation(kSchedule);
    const auto failure = failure_of([&] { evaluate(rows, 0, 0); });
    if (!failure.empty()) rows.exchange.finish_poisoned();

    rows.exchange.begin_evaluation(kSchedule);

    EXPECT_EQ(failure_of([&] { evaluate(rows, -1, 0); }), "");
    EXPECT_FALSE(rows.exchange.peer_failed());
}

TYPED_TEST(FloatingExchangeOf, HalvesGiveTheBitsOfTheWhole) {
    for (const bool folded : {true, false})
        for (const auto move : {HaloMove::Forward, HaloMove::Reverse}) {
            Exchanged<TypeParam> whole(folded, 3, 0.1), halves(folded, 3, 0.1);
            if (move == HaloMove::Forward)
                whole.exchange.forward(whole.block());
            else
                whole.exchange.reverse(whole.block());

            halves.exchange.start(move, halves.block());
            const auto meanwhile = halves.values;
            halves.exchange.finish(move, halves.block());

            EXPECT_EQ(halves.values, whole.values);
            // the control: without the second half nothing has come
            std::int64_t received = 0, differs = meanwhile != whole.values;
            for (const auto& message : halves.rows.plan.receive_from) received += message.count;
            if (move == HaloMove::Forward && received > 0) {
                EXPECT_TRUE(differs);
            }
        }
}

/// Rows may go away after the first half: nothing that is under way is in them.
TEST(MpiExchange, AFailureBetweenTheHalvesEndsTheEvaluationOnAll) {
    const std::vector<ExchangeEvent> schedule = {
        {Kind::Forward, 3}, {Kind::SystemSum, 2}, {Kind::Reverse, 3}};
    Exchanged<double> rows(true, 3, 0);
    for (int failing = 0; failing < ranks_in_world(); ++failing)
        for (const auto failing_move : {HaloMove::Forward, HaloMove::Reverse}) {
            const auto halves = [&](HaloMove move) {
                auto values = std::make_unique<std::vector<double>>(rows.values);
                const auto block = block_of(*values, rows.rows.plan.total_rows, 3);
                rows.exchange.start(move, block);
                if (move == failing_move && rank_in_world() == failing) {
                    values.reset();
                    throw std::runtime_error("planted");
                }
                rows.exchange.finish(move, block);
            };
            RankOutcome outcome;
            rows.exchange.begin_evaluation(schedule);
            outcome.failure = failure_of([&] {
                std::vector<double> sums(2, 1.0);
                halves(HaloMove::Forward);
                rows.exchange.system_sum(block_of(sums, 2, 1));
                halves(HaloMove::Reverse);
                rows.exchange.end_evaluation();
            });
            outcome.caused_by_peer = rows.exchange.peer_failed();
            if (!outcome.failure.empty()) rows.exchange.finish_poisoned();

            const auto agreed = agree_on_failure(MPI_COMM_WORLD, outcome);

            const auto prefix =
                ranks_in_world() > 1 ? "rank " + std::to_string(failing) + ": " : "";
            EXPECT_EQ(agreed, prefix + "planted") << "rank " << failing;
            rows.exchange.begin_evaluation(kSchedule);
            EXPECT_EQ(failure_of([&] { evaluate(rows, -1, 0); }), "");
        }
}

TEST(MpiExchange, RefusesAnotherCallBetweenTheHalves) {
    Exchanged<double> rows(true, 3, 0);
    rows.exchange.start(HaloMove::Forward, rows.block());
    const std::string text =
        "exchange: got a forward exchange of width 3 while another is under way, expected its "
        "second half before";
    EXPECT_EQ(failure_of([&] { rows.exchange.forward(rows.block()); }), text);
    EXPECT_EQ(failure_of([&] { rows.exchange.start(HaloMove::Forward, rows.block()); }), text);
    rows.exchange.finish(HaloMove::Forward, rows.block());
    EXPECT_EQ(failure_of([&] { rows.exchange.finish(HaloMove::Forward, rows.block()); }),
              "exchange: got the second half of a call for rows that are not under way, expected "
              "it after the first half, with the same rows");
}

TEST(MpiExchange, RefusesACallThatIsNotInTheSchedule) {
    Exchanged<double> rows(true, 2, 0);
    rows.exchange.begin_evaluation(kSchedule);

    const auto failure = failure_of([&] { rows.exchange.forward(rows.block()); });

    EXPECT_EQ(failure,
              "exchange 1 of the evaluation: got a forward exchange of width 2, expected a "
              "forward exchange of width 3");
    rows.exchange.finish_poisoned();
}

TEST(MpiExchange, RefusesACallInAnotherTypeThanTheSchedule) {
    Exchanged<float> rows(true, 3, 0);
    rows.exchange.begin_evaluation(kSchedule);

    const auto failure = failure_of([&] { rows.exchange.forward(rows.block()); });

    EXPECT_EQ(failure,
              "exchange 1 of the evaluation: got a forward exchange of width 3 in float32, "
              "expected a forward exchange of width 3");
    rows.exchange.finish_poisoned();
}

TEST(MpiExchange, RefusesToEndBeforeAllCallsWereMade) {
    Exchanged<double> rows(true, 3, 0);
    rows.exchange.begin_evaluation(kSchedule);

    const auto failure = failure_of([&] { rows.exchange.end_evaluation(); });

    EXPECT_EQ(failure, "exchange: the model made 0 calls in an evaluation, expected 3");
    rows.exchange.finish_poisoned();
}

/// Whether planted faults change what a forward, a reverse and a correction give on some rank.
bool shows(const std::string& text) {
    const std::vector<ExchangeEvent> schedule = {
        {Kind::Forward, 1}, {Kind::Reverse, 1}, {Kind::Forward, 1}};
    std::vector<std::vector<double>> results;
    for (const auto& planted : {std::string(), text}) {
        setenv("NVALCHEMI_FAULT", planted.c_str(), 1);
        const auto faults = Faults::from_environment();
        Exchanged<double> rows(true, 1, 0);
        for (double& value : rows.values) value += 0.1;  // no float32 holds it
        auto plan = rows.rows.plan;
        plant_in(plan, faults, rows.exchange.rank());
        rows.exchange.set_plan(plan);
        rows.exchange.plant(faults.of_exchange());
        auto& exchange = rows.exchange.for_model();
        rows.exchange.begin_evaluation(schedule);
        std::vector<double> seen;
        exchange.forward(rows.block());
        seen.insert(seen.end(), rows.values.begin(), rows.values.end());
        exchange.reverse(rows.block());
        seen.insert(seen.end(), rows.values.begin(), rows.values.end());
        exchange.forward(rows.block());
        seen.insert(seen.end(), rows.values.begin(), rows.values.end());
        rows.exchange.end_evaluation();
        results.push_back(seen);
    }
    unsetenv("NVALCHEMI_FAULT");
    int differs = results[0] != results[1], differs_anywhere = 0;
    MPI_Allreduce(&differs, &differs_anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return differs_anywhere != 0;
}

TEST(MpiExchange, PlantedFaultsShowInTheseTests) {
    EXPECT_FALSE(shows(""));
    if (ranks_in_world() < 3) return;  // ranks 0 and 1 hold one row between them
    for (const auto* fault :
         {"drop_forward", "drop_later_forward", "forget_last_row", "add_forward", "stale_forward",
          "round_rows", "skip_reverse", "no_zero_reverse", "negate_reverse", "keep_halo_rows",
          "round_reverse", "correct_twice", "wrong_owner", "wrong_last_owner", "swap_rows",
          "drop_forward@1+skip_reverse@0"})
        EXPECT_TRUE(shows(fault)) << fault;
    for (const auto* fault : {"drop_forward#3", "skip_sum", "drop_forward@9"})
        EXPECT_FALSE(shows(fault)) << fault;
}

}  // namespace
}  // namespace nvalchemi
