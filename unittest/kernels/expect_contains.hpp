// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_KERNELS_EXPECT_CONTAINS_HPP
#define NVALCHEMI_UNITTEST_KERNELS_EXPECT_CONTAINS_HPP

#include <gtest/gtest.h>

#include <string>

#define EXPECT_CONTAINS(text, part) \
    EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

#endif
