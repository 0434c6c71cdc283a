// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/in_memory_exchange.hpp"

#include <cstring>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "kernels/meeting_point.hpp"

namespace nvalchemi {

namespace {

using Calls = std::vector<ExchangeCall>;
using Kind = ExchangeEvent::Kind;

char* row_address(const RowBlock& block, std::int64_t row) {
    return static_cast<char*>(block.data) + static_cast<std::size_t>(row) * block.row_bytes();
}

char* owner_address(const Calls& calls, const HaloSource& source) {
    return row_address(calls[static_cast<std::size_t>(source.owner_rank)].block, source.owner_row);
}

void copy_to_halo_rows(const std::vector<RankRows>& ranks, const Calls& calls) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const RowBlock& block = calls[rank].block;
        std::int64_t row = ranks[rank].owned;
        for (const HaloSource& source : ranks[rank].halo) {
            std::memcpy(row_address(block, row++), owner_address(calls, source), block.row_bytes());
        }
    }
}

/// A halo row is never the target of an addition, so the additions to one row come in the order of
/// the ranks and of their halo rows whatever the threads do. Plain sums in T: this is the reference
/// for transports that add what they receive, and must give their bits.
template <typename T>
void add_halo_rows_to_owners(const std::vector<RankRows>& ranks, const Calls& calls) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const RowBlock& block = calls[rank].block;
        std::int64_t row = ranks[rank].owned;
        for (const HaloSource& source : ranks[rank].halo) {
            T* halo = reinterpret_cast<T*>(row_address(block, row++));
            T* owner = reinterpret_cast<T*>(owner_address(calls, source));
            for (std::int64_t i = 0; i < block.width; ++i) owner[i] += halo[i];
            std::memset(halo, 0, block.row_bytes());
        }
    }
}

template <typename T>
void sum_over_ranks(const Calls& calls) {
    const T* first = static_cast<const T*>(calls.front().block.data);
    std::vector<T> total(first, first + calls.front().event.width);
    for (std::size_t rank = 1; rank < calls.size(); ++rank) {
        const T* values = static_cast<const T*>(calls[rank].block.data);
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += values[i];
    }
    for (const ExchangeCall& call : calls) {
        std::memcpy(call.block.data, total.data(), total.size() * sizeof(T));
    }
}

void move_data(const std::vector<RankRows>& ranks, const Calls& calls) {
    if (calls.front().event.width == 0) return;
    const bool is_double = calls.front().block.type == ElementType::Float64;
    switch (calls.front().event.kind) {
        case Kind::Forward: return copy_to_halo_rows(ranks, calls);
        case Kind::Reverse:
            return is_double ? add_halo_rows_to_owners<double>(ranks, calls)
                             : add_halo_rows_to_owners<float>(ranks, calls);
        case Kind::SystemSum:
            return is_double ? sum_over_ranks<double>(calls) : sum_over_ranks<float>(calls);
    }
}

/// One rank's view of the group; used by that rank's thread alone.
class RankExchange final : public HaloExchange {
  public:
    RankExchange(int rank, int ranks, const RankRows& rows, MeetingPoint& meeting_point,
                 std::vector<ExchangeEvent>& events)
        : rank_(rank), ranks_(ranks), rows_(rows), meeting_point_(meeting_point), events_(events) {}

    std::int64_t owned_rows() const override { return rows_.owned; }
    std::int64_t total_rows() const override {
        return rows_.owned + static_cast<std::int64_t>(rows_.halo.size());
    }
    int ranks() const override { return ranks_; }
    int rank() const override { return rank_; }

    void forward(const RowBlock& rows) override {
        check_rows(rows, "forward");
        meet({Kind::Forward, rows.width, rows.type}, rows);
    }
    void reverse(const RowBlock& rows) override {
        check_rows(rows, "reverse");
        check_floating(rows, "reverse");
        meet({Kind::Reverse, rows.width, rows.type}, rows);
    }
    void system_sum(const RowBlock& values) override {
        check_host(values, "system_sum");
        check_floating(values, "system_sum");
        meet({Kind::SystemSum, values.rows * values.width}, values);
    }
    void start(HaloMove, const RowBlock& rows) override {
        refuse_while_under_way("start");
        under_way_ = rows.data;
        is_under_way_ = true;
    }
    void finish(HaloMove move, const RowBlock& rows) override {
        if (!is_under_way_ || under_way_ != rows.data)
            refuse("finish", "rows that are not under way", "those of the call of start before it");
        is_under_way_ = false;
        HaloExchange::finish(move, rows);
    }

    /// Whether a peer's failure has reached this rank: what it throws afterwards is a consequence,
    /// whichever type the layers in between have made of it.
    bool saw_group_failure() const { return saw_group_failure_; }

  private:
    void refuse_while_under_way(const char* call) const {
        if (is_under_way_) refuse(call, "rows under way", "their finish before");
    }
    void meet(const ExchangeEvent& event, const RowBlock& block) {
        refuse_while_under_way("another call");
        events_.push_back(event);
        try {
            meeting_point_.enter(rank_, {event, block});
        } catch (...) {
            saw_group_failure_ = true;
            throw;
        }
    }
    void check_host(const RowBlock& block, const char* call) const {
        if (block.cuda_device < 0) return;
        refuse(call, "rows on CUDA device " + std::to_string(block.cuda_device), "host memory");
    }
    void check_floating(const RowBlock& block, const char* call) const {
        if (block.type == ElementType::Float32 || block.type == ElementType::Float64) return;
        refuse(call, "integers", "float32 or float64");
    }
    void check_rows(const RowBlock& block, const char* call) const {
        check_host(block, call);
        if (block.rows == total_rows()) return;
        refuse(call, std::to_string(block.rows) + " rows",
               std::to_string(total_rows()) + " rows (owned and halo)");
    }
    [[noreturn]] void refuse(const char* call, const std::string& got,
                             const std::string& expected) const {
        throw std::invalid_argument("in-memory exchange: " + std::string(call) + " on rank " +
                                    std::to_string(rank_) + ": got " + got + ", expected " +
                                    expected);
    }

    int rank_;
    int ranks_;
    const RankRows& rows_;
    MeetingPoint& meeting_point_;
    std::vector<ExchangeEvent>& events_;
    bool saw_group_failure_ = false;
    const void* under_way_ = nullptr;
    bool is_under_way_ = false;  ///< between start() and finish()
};

/// How one rank's body ended.
struct Outcome {
    std::exception_ptr exception;
    bool is_consequence = false;
};

void check_sources(const std::vector<RankRows>& ranks) {
    if (ranks.empty()) {
        throw std::invalid_argument("InMemoryGroup: got 0 ranks, expected at least 1");
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (ranks[rank].owned < 0) {
            throw std::invalid_argument("InMemoryGroup: rank " + std::to_string(rank) + ": got " +
                                        std::to_string(ranks[rank].owned) +
                                        " owned rows, expected 0 or more");
        }
        for (std::size_t i = 0; i < ranks[rank].halo.size(); ++i) {
            const auto [owner, row] = ranks[rank].halo[i];
            const bool rank_exists = owner >= 0 && static_cast<std::size_t>(owner) < ranks.size();
            if (rank_exists && row >= 0 && row < ranks[static_cast<std::size_t>(owner)].owned) {
                continue;
            }
            throw std::invalid_argument("InMemoryGroup: halo row " + std::to_string(i) +
                                        " of rank " + std::to_string(rank) + ": got owner rank " +
                                        std::to_string(owner) + " row " + std::to_string(row) +
                                        ", expected an owned row of one of " +
                                        std::to_string(ranks.size()) + " ranks");
        }
    }
}

void rethrow_root_cause(const std::vector<Outcome>& outcomes) {
    for (const bool consequences : {false, true}) {
        for (const Outcome& outcome : outcomes) {
            if (outcome.exception && outcome.is_consequence == consequences) {
                std::rethrow_exception(outcome.exception);
            }
        }
    }
}

Outcome run_rank(const std::function<void(int, HaloExchange&)>& body, int rank,
                 RankExchange& exchange, MeetingPoint& meeting_point) {
    Outcome outcome;
    std::string ending = "returned";
    try {
        const ExchangeScope scope(exchange);
        body(rank, exchange);
    } catch (const std::exception& error) {
        outcome.exception = std::current_exception();
        ending = std::string("failed (") + error.what() + ")";
    } catch (...) {
        outcome.exception = std::current_exception();
        ending = "failed";
    }
    outcome.is_consequence = exchange.saw_group_failure();
    meeting_point.leave(rank, ending);
    return outcome;
}

}  // namespace

struct InMemoryGroup::State {
    std::vector<RankRows> ranks;
    std::vector<std::vector<ExchangeEvent>> events;
};

InMemoryGroup::InMemoryGroup(std::vector<RankRows> ranks) : state_(std::make_unique<State>()) {
    check_sources(ranks);
    state_->events.resize(ranks.size());
    state_->ranks = std::move(ranks);
}

InMemoryGroup::~InMemoryGroup() = default;

void InMemoryGroup::run(const std::function<void(int, HaloExchange&)>& body) {
    const std::vector<RankRows>& ranks = state_->ranks;
    MeetingPoint meeting_point(ranks.size(),
                               [&ranks](const Calls& calls) { move_data(ranks, calls); });
    std::vector<Outcome> outcomes(ranks.size());
    for (std::vector<ExchangeEvent>& events : state_->events) events.clear();
    const auto play = [&](std::size_t rank) {
        RankExchange exchange(static_cast<int>(rank), static_cast<int>(ranks.size()), ranks[rank],
                              meeting_point, state_->events[rank]);
        outcomes[rank] = run_rank(body, static_cast<int>(rank), exchange, meeting_point);
    };

    {
        std::vector<std::jthread> threads;
        threads.reserve(ranks.size());
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            try {
                threads.emplace_back(play, rank);
            } catch (const std::system_error&) {
                outcomes[rank].exception = std::current_exception();
                meeting_point.leave(static_cast<int>(rank), "could not start its thread");
            }
        }
    }
    rethrow_root_cause(outcomes);
}

const std::vector<ExchangeEvent>& InMemoryGroup::events(int rank) const {
    return state_->events.at(static_cast<std::size_t>(rank));
}

}  // namespace nvalchemi
