// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_PAIR_POTENTIALS_SOURCE_HPP
#define NVALCHEMI_KERNELS_PAIR_POTENTIALS_SOURCE_HPP

#include <string>

namespace nvalchemi {

/// Threads of a row in pair_rows: half of a warp.
constexpr int kPairLanes = 16;

enum class PairForm { LennardJones, Buckingham, Morse };

/// CUDA C++ of the sums of a pair potential for `scalar` "float" or "double": kernels find_rows,
/// pair_rows for edges in the order of receivers, and pair_edges for others; the two ask
/// find_rows's answer which of them works.
std::string pair_sums_source(PairForm form, const std::string& scalar);

}  // namespace nvalchemi

#endif
