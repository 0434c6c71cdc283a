// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_SELF_TEST_HPP
#define NVALCHEMI_POTENTIALS_SELF_TEST_HPP

#include <array>
#include <optional>
#include <vector>

#include "kernels/in_memory_exchange.hpp"
#include "potentials/distributed_model.hpp"

namespace nvalchemi {

/// Evaluate a small periodic structure in three in-memory parts of unequal size, one of them empty,
/// and a cluster in parts of one, two and three rows; and both as one process with the unmodified
/// archive; compare energies, gradients and virial. The oracle of the distribution pass: throws
/// ModelError if the two differ by more than rounding. Host memory only. Returns the calls that one
/// evaluation makes to its exchange.
std::vector<ExchangeEvent> self_test(const ModelCard& card, const torch::jit::Module& module,
                                     const DistributedModel& model);

/// The calls alone, without the comparison.
std::vector<ExchangeEvent> record_schedule(const ModelCard& card, const DistributedModel& model,
                                           bool edge_moments = false);

/// The calls for graphs whose setup_cell is this one. Any device.
std::vector<ExchangeEvent> record_schedule_in_cell(const ModelCard& card,
                                                   const DistributedModel& model,
                                                   const std::array<double, 9>& setup_cell,
                                                   bool edge_moments);

/// The calls of an evaluation of energies alone.
std::vector<ExchangeEvent> record_energy_schedule(
    const ModelCard& card, const DistributedModel& model,
    const std::optional<std::array<double, 9>>& setup_cell);

}  // namespace nvalchemi

#endif
