// SPDX-License-Identifier: GPL-2.0-only
// Rows in GPU memory, on every way that this machine offers: the same bits as rows in host memory.
// Needs a GPU; with NCCL one for each rank.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/USER-NVALCHEMI/mpi_exchange.h"
#include "src/USER-NVALCHEMI/rank_agreement.h"
#include "unittest/mpi/world.hpp"

namespace nvalchemi {
namespace {

using Kind = ExchangeEvent::Kind;

int gpu_of_this_rank() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return -1;
    return rank_in_world() % count;
}

/// Unequal parts; rank 0 owns nothing unless it is alone.
std::int64_t owned_by(int rank) { return ranks_in_world() == 1 ? 7 : 5 * rank; }

HaloPlan plan_of(bool folded) {
    std::vector<GhostHome> homes;
    const int me = rank_in_world();
    for (int owner = ranks_in_world() - 1; owner >= 0; --owner)
        for (std::int64_t row = owned_by(owner) - 1; row >= 0; --row)
            if (owner != me || row % 2 == 0) homes.push_back({owner, row});
    return build_halo_rows(MPI_COMM_WORLD, owned_by(me), homes, folded).plan;
}

/// Bytes of `rows * width` elements that are different everywhere and sum without overflow.
template <typename T>
std::vector<T> numbers(std::int64_t rows, std::int64_t width) {
    std::vector<T> values(rows * width);
    for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = static_cast<T>(1.0 / (k + 3.0 + 17.0 * rank_in_world()) * 1e3);
    return values;
}

using Work = std::function<void(MpiExchange&, const RowBlock&)>;

void forward(MpiExchange& exchange, const RowBlock& rows) { exchange.forward(rows); }
void reverse(MpiExchange& exchange, const RowBlock& rows) { exchange.reverse(rows); }
void correct(MpiExchange& exchange, const RowBlock& rows) {
    exchange.reverse(rows);
    exchange.forward(rows);
}

template <HaloMove move>
void halves(MpiExchange& exchange, const RowBlock& rows) {
    exchange.start(move, rows);
    exchange.finish(move, rows);
}

template <typename T>
std::vector<T> on_host(const HaloPlan& plan, std::int64_t width, const Work& work) {
    auto values = numbers<T>(plan.total_rows, width);
    MpiExchange exchange(MPI_COMM_WORLD);
    exchange.set_plan(plan);
    work(exchange, {values.data(), plan.total_rows, width, kElementType<T>, -1});
    return values;
}

/// One exchange for each way: joining GPUs takes seconds.
MpiExchange& exchange_of(HaloComm way) {
    static std::map<HaloComm, std::unique_ptr<MpiExchange>> exchanges;
    auto& exchange = exchanges[way];
    if (!exchange) {
        exchange = std::make_unique<MpiExchange>(MPI_COMM_WORLD);
        exchange->choose_way(way, gpu_of_this_rank());
    }
    return *exchange;
}

template <typename T>
std::vector<T> on_gpu(const HaloPlan& plan, std::int64_t width, const Work& work, HaloComm way) {
    const int gpu = gpu_of_this_rank();
    cudaSetDevice(gpu);
    auto values = numbers<T>(plan.total_rows, width);
    const std::size_t bytes = values.size() * sizeof(T);
    void* data = nullptr;
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaMalloc(&data, bytes + 1), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    cudaMemcpy(data, values.data(), bytes, cudaMemcpyHostToDevice);
    MpiExchange& exchange = exchange_of(way);
    exchange.use_stream(stream);
    exchange.set_plan(plan);
    work(exchange, {data, plan.total_rows, width, kElementType<T>, gpu});
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    cudaMemcpy(values.data(), data, bytes, cudaMemcpyDeviceToHost);
    cudaStreamDestroy(stream);
    cudaFree(data);
    return values;
}

std::vector<HaloComm> find_ways() {
    std::vector<HaloComm> possible{HaloComm::Mpi};
    for (const auto way : {HaloComm::MpiDevice, HaloComm::Nccl}) {
        try {
            exchange_of(way);
            possible.push_back(way);
        } catch (const std::exception& refusal) {
            if (rank_in_world() == 0) std::printf("not tested: %s\n", refusal.what());
        }
    }
    return possible;
}

/// The ways that can be gone here; the same on all ranks.
const std::vector<HaloComm>& ways() {
    static const auto possible = find_ways();
    return possible;
}

template <typename T>
void expect_same_bits(const Work& work) {
    for (const auto way : ways())
        for (const bool folded : {true, false})
            for (const std::int64_t width : {1, 3, 4, 480}) {
                const auto plan = plan_of(folded);
                const auto expected = on_host<T>(plan, width, work);
                const auto found = on_gpu<T>(plan, width, work, way);
                ASSERT_EQ(found.size(), expected.size());
                EXPECT_TRUE(found.empty() || std::memcmp(found.data(), expected.data(),
                                                         found.size() * sizeof(T)) == 0)
                    << halo_comm_name(way) << ", width " << width << ", folded " << folded;
            }
}

class GpuExchange : public ::testing::Test {
  protected:
    void SetUp() override {
        if (gpu_of_this_rank() < 0) GTEST_SKIP() << "no GPU";
    }
};

TEST_F(GpuExchange, ForwardMovesTheBitsOfTheHost) {
    expect_same_bits<double>(forward);
    expect_same_bits<float>(forward);
    expect_same_bits<std::int64_t>(forward);
    expect_same_bits<std::int32_t>(forward);
}

TEST_F(GpuExchange, ReverseSumsTheBitsOfTheHost) {
    expect_same_bits<double>(reverse);
    expect_same_bits<float>(reverse);
}

TEST_F(GpuExchange, CorrectionGivesTheBitsOfTheHost) {
    expect_same_bits<double>(correct);
    expect_same_bits<float>(correct);
}

TEST_F(GpuExchange, HalvesMoveAndSumTheBitsOfTheHost) {
    expect_same_bits<double>(halves<HaloMove::Forward>);
    expect_same_bits<float>(halves<HaloMove::Forward>);
    expect_same_bits<std::int64_t>(halves<HaloMove::Forward>);
    expect_same_bits<double>(halves<HaloMove::Reverse>);
    expect_same_bits<float>(halves<HaloMove::Reverse>);
    // what is in the stream before the first half comes before it, what follows the second after it
    const Work both = [](MpiExchange& exchange, const RowBlock& rows) {
        halves<HaloMove::Reverse>(exchange, rows);
        halves<HaloMove::Forward>(exchange, rows);
        exchange.reverse(rows);
        halves<HaloMove::Forward>(exchange, rows);
    };
    expect_same_bits<double>(both);
    expect_same_bits<float>(both);
}

/// The comparison sees an exchange that did not take place.
TEST_F(GpuExchange, ControlSeesAMissingExchange) {
    const auto plan = plan_of(false);
    const auto expected = on_host<double>(plan, 3, forward);
    const auto found = on_gpu<double>(
        plan, 3, [](MpiExchange&, const RowBlock&) {}, HaloComm::Mpi);
    EXPECT_TRUE(plan.total_rows == plan.owned_rows || found != expected);
}

TEST_F(GpuExchange, AFailureOnOneRankEndsTheEvaluationOnAll) {
    const std::vector<ExchangeEvent> schedule{{Kind::Forward, 4, ElementType::Float32},
                                              {Kind::Reverse, 4, ElementType::Float32}};
    const auto plan = plan_of(true);
    for (const auto way : ways())
        for (int choice = 0; choice < 2 * ranks_in_world(); ++choice) {
            const int failing = choice / 2;
            const bool in_between = choice % 2 == 1;  // the two halves of the first exchange
            const auto work = [&](MpiExchange& exchange, const RowBlock& rows) {
                RankOutcome outcome;
                exchange.begin_evaluation(schedule);
                try {
                    exchange.start(HaloMove::Forward, rows);
                    if (in_between && rank_in_world() == failing)
                        throw std::runtime_error("planted");
                    exchange.finish(HaloMove::Forward, rows);
                    if (rank_in_world() == failing) throw std::runtime_error("planted");
                    exchange.reverse(rows);
                    exchange.end_evaluation();
                } catch (const std::exception& problem) {
                    outcome.failure = problem.what();
                    outcome.caused_by_peer = exchange.peer_failed();
                    exchange.finish_poisoned();
                }
                const auto agreed = agree_on_failure(MPI_COMM_WORLD, outcome);
                EXPECT_NE(agreed.find("planted"), std::string::npos) << halo_comm_name(way);
            };
            on_gpu<float>(plan, 4, work, way);
        }
}

TEST_F(GpuExchange, TwoRanksOnOneGpuAreNotLinked) {
    if (ranks_in_world() == 1) GTEST_SKIP() << "one rank";
    MpiExchange exchange(MPI_COMM_WORLD);
    std::string refusal;
    try {
        exchange.choose_way(HaloComm::Nccl, 0);
    } catch (const std::exception& error) {
        refusal = error.what();
    }
    EXPECT_NE(refusal.find("rank 1 shares its GPU with another rank"), std::string::npos)
        << refusal;
    exchange.choose_way(HaloComm::Auto, 0);
    EXPECT_EQ(exchange.transport_name().find("NCCL"), std::string::npos);
}

}  // namespace
}  // namespace nvalchemi
