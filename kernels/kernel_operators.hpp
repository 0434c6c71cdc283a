// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_KERNEL_OPERATORS_HPP
#define NVALCHEMI_KERNELS_KERNEL_OPERATORS_HPP

#include <torch/library.h>

#include <string>

#include "kernels/export.hpp"

namespace nvalchemi {

/// Define and implement the operators of namespace nvalchemi_lmp that compute physics: pair
/// potentials and sums over a lattice. They communicate nothing; a model that calls one says with
/// an adapter of its distribution spec what the operator needs in parts.
void define_kernel_operators(torch::Library& library);

/// Whether `name` ("nvalchemi_lmp::lj_energy_forces_virial") is one of them.
NVALCHEMI_KERNELS_EXPORT bool is_kernel_operator(const std::string& name);

}  // namespace nvalchemi

#endif
