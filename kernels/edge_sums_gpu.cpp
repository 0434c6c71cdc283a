// SPDX-License-Identifier: GPL-2.0-only
#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "kernels/edge_sums.hpp"
#include "kernels/edge_sums_source.hpp"
#include "kernels/gpu_program.hpp"

namespace nvalchemi {

namespace {

const GpuProgram& program_for(const at::Tensor& like) {
    using Key = std::pair<at::ScalarType, c10::DeviceIndex>;
    static std::mutex mutex;
    static std::map<Key, std::unique_ptr<const GpuProgram>> programs;
    const std::lock_guard<std::mutex> lock(mutex);
    auto& program = programs[{like.scalar_type(), like.device().index()}];
    if (!program) {
        const auto* scalar = like.scalar_type() == at::kFloat ? "float" : "double";
        program = std::make_unique<const GpuProgram>(edge_sums_source(scalar), like.device());
    }
    return *program;
}

}  // namespace

void launch_edge_kernel(const char* name, const at::Tensor& like, std::int64_t threads,
                        std::vector<void*> arguments) {
    program_for(like).launch(name, (threads + kEdgeSumThreads - 1) / kEdgeSumThreads,
                             kEdgeSumThreads, std::move(arguments));
}

}  // namespace nvalchemi
