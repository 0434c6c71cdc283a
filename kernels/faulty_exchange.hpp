// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_FAULTY_EXCHANGE_HPP
#define NVALCHEMI_KERNELS_FAULTY_EXCHANGE_HPP

#include <memory>
#include <vector>

#include "kernels/export.hpp"
#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

/// What goes wrong in an exchange, planted on purpose to see who notices.
struct ExchangeFault {
    enum class Kind {
        DropForward,    ///< halo rows stay as they are
        ForgetLastRow,  ///< the last halo row is not refreshed
        SwapRows,       ///< the first two halo rows change places
        HalfOfColumns,  ///< only the first half of each row arrives
        AddInForward,   ///< instead of overwriting
        StaleForward,   ///< delivers what the forward before it of that width delivered
        StaleStep,      ///< delivers what the same call delivered one evaluation earlier
        RoundForward,   ///< halo rows to float32
        RepeatForward,  ///< what arrived arrives once more: changes nothing
        DropReverse,    ///< nothing is added to owners, halo rows are kept
        DoubleReverse,  ///< what comes home counts twice
        NegateReverse,
        KeepHaloRows,   ///< reverse does not zero them
        RoundReverse,   ///< owned rows to float32
        RepeatReverse,  ///< zeroed rows are zeroed once more: changes nothing
        FoldTwice,      ///< a correction adds what came home once more before it is sent forward
        DropSum,
        DoubleSum,
        Die,  ///< the process is killed instead of a forward
    };
    static constexpr int kAll = -1, kLater = -2;

    Kind kind = Kind::DropForward;
    int nth = kAll;  ///< only this call of its kind in an evaluation, from 0; kLater: all but 0
    int rank = -1;   ///< only on this rank; -1: all
};

/// Hands every call on and spoils what comes back, in any memory. Calls are those of `inner`: all
/// ranks make the same ones, whatever is planted.
class NVALCHEMI_KERNELS_EXPORT FaultyExchange final : public HaloExchange {
  public:
    FaultyExchange(HaloExchange& inner, std::vector<ExchangeFault> faults);
    ~FaultyExchange() override;

    /// A new evaluation: calls are counted from 0.
    void begin_evaluation();

    std::int64_t owned_rows() const override { return inner_.owned_rows(); }
    std::int64_t total_rows() const override { return inner_.total_rows(); }
    int ranks() const override { return inner_.ranks(); }
    int rank() const override { return inner_.rank(); }
    void forward(const RowBlock& rows) override;
    void reverse(const RowBlock& rows) override;
    void system_sum(const RowBlock& values) override;

  private:
    struct State;

    bool strikes(ExchangeFault::Kind kind, int call) const;

    HaloExchange& inner_;
    std::vector<ExchangeFault> faults_;
    std::unique_ptr<State> state_;
};

}  // namespace nvalchemi

#endif
