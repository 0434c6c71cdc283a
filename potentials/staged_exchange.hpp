// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_STAGED_EXCHANGE_HPP
#define NVALCHEMI_POTENTIALS_STAGED_EXCHANGE_HPP

#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

/// Rows of one memory through an exchange that is to see those of another: copied there, exchanged,
/// copied back, in the order of torch's current stream. Rows that are there already pass as they
/// are. It waits for the GPU: for checks and virtual ranks, not for steps.
class StagedExchange final : public HaloExchange {
  public:
    /// `cuda_device`: where `inner` is to find rows; -1: host memory.
    StagedExchange(HaloExchange& inner, int cuda_device)
        : inner_(inner), cuda_device_(cuda_device) {}

    std::int64_t owned_rows() const override { return inner_.owned_rows(); }
    std::int64_t total_rows() const override { return inner_.total_rows(); }
    int ranks() const override { return inner_.ranks(); }
    int rank() const override { return inner_.rank(); }
    void forward(const RowBlock& rows) override;
    void reverse(const RowBlock& rows) override;
    void system_sum(const RowBlock& values) override;

  private:
    void staged(const RowBlock& block, void (HaloExchange::*call)(const RowBlock&));

    HaloExchange& inner_;
    int cuda_device_;
};

}  // namespace nvalchemi

#endif
