// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/staged_exchange.hpp"

#include "potentials/internal_torch.hpp"

namespace nvalchemi {

namespace {

torch::ScalarType scalar_type(ElementType type) {
    switch (type) {
        case ElementType::Float32: return torch::kFloat32;
        case ElementType::Float64: return torch::kFloat64;
        case ElementType::Int32: return torch::kInt32;
        case ElementType::Int64: break;
    }
    return torch::kInt64;
}

torch::Device device_of(int cuda_device) {
    if (cuda_device < 0) return torch::kCPU;
    return {torch::kCUDA, static_cast<c10::DeviceIndex>(cuda_device)};
}

}  // namespace

void StagedExchange::staged(const RowBlock& block, void (HaloExchange::*call)(const RowBlock&)) {
    if (block.cuda_device == cuda_device_) return (inner_.*call)(block);
    auto rows = torch::from_blob(
        block.data, {block.rows, block.width},
        torch::TensorOptions(scalar_type(block.type)).device(device_of(block.cuda_device)));
    auto there = rows.to(device_of(cuda_device_)).contiguous();
    RowBlock moved = block;
    moved.data = there.data_ptr();
    moved.cuda_device = cuda_device_;
    (inner_.*call)(moved);
    rows.copy_(there);
}

void StagedExchange::forward(const RowBlock& rows) { staged(rows, &HaloExchange::forward); }
void StagedExchange::reverse(const RowBlock& rows) { staged(rows, &HaloExchange::reverse); }
void StagedExchange::system_sum(const RowBlock& values) {
    staged(values, &HaloExchange::system_sum);
}

}  // namespace nvalchemi
