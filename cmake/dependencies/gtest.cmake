# SPDX-License-Identifier: GPL-2.0-only
# GTest::gtest and GTest::gtest_main: the system's, else built from NVALCHEMI_GTEST_SOURCE_DIR (src/, include/).

# Build `source` of GoogleTest's own folder as GTest::<name>, without our warnings.
function(nvalchemi_add_gtest_library name source)
    add_library(nvalchemi_${name} STATIC EXCLUDE_FROM_ALL ${NVALCHEMI_GTEST_SOURCE_DIR}/src/${source})
    target_include_directories(nvalchemi_${name}
        SYSTEM PUBLIC ${NVALCHEMI_GTEST_SOURCE_DIR}/include
        PRIVATE ${NVALCHEMI_GTEST_SOURCE_DIR})
    target_compile_options(nvalchemi_${name} PRIVATE -w)
    target_link_libraries(nvalchemi_${name} PUBLIC ${ARGN})
    add_library(GTest::${name} ALIAS nvalchemi_${name})
endfunction()

find_package(GTest QUIET)
if(NOT TARGET GTest::gtest_main)
    if(NOT EXISTS "${NVALCHEMI_GTEST_SOURCE_DIR}/src/gtest-all.cc")
        message(FATAL_ERROR "GoogleTest: not found, and NVALCHEMI_GTEST_SOURCE_DIR is '${NVALCHEMI_GTEST_SOURCE_DIR}', "
            "expected a folder with src/gtest-all.cc. Install it (Debian: libgtest-dev), set the variable, run "
            "unittest/run.sh, which fetches the source, or configure with -DNVALCHEMI_ENABLE_TESTS=OFF.")
    endif()
    find_package(Threads REQUIRED)
    nvalchemi_add_gtest_library(gtest gtest-all.cc Threads::Threads)
    nvalchemi_add_gtest_library(gtest_main gtest_main.cc nvalchemi_gtest)
endif()
