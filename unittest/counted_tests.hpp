// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_COUNTED_TESTS_HPP
#define NVALCHEMI_UNITTEST_COUNTED_TESTS_HPP

namespace nvalchemi::counted {

constexpr int kSkipped = 77;  // the exit status that CTest knows

/// In place of testing::InitGoogleTest. With `reports` the cases and the number of their assertions
/// are written to the file that NVALCHEMI_TEST_REPORT names, for unittest/summarize.py.
void start_tests(int& argc, char** argv, bool reports = true);

/// In place of RUN_ALL_TESTS. A test that reaches no assertion fails, and so does a program that
/// runs no test. 0 if all passed, kSkipped if all were skipped, else 1.
int run_tests();

}  // namespace nvalchemi::counted

#endif
