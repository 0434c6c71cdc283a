// SPDX-License-Identifier: GPL-2.0-only
// Planted faults for test_summarize.py, which runs these tests one by one (--gtest_filter).
#include <gtest/gtest.h>

TEST(Planted, Asserts) { EXPECT_EQ(1 + 1, 2); }

TEST(Planted, AssertsNothing) {
    for (int number = 0; number < 0; ++number) EXPECT_EQ(number, 0);
}

TEST(Planted, IsSkipped) { GTEST_SKIP() << "for want of a reason"; }

TEST(Planted, DISABLED_IsDisabled) { EXPECT_EQ(1, 2); }
