// SPDX-License-Identifier: GPL-2.0-only
// main() of the GoogleTest programs that run under mpiexec: every rank runs the same tests, a
// failure on any rank fails the program, and lines of failing ranks say which rank they are from.

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

#include "unittest/counted_tests.hpp"

namespace {

using nvalchemi::counted::kSkipped;

class FailuresOfThisRank : public testing::EmptyTestEventListener {
  public:
    explicit FailuresOfThisRank(int rank) : rank_(rank) {}

    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (!result.failed()) return;
        std::printf("[Rank %d] %s:%d: %s\n", rank_, result.file_name() ? result.file_name() : "",
                    result.line_number(), result.summary());
        std::fflush(stdout);
    }

  private:
    int rank_;
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    nvalchemi::counted::start_tests(argc, argv, /*reports=*/rank == 0);
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (rank != 0) {
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new FailuresOfThisRank(rank));
    }

    const int status = nvalchemi::counted::run_tests();
    int bad[] = {status != 0 && status != kSkipped, status != kSkipped};
    int bad_anywhere[] = {0, 0};
    MPI_Allreduce(bad, bad_anywhere, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    if (bad_anywhere[0]) return 1;
    return bad_anywhere[1] ? 0 : kSkipped;
}
