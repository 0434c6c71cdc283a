// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_PAIR_POTENTIALS_BACKEND_HPP
#define NVALCHEMI_KERNELS_PAIR_POTENTIALS_BACKEND_HPP

#include "kernels/pair_potentials.hpp"
#include "kernels/pair_potentials_source.hpp"

namespace nvalchemi {

/// The sums of pair_potentials.hpp by one kernel on a CUDA device, without gradients; arguments are
/// checked and contiguous, edges in any order. Where they are in the order of receivers, as the
/// plugin's graphs have them, each sum has one order and so the same bits in every run. Does not
/// wait for the GPU. float64 sums for the virial in either precision.
PairSums pair_sums_on_gpu(PairForm form, const at::Tensor& edge_vectors,
                          const at::Tensor& edge_index, const at::Tensor& species,
                          const at::Tensor& table);

}  // namespace nvalchemi

#endif
