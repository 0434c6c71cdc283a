// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_GPU_PROGRAM_HPP
#define NVALCHEMI_KERNELS_GPU_PROGRAM_HPP

#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

namespace nvalchemi {

/// CUDA C++ that is compiled while the program runs, by the compiler library (NVRTC) of LibTorch.
///
/// So kernels can be written for one model, and this library needs no CUDA to be built and serves
/// LibTorch with and without CUDA. Nothing of CUDA is loaded before the first compilation.
class GpuProgram {
  public:
    /// Compile `source` for `device` (a CUDA device that is in use). Throws c10::Error with the
    /// compiler's words, and where LibTorch has no compiler.
    GpuProgram(const std::string& source, c10::Device device);

    /// Start the `extern "C" __global__` function `name` with `blocks` blocks of `threads` threads
    /// on the current stream of the device; `arguments` are addresses of the arguments. Does not
    /// wait. Zero blocks are no call. Throws c10::Error if the driver refuses.
    void launch(const std::string& name, std::int64_t blocks, int threads,
                std::vector<void*> arguments) const;

  private:
    c10::Device device_;
    void* module_ = nullptr;  // CUmodule; lives as long as the process
};

/// Code of `source` for a GPU of compute capability `major`.`minor`, as the driver loads it.
/// Throws c10::Error with the compiler's words. Needs no GPU.
std::string compile_for_gpu(const std::string& source, int major, int minor);

}  // namespace nvalchemi

#endif
