// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_COLLECTIVE_HPP
#define NVALCHEMI_KERNELS_COLLECTIVE_HPP

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace nvalchemi {

/// The linear maps on the tuple of all ranks' tensors that operators apply.
enum class Collective {
    HaloForward,  ///< A   = [[I, 0], [G, 0]]: halo rows := their owners' rows
    HaloReverse,  ///< A^T = [[I, G^T], [0, 0]]: owned rows += their halo rows, which become 0
    HaloCorrect,  ///< A A^T: reverse, then forward; symmetric, not idempotent
    SystemSum,    ///< every rank gets the sum over ranks; symmetric
};

/// The collective that is the transpose of `collective`, which its backward pass applies.
Collective transpose(Collective collective);

/// Name of the operator without its namespace.
const char* operator_name(Collective collective);

/// Row counts that operators see on this thread.
struct RowCounts {
    std::int64_t owned = 0;
    std::int64_t total = 0;
};

/// Counts of the current exchange; without one, all rows of `rows` are owned. Throws c10::Error
/// unless `rows` is (total, *) or, where `accepts_owned_only`, (owned, *).
RowCounts check_rows(const at::Tensor& rows, bool accepts_owned_only, const char* operator_name);

/// Throws c10::Error unless `collective` moves elements of this type on this device.
void check_movable(const at::Tensor& tensor, Collective collective, const char* operator_name);

/// Apply `collective` to a tensor of this rank, without gradient. Collective over all ranks of the
/// current exchange; without one, this process is the only rank and has no halo rows.
///
/// The result is always a new contiguous tensor, also where nothing moves: if it shared memory with
/// the input there, an in-place operation on it would change the input on one rank but not on two.
at::Tensor apply_collective(Collective collective, const at::Tensor& input);

/// The first half of HaloForward or HaloReverse: the rows under way, which are nobody else's until
/// finish_collective() has been called with them. Collective, as is the second half.
at::Tensor start_collective(Collective collective, const at::Tensor& input);
void finish_collective(Collective collective, const at::Tensor& under_way);

}  // namespace nvalchemi

#endif
