// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_RECORDABLE_EXCHANGE_HPP
#define NVALCHEMI_POTENTIALS_RECORDABLE_EXCHANGE_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

/// Halo rows with room for some more, so that their number stays while atoms come and go.
struct RoomyRows {
    std::int64_t halo_rows = 0;        ///< of this rank, room included
    std::vector<std::int64_t> places;  ///< of each halo row of the present graph among them
    std::int64_t version = 0;          ///< changes with `places`
};

/// An exchange between ranks that can be a part of recorded work: a second form of it has messages
/// with some room, whose sizes and addresses stay. What fills the room are copies of a row that
/// belongs to no atom.
///
/// All ranks make the same calls in the same order.
class RecordableExchange : public HaloExchange {
  public:
    /// Why it cannot be recorded, the same on all ranks; empty: it can.
    virtual std::string obstacle() const = 0;
    /// Make the second form. Collective; throws std::runtime_error on all ranks.
    virtual void open_room() = 0;
    /// Fit the second form to the present rows, for `owned_rows` owned rows, of which `sink` and
    /// those after it belong to no atom. True: sizes have changed. Not collective.
    virtual bool fit(std::int64_t owned_rows, std::int64_t sink) = 0;
    virtual const RoomyRows& roomy_rows() const = 0;
    /// Do `work` with the second form, as an evaluation of the present one. If it throws, peers
    /// get zeros for the rest of it, so that they do not wait. `stream`: the cudaStream_t that the
    /// work goes to.
    virtual void run_with_room(void* stream, const std::function<void(HaloExchange&)>& work) = 0;
    /// Whether it is so on any rank. Collective; throws std::runtime_error on all ranks if one has
    /// failed in the meantime.
    virtual bool any(bool mine) = 0;
    /// No call of the first form will follow in this evaluation.
    virtual void settle() = 0;
};

}  // namespace nvalchemi

#endif
