// SPDX-License-Identifier: GPL-2.0-only
// main() of the GoogleTest programs that run alone.
#include "unittest/counted_tests.hpp"

int main(int argc, char** argv) {
    nvalchemi::testing::start_tests(argc, argv);
    return nvalchemi::testing::run_tests();
}
