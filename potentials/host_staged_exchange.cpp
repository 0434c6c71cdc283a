// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/host_staged_exchange.hpp"

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

}  // namespace

void HostStagedExchange::through_host(const RowBlock& block,
                                      void (HaloExchange::*call)(const RowBlock&)) {
    if (block.cuda_device < 0) return (inner_.*call)(block);
    const torch::Device device(torch::kCUDA, static_cast<c10::DeviceIndex>(block.cuda_device));
    auto rows = torch::from_blob(block.data, {block.rows, block.width},
                                 torch::TensorOptions(scalar_type(block.type)).device(device));
    auto host = rows.to(torch::kCPU).contiguous();
    RowBlock staged = block;
    staged.data = host.data_ptr();
    staged.cuda_device = -1;
    (inner_.*call)(staged);
    rows.copy_(host);
}

void HostStagedExchange::forward(const RowBlock& rows) {
    through_host(rows, &HaloExchange::forward);
}
void HostStagedExchange::reverse(const RowBlock& rows) {
    through_host(rows, &HaloExchange::reverse);
}
void HostStagedExchange::system_sum(const RowBlock& values) {
    through_host(values, &HaloExchange::system_sum);
}

}  // namespace nvalchemi
