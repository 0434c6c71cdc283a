// SPDX-License-Identifier: GPL-2.0-only
// GoogleTest with assertions that are counted. This folder stands before that of GoogleTest where
// headers are searched, so that every #include <gtest/gtest.h> of a test program finds this file.
#ifndef NVALCHEMI_UNITTEST_COUNTED_GTEST_GTEST_H
#define NVALCHEMI_UNITTEST_COUNTED_GTEST_GTEST_H

#pragma GCC system_header  // #include_next is an extension
#include_next <gtest/gtest.h>

namespace nvalchemi::counted {

/// Called by each assertion that is reached; always 0.
int count_assertion() noexcept;

}  // namespace nvalchemi::counted

// Each EXPECT_ and ASSERT_ begins with this macro; what it was does nothing but stand before an
// `if`.
#ifndef GTEST_AMBIGUOUS_ELSE_BLOCKER_
#error "this GoogleTest has no GTEST_AMBIGUOUS_ELSE_BLOCKER_: find another way to count assertions"
#endif
#undef GTEST_AMBIGUOUS_ELSE_BLOCKER_
#define GTEST_AMBIGUOUS_ELSE_BLOCKER_                \
    switch (::nvalchemi::counted::count_assertion()) \
    case 0:                                          \
    default:

#endif
