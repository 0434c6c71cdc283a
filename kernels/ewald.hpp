// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_EWALD_HPP
#define NVALCHEMI_KERNELS_EWALD_HPP

#include <ATen/core/Tensor.h>

namespace nvalchemi {

/// Ewald's sum for point charges [1], in units of e^2/Angstrom: the caller multiplies by its
/// Coulomb constant. Everything but the sum in real space is composed of torch's operators: any
/// device, float32 or float64, differentiable with respect to positions, charges, edge vectors and
/// cell. Nothing is collective. Throws c10::Error where shapes do not fit.
///
/// `positions` (rows, 3); `charges` (rows,); `cell` (3, 3), rows are lattice vectors; `setup_cell`
/// (3, 3), the cell that wave vectors were chosen for; `alpha` in 1/Angstrom.
///
/// [1] M. P. Allen, D. J. Tildesley, Computer Simulation of Liquids, 2nd ed., Oxford 2017, ch. 6.

/// Of each row, half of q_i q_j erfc(alpha r) / r for each of its edges: (rows,). Rows of owned
/// atoms are complete, halo rows are zero. Edges in any order, fastest in that of their receivers.
/// One pass over the edges on the CPU and on CUDA, where its kernels are compiled when they are
/// first needed and sums are in no fixed order. On the CPU also throws c10::Error for rows of
/// edge_index that are none of `charges`.
at::Tensor ewald_real_energies(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                               const at::Tensor& charges, double alpha);

/// S(k) = sum_i q_i exp(i k x_i) over the rows given, for k = 2 pi m cell^-T with 0 <= m_1 <= M_1,
/// |m_2| <= M_2, |m_3| <= M_3: (M_1 + 1, 2 M_2 + 1, 2 M_3 + 1, 2), real and imaginary parts. M is
/// the smallest box that holds every k of `setup_cell` with |k| <= k_max. Over owned rows, this
/// rank's part; the term m = 0 is the total charge.
at::Tensor ewald_structure_factors(const at::Tensor& positions, const at::Tensor& charges,
                                   const at::Tensor& cell, const at::Tensor& setup_cell,
                                   double k_max);

/// Each row's part of the energy that is not in real space, (rows,): half of q_i times the
/// potential of all charges' Gaussians, without its own, and with a neutralising background where
/// the total charge is not zero. `factors`: ewald_structure_factors of all atoms. Terms whose k of
/// `setup_cell` is beyond k_max do not count, so that the energy is smooth as the cell changes.
at::Tensor ewald_reciprocal_energies(const at::Tensor& positions, const at::Tensor& charges,
                                     const at::Tensor& cell, const at::Tensor& setup_cell,
                                     const at::Tensor& factors, double alpha, double k_max);

/// Of a slab in an empty box: total charge, dipole along z, and sum of q z^2 of the rows: (3,).
at::Tensor slab_moments(const at::Tensor& positions, const at::Tensor& charges);

/// Each row's part of the energy that takes off the interaction of a slab with its images along z,
/// (rows,). `moments`: slab_moments of all atoms; `cell` with the empty space, its third vector
/// along z. Yeh and Berkowitz, J. Chem. Phys. 111, 3155 (1999); with a net charge, Ballenegger,
/// Arnold and Cerda, J. Chem. Phys. 131, 094107 (2009).
at::Tensor slab_energies(const at::Tensor& positions, const at::Tensor& charges,
                         const at::Tensor& cell, const at::Tensor& moments);

/// What Ewald's and the mesh's sums share: the volume of a cell, a scalar. Not torch's determinant,
/// whose gradient fails for float32 while the default precision is float64.
at::Tensor volume_of(const at::Tensor& cell);

/// What they share too: of each row, the energy of a charge with its own
/// Gaussian and with the neutralising background of the `total` charge, a scalar.
at::Tensor self_and_background_energies(const at::Tensor& charges, const at::Tensor& cell,
                                        const at::Tensor& total, double alpha);

}  // namespace nvalchemi

#endif
