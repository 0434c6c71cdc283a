// SPDX-License-Identifier: GPL-2.0-only
// main() of the GoogleTest programs that run alone.
#include "unittest/counted_tests.hpp"

int main(int argc, char** argv) {
    nvalchemi::counted::start_tests(argc, argv);
    return nvalchemi::counted::run_tests();
}
