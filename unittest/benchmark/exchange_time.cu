// SPDX-License-Identifier: GPL-2.0-only
// What an exchange of rows between two GPUs costs beside the same bytes sent by NCCL alone:
//
//     mpiexec -n 2 exchange_time [width] [repeats]
//
// Each rank sends `rows` rows of `width` floats (480) to the other. One JSON line for each number
// of rows: microseconds of halo_forward and halo_reverse on each way, of raw NCCL sends and
// receives, and their ratio and difference. Every number is the median of `repeats` (30) that take
// turns.
#include <cuda_runtime.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/USER-NVALCHEMI/mpi_exchange.h"
#include "src/USER-NVALCHEMI/nccl_library.cuh"

namespace {

using namespace nvalchemi;

cudaStream_t stream = nullptr;
int me = 0;

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Microseconds until the stream has done the work; the slowest rank's.
double timed(const std::function<void()>& work) {
    cudaStreamSynchronize(stream);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    work();
    cudaStreamSynchronize(stream);
    double mine = 1e6 * (MPI_Wtime() - start), slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

HaloPlan plan_of(std::int64_t rows) {
    std::vector<GhostHome> homes;
    for (std::int64_t row = 0; row < rows; ++row) homes.push_back({1 - me, 2 * row});
    return build_halo_rows(MPI_COMM_WORLD, 2 * rows, homes, true).plan;
}

struct Raw {
    NcclComm comm = nullptr;
    Raw() {
        NcclId id;
        if (me == 0) check_nccl(nccl_library().get_id(&id), "ncclGetUniqueId");
        MPI_Bcast(&id, sizeof id, MPI_CHAR, 0, MPI_COMM_WORLD);
        check_nccl(nccl_library().join(&comm, 2, id, me), "ncclCommInitRank");
    }
    void send_and_receive(const char* out, char* in, std::size_t bytes) const {
        const auto& nccl = nccl_library();
        nccl.begin_group();
        nccl.send(out, bytes, NCCL_BYTE, 1 - me, comm, stream);
        nccl.receive(in, bytes, NCCL_BYTE, 1 - me, comm, stream);
        nccl.end_group();
    }
};

struct Way {
    const char* name;
    MpiExchange exchange{MPI_COMM_WORLD};
    std::vector<double> forward, reverse;
    Way(const char* word, int gpu) : name(word) {
        exchange.choose_way(parse_halo_comm(word), gpu);
        exchange.use_stream(stream);
    }
};

void measure(std::int64_t rows, std::int64_t width, int repeats, std::vector<Way*>& ways,
             const Raw& raw, int gpu) {
    const auto plan = plan_of(rows);
    const std::size_t bytes = rows * width * sizeof(float);
    char *data = nullptr, *out = nullptr;
    if (cudaMalloc(&data, 3 * bytes) != cudaSuccess || cudaMalloc(&out, 2 * bytes) != cudaSuccess)
        throw std::runtime_error("cudaMalloc failed");
    cudaMemset(data, 0, 3 * bytes);
    const RowBlock block{data, plan.total_rows, width, ElementType::Float32, gpu};
    std::vector<double> plain;
    for (Way* way : ways) {
        way->exchange.set_plan(plan);
        way->forward.clear();
        way->reverse.clear();
    }
    for (int k = -3; k < repeats; ++k) {
        const double bare = timed([&] { raw.send_and_receive(out, out + bytes, bytes); });
        if (k >= 0) plain.push_back(bare);
        for (Way* way : ways) {
            const double forward = timed([&] { way->exchange.forward(block); });
            const double reverse = timed([&] { way->exchange.reverse(block); });
            if (k >= 0) way->forward.push_back(forward);
            if (k >= 0) way->reverse.push_back(reverse);
        }
    }
    if (me == 0) {
        std::printf("{\"rows\": %lld, \"bytes\": %zu, \"raw_us\": %.1f", (long long)rows, bytes,
                    median(plain));
        for (const Way* way : ways)
            std::printf(
                ", \"%s\": {\"forward_us\": %.1f, \"reverse_us\": %.1f, \"raw_over_forward\": "
                "%.3f, \"raw_over_reverse\": %.3f}",
                way->name, median(way->forward), median(way->reverse),
                median(plain) / median(way->forward), median(plain) / median(way->reverse));
        std::printf("}\n");
        std::fflush(stdout);
    }
    cudaFree(data);
    cudaFree(out);
}

}  // namespace

int main(int count, char** arguments) {
    MPI_Init(&count, &arguments);
    int ranks = 1, gpus = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    cudaGetDeviceCount(&gpus);
    if (ranks != 2 || gpus < 2) {
        std::fprintf(stderr, "exchange_time: got %d ranks and %d GPUs, expected 2 and 2\n", ranks,
                     gpus);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    cudaSetDevice(me);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    try {
        const std::int64_t width = count > 1 ? std::atoll(arguments[1]) : 480;
        const int repeats = count > 2 ? std::atoi(arguments[2]) : 30;
        const Raw raw;
        Way nccl("nccl", me), mpi("mpi", me);
        std::vector<Way*> ways{&nccl, &mpi};
        for (const std::int64_t rows : {16, 128, 1000, 4000, 18000, 70000, 200000})
            measure(rows, width, repeats, ways, raw, me);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "exchange_time: rank %d: %s\n", me, problem.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
