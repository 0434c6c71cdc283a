// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_PARTICLE_MESH_HPP
#define NVALCHEMI_KERNELS_PARTICLE_MESH_HPP

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace nvalchemi {

/// Smooth particle-mesh Ewald: U. Essmann et al., J. Chem. Phys. 103, 8577 (1995). Units, arguments
/// and errors as in ewald.hpp; cardinal B-splines of even `order`, 2 to 12.

/// Charges of the rows spread over a mesh, (K_1, K_2, K_3): over owned rows, this rank's part. K_a
/// is the smallest product of 2, 3 and 5 that is even, at least the order, and leaves mesh points
/// of `setup_cell` at most `spacing` (Angstrom) apart along lattice vector a.
at::Tensor pme_spread(const at::Tensor& positions, const at::Tensor& charges,
                      const at::Tensor& cell, const at::Tensor& setup_cell, double spacing,
                      std::int64_t order);

/// Each row's part of the energy that is not in real space, (rows,), as ewald_reciprocal_energies.
/// `mesh`: pme_spread of all atoms. Two Fourier transforms of the whole mesh, by torch.
at::Tensor pme_reciprocal_energies(const at::Tensor& positions, const at::Tensor& charges,
                                   const at::Tensor& cell, const at::Tensor& mesh, double alpha,
                                   std::int64_t order);

}  // namespace nvalchemi

#endif
