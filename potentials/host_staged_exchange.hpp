// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_HOST_STAGED_EXCHANGE_HPP
#define NVALCHEMI_POTENTIALS_HOST_STAGED_EXCHANGE_HPP

#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

/// Rows on a GPU through an exchange that knows host memory alone: copied there, exchanged, copied
/// back. Rows in host memory pass as they are.
class HostStagedExchange final : public HaloExchange {
  public:
    explicit HostStagedExchange(HaloExchange& inner) : inner_(inner) {}

    std::int64_t owned_rows() const override { return inner_.owned_rows(); }
    std::int64_t total_rows() const override { return inner_.total_rows(); }
    int ranks() const override { return inner_.ranks(); }
    int rank() const override { return inner_.rank(); }
    void forward(const RowBlock& rows) override;
    void reverse(const RowBlock& rows) override;
    void system_sum(const RowBlock& values) override;

  private:
    void through_host(const RowBlock& block, void (HaloExchange::*call)(const RowBlock&));

    HaloExchange& inner_;
};

}  // namespace nvalchemi

#endif
