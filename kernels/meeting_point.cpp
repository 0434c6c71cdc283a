// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/meeting_point.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace nvalchemi {

namespace {

std::string describe(const ExchangeCall& call) {
    constexpr const char* kinds[] = {"forward", "reverse", "system_sum"};
    constexpr const char* types[] = {"float32", "float64", "int32", "int64"};
    std::ostringstream text;
    text << kinds[static_cast<int>(call.event.kind)] << "(width " << call.event.width << ", "
         << types[static_cast<int>(call.block.type)] << ")";
    return text.str();
}

}  // namespace

MeetingPoint::MeetingPoint(std::size_t ranks, MoveData move_data)
    : move_data_(std::move(move_data)), calls_(ranks), inside_(ranks), endings_(ranks) {}

void MeetingPoint::enter(int rank, const ExchangeCall& call) {
    std::unique_lock<std::mutex> lock(mutex_);
    fail_if_a_rank_ended(rank, call);
    if (failure_) throw std::runtime_error(*failure_);

    calls_[static_cast<std::size_t>(rank)] = call;
    inside_[static_cast<std::size_t>(rank)] = true;
    const std::uint64_t this_round = round_;
    if (++arrived_ == calls_.size()) complete_round();
    changed_.wait(lock, [&] { return failure_ || round_ != this_round; });
    // A failure after this round's completion belongs to the next call.
    if (round_ == this_round) throw std::runtime_error(*failure_);
}

void MeetingPoint::leave(int rank, const std::string& ending) {
    const std::lock_guard<std::mutex> lock(mutex_);
    endings_[static_cast<std::size_t>(rank)] = ending;
    for (std::size_t peer = 0; peer < inside_.size(); ++peer) {
        if (inside_[peer]) fail_if_a_rank_ended(static_cast<int>(peer), calls_[peer]);
    }
}

void MeetingPoint::fail_if_a_rank_ended(int rank, const ExchangeCall& call) {
    for (std::size_t peer = 0; peer < endings_.size(); ++peer) {
        if (!endings_[peer]) continue;
        return fail("rank " + std::to_string(peer) + " " + *endings_[peer] + " while rank " +
                    std::to_string(rank) + " calls " + describe(call) +
                    " (every rank must issue the same exchanges)");
    }
}

void MeetingPoint::complete_round() {
    for (std::size_t rank = 1; rank < calls_.size(); ++rank) {
        const bool same = calls_[rank].event == calls_[0].event &&
                          calls_[rank].block.type == calls_[0].block.type;
        if (!same) {
            return fail("rank 0 calls " + describe(calls_[0]) + " while rank " +
                        std::to_string(rank) + " calls " + describe(calls_[rank]) +
                        " (every rank must issue the same exchanges)");
        }
    }
    move_data_(calls_);
    arrived_ = 0;
    std::fill(inside_.begin(), inside_.end(), false);
    ++round_;
    changed_.notify_all();
}

void MeetingPoint::fail(const std::string& what) {
    if (failure_) return;
    failure_ = "in-memory exchange: " + what;
    changed_.notify_all();
}

}  // namespace nvalchemi
