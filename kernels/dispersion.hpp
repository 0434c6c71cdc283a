// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_DISPERSION_HPP
#define NVALCHEMI_KERNELS_DISPERSION_HPP

#include <ATen/core/Tensor.h>

namespace nvalchemi {

/// Two-body DFT-D3 dispersion: S. Grimme, J. Antony, S. Ehrlich, H. Krieg, J. Chem. Phys. 132,
/// 154104 (2010). In two operators, as what the second reads of other atoms is what the first
/// gives: between them a coordination number travels to each halo row.
///
/// `edge_vectors` (edges, 3), float32 or float64, in any unit of length, one bohr being `bohr` of
/// them; `edge_index` (2, edges), int64: receivers, then senders, both rows, in any order, fastest
/// in that of the receivers; `species` (rows,), int64. Tables have the dtype of edge_vectors and
/// are in atomic units, and so are all numbers else. Cutoffs are smoothed over their last bohr by a
/// polynomial of degree 5.
///
/// CPU and CUDA, where kernels are compiled when they are first needed. Can be differentiated once,
/// not with respect to tables. Sums on a GPU are in no fixed order. Throws c10::Error where shapes,
/// dtypes or devices do not fit, for rows and species out of range on the CPU, for second
/// derivatives, and where a GPU's compiler fails. Not collective: rows with all their edges on this
/// rank are complete, rows without edges are zero.

/// Of each row, the sum over its edges of a switched 1 / (1 + exp(-steepness ((R_i + R_j)/r - 1))),
/// `radii` (kinds,): (rows,).
at::Tensor d3_coordination_numbers(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                                   const at::Tensor& species, const at::Tensor& radii,
                                   double steepness, double cutoff, double bohr);

/// Of each row, half of the energy of each of its edges' pairs: (rows,), in Hartree.
/// `coordination_numbers` (rows,): those of all rows, halo rows too. Its gradient has parts of
/// receivers and of senders.
///
/// `c6` (kinds, kinds, 5, 5), 0 where there is no reference system; `reference_cn` (kinds, 5);
/// `has_reference` (kinds, 5), bool; `r2r4` (kinds,); `radius` (kinds, kinds). C6 is the mean of
/// `c6` with weights exp(-steepness (CN - reference_cn)^2) of both atoms, C8/C6 = 3 r2r4 r2r4, and
/// the energy is -(s6 C6 f_6(r) + s8 C8 f_8(r)), where `damping` is
///   empty: f_n = 1 / (r^n + radius^n) (Becke-Johnson)
///   scale6, scale8, shift, alpha: f_n = 1 / (r^n (1 + 6 x_n^-alpha_n)) (zero damping),
///   where x_n = r / (scale_n radius) + shift radius, alpha_6 = alpha, alpha_8 = alpha + 2
at::Tensor d3_energies(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                       const at::Tensor& species, const at::Tensor& coordination_numbers,
                       const at::Tensor& c6, const at::Tensor& reference_cn,
                       const at::Tensor& has_reference, const at::Tensor& r2r4,
                       const at::Tensor& radius, double steepness, double s6, double s8,
                       at::ArrayRef<double> damping, double cutoff, double bohr);

/// The same as steps of autograd.
at::Tensor differentiable_d3_coordination_numbers(const at::Tensor& edge_vectors,
                                                  const at::Tensor& edge_index,
                                                  const at::Tensor& species,
                                                  const at::Tensor& radii, double steepness,
                                                  double cutoff, double bohr);
at::Tensor differentiable_d3_energies(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                                      const at::Tensor& species,
                                      const at::Tensor& coordination_numbers, const at::Tensor& c6,
                                      const at::Tensor& reference_cn,
                                      const at::Tensor& has_reference, const at::Tensor& r2r4,
                                      const at::Tensor& radius, double steepness, double s6,
                                      double s8, at::ArrayRef<double> damping, double cutoff,
                                      double bohr);

}  // namespace nvalchemi

#endif
