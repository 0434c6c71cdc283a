// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_GPU_PROGRAMS_HPP
#define NVALCHEMI_KERNELS_GPU_PROGRAMS_HPP

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "kernels/gpu_program.hpp"

namespace nvalchemi {

/// Programs of one kind, each compiled when it is first asked for and then kept: for a key, a dtype
/// and a device. Any thread may ask.
template <typename Key>
class GpuPrograms {
  public:
    /// That for the dtype, float32 or float64, and the CUDA device of `like`; `source` makes its
    /// text from "float" or "double". Throws as GpuProgram does.
    template <typename Source>
    const GpuProgram& get(const Key& key, const at::Tensor& like, const Source& source) {
        const std::lock_guard<std::mutex> lock(mutex_);
        auto& program = programs_[{key, like.scalar_type(), like.device().index()}];
        if (!program)
            program = std::make_unique<const GpuProgram>(
                source(like.scalar_type() == at::kFloat ? "float" : "double"), like.device());
        return *program;
    }

  private:
    std::mutex mutex_;
    std::map<std::tuple<Key, at::ScalarType, c10::DeviceIndex>, std::unique_ptr<const GpuProgram>>
        programs_;
};

}  // namespace nvalchemi

#endif
