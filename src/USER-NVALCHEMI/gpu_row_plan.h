// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   A halo plan as the code for GPU memory takes it
------------------------------------------------------------------------- */

#ifndef LMP_GPU_ROW_PLAN_H
#define LMP_GPU_ROW_PLAN_H

#include "gpu_rows.h"
#include "halo_plan.h"

namespace nvalchemi {

// `all_rows`: sums of a reverse exchange for all owned rows, also for those that get nothing, so that
// their number follows from the number of rows alone

GpuRowPlan gpu_row_plan(const HaloPlan &plan, bool all_rows);

}    // namespace nvalchemi

#endif
