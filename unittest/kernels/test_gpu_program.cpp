// SPDX-License-Identifier: GPL-2.0-only
// What is said where a text cannot be compiled for a GPU: no compiler, or a compiler that refuses.
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/gpu_program.hpp"
#include "unittest/kernels/expect_contains.hpp"

namespace nvalchemi {
namespace {

TEST(GpuProgram, SaysWhyATextIsNotCompiled) {
    std::string found = "nothing";
    try {
        compile_for_gpu("no program", 9, 0);
    } catch (const c10::Error& error) {
        found = error.what_without_backtrace();
    }

    EXPECT_EQ(found.rfind("kernels for a GPU: ", 0), 0u) << found;
    if (found.find("nvalchemi.cu(1): error: ") != std::string::npos) return;  // it has a compiler
    EXPECT_CONTAINS(found, "(LibTorch's library for compiling CUDA; expected one beside ");
    EXPECT_CONTAINS(found, "libtorch_cpu.so. Install a LibTorch for CUDA that is complete)");
}

}  // namespace
}  // namespace nvalchemi
