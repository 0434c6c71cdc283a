// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_RUN_IN_PARTS_HPP
#define NVALCHEMI_KERNELS_RUN_IN_PARTS_HPP

#include <cstdint>

#include "kernels/export.hpp"

/// InMemoryGroup::run() for other languages: plays `ranks` ranks in this process, each on a thread
/// of its own, which calls `body(rank)`. A body returns 0, or anything else if it failed.
///
/// `n_owned` and `n_halo` have one entry for each rank; `sources` has a pair (owner rank, owner
/// row) for each halo row, those of rank 0 first. Returns nullptr if all went well, otherwise a
/// text that is valid until this thread's next call. `*failed_rank` is then the rank whose body
/// failed by itself, or the lowest if their calls differed; -1 if the arguments describe no
/// decomposition.
extern "C" NVALCHEMI_KERNELS_EXPORT const char* nvalchemi_run_in_parts(
    int ranks, const std::int64_t* n_owned, const std::int64_t* n_halo, const std::int64_t* sources,
    int (*body)(int rank), int* failed_rank);

#endif
