// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_PAIR_POTENTIALS_HPP
#define NVALCHEMI_KERNELS_PAIR_POTENTIALS_HPP

#include <ATen/core/Tensor.h>

#include <tuple>

namespace nvalchemi {

/// Energy (rows,), force (rows, 3) and virial (3, 3) of a pair potential, in the units of its
/// table.
///
/// Each directed edge gives half of its pair's energy, and the whole force of its pair, to the
/// receiver. With all edges of an atom on its owner's rank, rows of owned atoms are complete and
/// halo rows are zero, and the virial, -dE/dstrain, is this rank's part.
using PairSums = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// 4 epsilon ((sigma/r)^12 - (sigma/r)^6) - offset for r < cutoff.
///
/// `edge_vectors` (edges, 3): x[sender] - x[receiver]; `edge_index` (2, edges): receivers, then
/// senders; `species` (rows,); `table` (4, S, S) for S species: epsilon, sigma, cutoff, offset.
/// Any device, float32 or float64, differentiable. Composed of torch's operators, but for a CUDA
/// device where nothing is to be differentiated: one kernel there, see pair_potentials_backend.hpp.
/// Throws c10::Error where shapes do not fit. Not collective.
PairSums lj_energy_forces_virial(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                                 const at::Tensor& species, const at::Tensor& table);

/// A exp(-r/rho) - C/r^6 - offset for r < cutoff; `table` (5, S, S): A, rho, C, cutoff, offset.
PairSums buckingham_energy_forces_virial(const at::Tensor& edge_vectors,
                                         const at::Tensor& edge_index, const at::Tensor& species,
                                         const at::Tensor& table);

/// D (exp(-2 a (r - r0)) - 2 exp(-a (r - r0))) - offset for r < cutoff; `table` (5, S, S):
/// D, a, r0, cutoff, offset.
PairSums morse_energy_forces_virial(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                                    const at::Tensor& species, const at::Tensor& table);

}  // namespace nvalchemi

#endif
