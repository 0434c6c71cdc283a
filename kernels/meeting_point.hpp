// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_MEETING_POINT_HPP
#define NVALCHEMI_KERNELS_MEETING_POINT_HPP

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/halo_exchange.hpp"
#include "kernels/in_memory_exchange.hpp"

namespace nvalchemi {

/// What one rank hands over when it enters a collective.
struct ExchangeCall {
    ExchangeEvent event;
    RowBlock block;
};

/// Where the threads of an InMemoryGroup meet. A call returns when all ranks have made the same
/// one; the last rank to arrive moves everyone's data. The first failure is final: it wakes and
/// ends all.
class MeetingPoint {
  public:
    using MoveData = std::function<void(const std::vector<ExchangeCall>& calls)>;

    MeetingPoint(std::size_t ranks, MoveData move_data);

    /// Collective. Throws std::runtime_error if the group has failed.
    void enter(int rank, const ExchangeCall& call);

    /// `rank` makes no further call; `ending` says why ("returned", "failed: ...").
    void leave(int rank, const std::string& ending);

  private:
    void fail_if_a_rank_ended(int rank, const ExchangeCall& call);
    void complete_round();
    void fail(const std::string& what);

    MoveData move_data_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<ExchangeCall> calls_;
    std::vector<bool> inside_;  ///< this rank waits in calls_[rank]
    std::vector<std::optional<std::string>> endings_;
    std::size_t arrived_ = 0;
    std::uint64_t round_ = 0;
    std::optional<std::string> failure_;
};

}  // namespace nvalchemi

#endif
