// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/pair_potentials.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "kernels/pair_potentials_backend.hpp"

namespace nvalchemi {

namespace {

/// Energy V and V'(r)/r of each edge, before the cutoff.
using Radial = std::pair<at::Tensor, at::Tensor>;

void check_shapes(const char* name, const at::Tensor& vectors, const at::Tensor& index,
                  const at::Tensor& species, const at::Tensor& table, std::int64_t parameters) {
    TORCH_CHECK(vectors.dim() == 2 && vectors.size(1) == 3, name, ": got edge_vectors of shape ",
                vectors.sizes(), ", expected (edges, 3)");
    TORCH_CHECK(index.dim() == 2 && index.size(0) == 2 && index.size(1) == vectors.size(0), name,
                ": got edge_index of shape ", index.sizes(), ", expected (2, ", vectors.size(0),
                ")");
    TORCH_CHECK(species.dim() == 1, name, ": got species of shape ", species.sizes(),
                ", expected (rows)");
    TORCH_CHECK(table.dim() == 3 && table.size(0) == parameters && table.size(1) == table.size(2),
                name, ": got a table of shape ", table.sizes(), ", expected (", parameters,
                ", species, species)");
}

/// (parameters, edges), or (parameters, 1) where all edges are of one kind.
at::Tensor parameters_of_edges(const at::Tensor& index, const at::Tensor& species,
                               const at::Tensor& table) {
    const auto kinds = table.size(1);
    const auto flat = table.reshape({table.size(0), kinds * kinds});
    if (kinds == 1) return flat;
    const auto of_edge = species.index_select(0, index.select(0, 0)) * kinds +
                         species.index_select(0, index.select(0, 1));
    return flat.index_select(1, of_edge);
}

/// Whether one kernel does it: nothing is to be differentiated, and all is where and what it reads.
bool fits_kernel(const at::Tensor& vectors, const at::Tensor& index, const at::Tensor& species,
                 const at::Tensor& table) {
    const auto dtype = vectors.scalar_type();
    if (!vectors.is_cuda() || (dtype != at::kDouble && dtype != at::kFloat)) return false;
    if (table.scalar_type() != dtype || index.scalar_type() != at::kLong ||
        species.scalar_type() != at::kLong)
        return false;
    for (const auto* other : {&index, &species, &table})
        if (other->device() != vectors.device()) return false;
    return !c10::GradMode::is_enabled() || !(vectors.requires_grad() || table.requires_grad());
}

/// `radial(parameters, r)`; the last two parameters are cutoff and offset.
template <typename Function>
PairSums pair_sums(const char* name, PairForm form, const at::Tensor& vectors,
                   const at::Tensor& index, const at::Tensor& species, const at::Tensor& table,
                   std::int64_t count, const Function& radial) {
    check_shapes(name, vectors, index, species, table, count);
    if (fits_kernel(vectors, index, species, table))
        return pair_sums_on_gpu(form, vectors.contiguous(), index.contiguous(),
                                species.contiguous(), table.contiguous());
    const auto parameters = parameters_of_edges(index, species, table);
    const auto r = vectors.square().sum(1).sqrt();
    const Radial pair = radial(parameters, r);
    const auto inside = r < parameters.select(0, count - 2);
    const auto energy = at::where(inside, pair.first - parameters.select(0, count - 1), 0.0);
    const auto slope = at::where(inside, pair.second, 0.0);
    const auto receiver = index.select(0, 0);
    const auto force = slope.unsqueeze(1) * vectors;
    const auto rows = species.size(0);
    return {vectors.new_zeros({rows}).index_add(0, receiver, 0.5 * energy),
            vectors.new_zeros({rows, 3}).index_add(0, receiver, force),
            -0.5 * vectors.t().matmul(force)};
}

}  // namespace

PairSums lj_energy_forces_virial(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                                 const at::Tensor& species, const at::Tensor& table) {
    return pair_sums(
        "lj_energy_forces_virial", PairForm::LennardJones, edge_vectors, edge_index, species, table,
        4, [](const at::Tensor& p, const at::Tensor& r) -> Radial {
            const auto inverse = 1.0 / r.square();
            const auto x = p.select(0, 1).square() * inverse;
            const auto six = x * x * x;
            const auto four = 4.0 * p.select(0, 0);
            return {four * six * (six - 1.0), four * six * (6.0 - 12.0 * six) * inverse};
        });
}

PairSums buckingham_energy_forces_virial(const at::Tensor& edge_vectors,
                                         const at::Tensor& edge_index, const at::Tensor& species,
                                         const at::Tensor& table) {
    return pair_sums("buckingham_energy_forces_virial", PairForm::Buckingham, edge_vectors,
                     edge_index, species, table, 5,
                     [](const at::Tensor& p, const at::Tensor& r) -> Radial {
                         const auto repulsion = p.select(0, 0) * (-r / p.select(0, 1)).exp();
                         const auto inverse = 1.0 / r.square();
                         const auto attraction = p.select(0, 2) * inverse * inverse * inverse;
                         return {repulsion - attraction,
                                 6.0 * attraction * inverse - repulsion / (p.select(0, 1) * r)};
                     });
}

PairSums morse_energy_forces_virial(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                                    const at::Tensor& species, const at::Tensor& table) {
    return pair_sums("morse_energy_forces_virial", PairForm::Morse, edge_vectors, edge_index,
                     species, table, 5, [](const at::Tensor& p, const at::Tensor& r) -> Radial {
                         const auto decay = (p.select(0, 1) * (p.select(0, 2) - r)).exp();
                         return {p.select(0, 0) * decay * (decay - 2.0),
                                 2.0 * p.select(0, 0) * p.select(0, 1) * decay * (1.0 - decay) / r};
                     });
}

}  // namespace nvalchemi
