// SPDX-License-Identifier: GPL-2.0-only

#include "gpu_row_plan.h"

#include <cstdint>
#include <vector>

namespace nvalchemi {

GpuRowPlan gpu_row_plan(const HaloPlan &plan, bool all_rows)
{
  GpuRowPlan result;
  result.owned_rows = plan.owned_rows;
  result.total_rows = plan.total_rows;
  for (const HaloMessage &message : plan.receive_from)
    result.receive_from.push_back({message.rank, message.first, message.count});
  for (const HaloMessage &message : plan.send_to)
    result.send_to.push_back({message.rank, message.first, message.count});
  result.send_rows = plan.send_rows;
  result.own_rows = plan.own_rows;
  result.own_first = plan.own_rows.empty() ? plan.owned_rows : plan.own_copies.first;

  std::vector<std::vector<std::int64_t>> sources(plan.owned_rows);
  for_each_contribution(
      plan, [&](std::int64_t k, std::int64_t row) { sources[row].push_back(k); },
      [&](std::int64_t k, std::int64_t row) { sources[row].push_back(-k - 1); });

  result.sum_offsets.push_back(0);
  for (std::int64_t row = 0; row < plan.owned_rows; ++row) {
    if (sources[row].empty() && !all_rows) continue;
    result.sum_rows.push_back(row);
    result.sum_sources.insert(result.sum_sources.end(), sources[row].begin(), sources[row].end());
    result.sum_offsets.push_back(static_cast<std::int64_t>(result.sum_sources.size()));
  }
  return result;
}

}    // namespace nvalchemi
