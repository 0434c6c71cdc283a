// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_EDGE_SUMS_SOURCE_HPP
#define NVALCHEMI_KERNELS_EDGE_SUMS_SOURCE_HPP

#include <string>

namespace nvalchemi {

/// Threads of a block, and edges that a thread works on.
constexpr int kEdgeSumThreads = 128, kEdgesOfAThread = 8;

/// CUDA C++ of the formulas of edge_formulas.hpp for `scalar` "float" or "double": for each FORMULA
/// kernels sum_FORMULA and gradients_FORMULA, and reference_weights (see edge_sums.hpp for their
/// arguments).
///
/// A warp walks through 32 * kEdgesOfAThread edges in their order, so that what belongs to an edge
/// is read from memory in one piece. As long as all its edges have one receiver it adds in
/// registers, else up to the end of each run of equal receivers; what it has goes to the row with
/// an atomic operation. Edges in the order of their receivers, which the plugin's graphs have, are
/// fast, and any other order is right.
std::string edge_sums_source(const std::string& scalar);

}  // namespace nvalchemi

#endif
