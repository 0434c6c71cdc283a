// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_EXCHANGE_SLOT_HPP
#define NVALCHEMI_KERNELS_EXCHANGE_SLOT_HPP

#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

/// Returns the address of the calling thread's current exchange.
using ExchangeSlot = HaloExchange** (*)();

/// The slot that current_exchange() and ExchangeScope of this copy of the library use.
ExchangeSlot exchange_slot();

/// Use the slot of another copy of this library from now on. Two copies in one process have one
/// set of operators; without a common slot the operators of the first would not see the exchange
/// that the second was given, and would silently act as a single process.
void adopt_exchange_slot(ExchangeSlot slot);

}  // namespace nvalchemi

#endif
