// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_TENSOR_PRODUCT_SOURCE_HPP
#define NVALCHEMI_KERNELS_TENSOR_PRODUCT_SOURCE_HPP

#include <cstdint>
#include <string>

#include "kernels/tensor_product_plan.hpp"

namespace nvalchemi {

/// Channels that a warp works on, one a lane.
constexpr std::int64_t kChannelsOfAWarp = 32;

/// Warps of a row: all channels of all groups.
std::int64_t warps_of_a_row(const TensorProductPlan& plan);

/// CUDA C++ of a plan with its coefficients as literals, for `scalar` "float" or "double": kernels
/// convolve, edge_gradients and row_gradient (see tensor_product_gpu.cpp for their arguments).
///
/// A warp does one row and 32 channels of one group: it walks through the row's edges with all
/// sums in registers, so that nothing is added by atomic operations.
std::string tensor_product_source(const TensorProductPlan& plan, const std::string& scalar);

}  // namespace nvalchemi

#endif
