// SPDX-License-Identifier: GPL-2.0-only
#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "kernels/gpu_programs.hpp"
#include "kernels/pair_potentials_backend.hpp"

namespace nvalchemi {

namespace {

constexpr int kPairThreads = 128;
constexpr std::int64_t kMostBlocks = 2048;  // of pair_rows: each has a part of the virial

const GpuProgram& program_of(PairForm form, const at::Tensor& vectors) {
    static GpuPrograms<PairForm> programs;
    return programs.get(form, vectors,
                        [&](const char* scalar) { return pair_sums_source(form, scalar); });
}

std::int64_t blocks_for(std::int64_t threads) {
    return (threads + kPairThreads - 1) / kPairThreads;
}

}  // namespace

PairSums pair_sums_on_gpu(PairForm form, const at::Tensor& edge_vectors,
                          const at::Tensor& edge_index, const at::Tensor& species,
                          const at::Tensor& table) {
    const c10::OptionalDeviceGuard device(edge_vectors.device());
    const auto& program = program_of(form, edge_vectors);
    auto edges = edge_index.size(1), rows = species.size(0), kinds = table.size(1);
    const auto blocks = std::clamp<std::int64_t>(blocks_for(kPairLanes * rows), 1, kMostBlocks);

    const auto ranges = at::zeros({rows, 2}, edge_index.options());
    const auto unsorted = at::zeros({1}, edge_index.options().dtype(at::kInt));
    const auto energies = at::zeros({rows}, edge_vectors.options());
    const auto forces = at::zeros({rows, 3}, edge_vectors.options());
    const auto virials = at::zeros({blocks, 3, 3}, edge_vectors.options().dtype(at::kDouble));

    const auto* vectors = edge_vectors.const_data_ptr();
    const auto* receivers = edge_index.const_data_ptr<std::int64_t>();
    const auto* senders = receivers + edges;
    const auto* kind = species.const_data_ptr();
    const auto* numbers = table.const_data_ptr();
    auto *range = ranges.data_ptr(), *flag = unsorted.data_ptr(), *energy = energies.data_ptr();
    auto *force = forces.data_ptr(), *virial = virials.data_ptr();
    program.launch("find_rows", blocks_for(edges + 1), kPairThreads,
                   {&edges, &receivers, &range, &flag});
    program.launch("pair_rows", blocks, kPairThreads,
                   {&rows, &kinds, &vectors, &senders, &kind, &numbers, &range, &flag, &energy,
                    &force, &virial});
    program.launch("pair_edges", std::min(blocks, blocks_for(edges)), kPairThreads,
                   {&edges, &kinds, &vectors, &receivers, &senders, &kind, &numbers, &flag, &energy,
                    &force, &virial});
    return {energies, forces, virials.sum(0).to(edge_vectors.scalar_type())};
}

}  // namespace nvalchemi
