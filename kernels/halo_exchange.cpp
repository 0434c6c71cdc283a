// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/halo_exchange.hpp"

#include <atomic>

#include "kernels/exchange_slot.hpp"

namespace nvalchemi {

namespace {

HaloExchange** own_slot() {
    thread_local HaloExchange* current = nullptr;
    return &current;
}

std::atomic<ExchangeSlot> slot_in_use{own_slot};

}  // namespace

ExchangeSlot exchange_slot() { return slot_in_use.load(std::memory_order_acquire); }

void adopt_exchange_slot(ExchangeSlot slot) { slot_in_use.store(slot, std::memory_order_release); }

HaloExchange* current_exchange() { return *exchange_slot()(); }

ExchangeScope::ExchangeScope(HaloExchange& exchange) : previous_(current_exchange()) {
    *exchange_slot()() = &exchange;
}

ExchangeScope::~ExchangeScope() { *exchange_slot()() = previous_; }

}  // namespace nvalchemi
