// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_IN_MEMORY_EXCHANGE_HPP
#define NVALCHEMI_KERNELS_IN_MEMORY_EXCHANGE_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/export.hpp"
#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

/// Where a halo row comes from.
struct HaloSource {
    int owner_rank = 0;
    std::int64_t owner_row = 0;
};

/// Rows of one rank of an in-memory decomposition.
struct RankRows {
    std::int64_t owned = 0;
    std::vector<HaloSource> halo;  ///< one entry for each halo row, in row order
};

/// One call that a rank made to its exchange.
struct ExchangeEvent {
    enum class Kind { Forward, Reverse, SystemSum };
    Kind kind = Kind::Forward;
    std::int64_t width = 0;  ///< elements in a row; for SystemSum the number of elements
    ElementType type = ElementType::Float64;  ///< of rows; sums are made in float64
    bool operator==(const ExchangeEvent& other) const {
        return kind == other.kind && width == other.width && type == other.type;
    }
};

/// Plays k ranks in one process: one thread a rank, host memory only. Ranks that issue different
/// calls, or a rank that throws or returns early, end the whole group with an exception instead of
/// a hang. Sums are plain sums in the block's own type, in rank order and then in row order.
class NVALCHEMI_KERNELS_EXPORT InMemoryGroup {
  public:
    /// Throws std::invalid_argument if a halo row has no owner among `ranks`.
    explicit InMemoryGroup(std::vector<RankRows> ranks);
    ~InMemoryGroup();

    /// Run `body(rank, exchange)` for every rank at once, each on its own thread inside an
    /// ExchangeScope; returns when all have ended. Rethrows the failure of the lowest rank that
    /// failed by itself (not because a peer did). Threads start with torch's default settings, not
    /// with those of the caller (gradient mode, for example).
    void run(const std::function<void(int, HaloExchange&)>& body);

    /// Calls made by `rank` in the last run().
    const std::vector<ExchangeEvent>& events(int rank) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace nvalchemi

#endif
