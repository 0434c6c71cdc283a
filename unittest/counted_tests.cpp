// SPDX-License-Identifier: GPL-2.0-only
#include "unittest/counted_tests.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace nvalchemi::counted {
namespace {

std::atomic<long> assertions = 0;

class EachTestAsserts : public ::testing::EmptyTestEventListener {
  public:
    void OnTestStart(const ::testing::TestInfo& /*test*/) override { assertions = 0; }

    void OnTestEnd(const ::testing::TestInfo& test) override {
        const long count = assertions;
        ::testing::Test::RecordProperty("assertions", std::to_string(count));
        if (count == 0 && test.result()->Passed())
            ADD_FAILURE_AT(test.file(), test.line())
                << test.test_suite_name() << "." << test.name()
                << " asserts nothing: it reached no EXPECT_ and no ASSERT_";
    }
};

}  // namespace

int count_assertion() noexcept {
    ++assertions;
    return 0;
}

void start_tests(int& argc, char** argv, bool reports) {
    const char* report = std::getenv("NVALCHEMI_TEST_REPORT");
    if (report && reports) ::testing::GTEST_FLAG(output) = std::string("xml:") + report;
    unsetenv("NVALCHEMI_TEST_REPORT");  // programs that a test starts are none of the suite
    ::testing::InitGoogleTest(&argc, argv);
    ::testing::UnitTest::GetInstance()->listeners().Append(new EachTestAsserts);
}

int run_tests() {
    const bool failed = RUN_ALL_TESTS() != 0;
    const auto& program = *::testing::UnitTest::GetInstance();
    if (program.test_to_run_count() == 0) {
        std::fprintf(stderr, "this program ran no test: it has none, or the filter leaves none\n");
        return 1;
    }
    if (failed) return 1;
    return program.skipped_test_count() == program.test_to_run_count() ? kSkipped : 0;
}

}  // namespace nvalchemi::counted
