# SPDX-License-Identifier: GPL-2.0-only
# GTest::gtest: the system's, else built from NVALCHEMI_GTEST_SOURCE_DIR (src/, include/).

find_package(GTest QUIET)
if(NOT TARGET GTest::gtest)
    if(NOT EXISTS "${NVALCHEMI_GTEST_SOURCE_DIR}/src/gtest-all.cc")
        message(FATAL_ERROR "GoogleTest: not found, and NVALCHEMI_GTEST_SOURCE_DIR is '${NVALCHEMI_GTEST_SOURCE_DIR}', "
            "expected a folder with src/gtest-all.cc. Install it (Debian: libgtest-dev), set the variable, run "
            "unittest/run.sh, which fetches the source, or configure with -DNVALCHEMI_ENABLE_TESTS=OFF.")
    endif()
    find_package(Threads REQUIRED)
    add_library(nvalchemi_gtest STATIC EXCLUDE_FROM_ALL ${NVALCHEMI_GTEST_SOURCE_DIR}/src/gtest-all.cc)
    target_include_directories(nvalchemi_gtest
        SYSTEM PUBLIC ${NVALCHEMI_GTEST_SOURCE_DIR}/include
        PRIVATE ${NVALCHEMI_GTEST_SOURCE_DIR})
    target_compile_options(nvalchemi_gtest PRIVATE -w)  # without our warnings
    target_link_libraries(nvalchemi_gtest PUBLIC Threads::Threads)
    add_library(GTest::gtest ALIAS nvalchemi_gtest)
endif()
