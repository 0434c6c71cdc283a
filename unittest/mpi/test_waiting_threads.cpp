// SPDX-License-Identifier: GPL-2.0-only
// How OpenMP's threads wait, told to a runtime before it is loaded: it says itself what it has
// read.

#include "waiting_threads.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <cstdlib>
#include <string>

namespace {

constexpr char SLEEPS[] = "GOMP_SPINCOUNT = '0'";
constexpr char POLICY[] = "OMP_WAIT_POLICY";

/* ---------------------------------------------------------------------- */

[[noreturn]] void load_a_runtime_that_tells() {
    setenv("OMP_DISPLAY_ENV", "verbose", 1);
    std::exit(dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL) ? 0 : 1);
}

/* ---------------------------------------------------------------------- */

class WaitingThreads : public testing::Test {
  protected:
    void SetUp() override {
        unsetenv(POLICY);
        unsetenv("GOMP_SPINCOUNT");
    }
    void TearDown() override { SetUp(); }
};

/* ---------------------------------------------------------------------- */

TEST_F(WaitingThreads, sleep_in_a_runtime_that_is_loaded_later) {
    const auto started_so = [] {
        nvalchemi::let_threads_sleep();
        load_a_runtime_that_tells();
    };
    EXPECT_EXIT(started_so(), testing::ExitedWithCode(0), SLEEPS);
}

/* ---------------------------------------------------------------------- */

TEST_F(WaitingThreads, spin_by_default) {
    EXPECT_EXIT(load_a_runtime_that_tells(), testing::ExitedWithCode(0), "GOMP_SPINCOUNT = '[1-9]");
}

/* ---------------------------------------------------------------------- */

TEST_F(WaitingThreads, wait_as_the_user_says) {
    for (const auto& [name, value] : {std::pair(POLICY, "active"), {"GOMP_SPINCOUNT", "7"}}) {
        SetUp();
        setenv(name, value, 1);
        nvalchemi::let_threads_sleep();
        EXPECT_STREQ(std::getenv(name), value);
        EXPECT_EQ(std::getenv(POLICY) != nullptr, std::string(name) == POLICY);
        EXPECT_EQ(nvalchemi::describe_waiting(2), "");
    }
}

/* ---------------------------------------------------------------------- */

TEST_F(WaitingThreads, are_not_said_to_sleep_where_a_runtime_was_there_before) {
    const auto too_late = [] {
        if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL)) std::exit(1);
        nvalchemi::let_threads_sleep();
        std::exit(std::getenv(POLICY) ? 2 : 0);
    };
    EXPECT_EXIT(too_late(), testing::ExitedWithCode(0), "");
}

/* ---------------------------------------------------------------------- */

TEST_F(WaitingThreads, are_described_where_they_spin) {
    EXPECT_EQ(nvalchemi::describe_waiting(1), "");
    EXPECT_EQ(
        nvalchemi::describe_waiting(2),
        "  threads that wait keep their cores busy; if other work needs these, start LAMMPS with "
        "OMP_WAIT_POLICY=passive\n");
}

}  // namespace
