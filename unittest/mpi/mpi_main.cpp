// SPDX-License-Identifier: GPL-2.0-only
// main() of the GoogleTest programs that run under mpiexec: every rank runs the same tests, a
// failure on any rank fails the program, and lines of failing ranks say which rank they are from.

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

namespace {

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
    testing::InitGoogleTest(&argc, argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (rank != 0) {
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new FailuresOfThisRank(rank));
    }

    int failed = RUN_ALL_TESTS() != 0;
    int failed_anywhere = 0;
    MPI_Allreduce(&failed, &failed_anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed_anywhere;
}
