// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_EXCHANGE_PROBE_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_EXCHANGE_PROBE_HPP

#include <cstdint>
#include <map>
#include <vector>

#include "kernels/halo_exchange.hpp"
#include "kernels/in_memory_exchange.hpp"
#include "potentials/validator/partition_checks.hpp"

namespace nvalchemi {

/// A halo row of some rank and the atom that it stands for.
struct HaloRowName {
    std::int64_t rank = 0, row = 0, atom = 0;
};

/// By atom, the sum that its owner must receive when all halo rows of all ranks are sent back.
using ReturnedSums = std::map<std::int64_t, double>;
ReturnedSums returned_sums(const std::vector<HaloRowName>& halo_rows_of_all_ranks);

/// What one rank knows of its rows, from elsewhere than the exchange.
struct ProbedRows {
    std::vector<std::int64_t> atom_of_row;  ///< (n_rows,) owned rows first
    std::int64_t atoms = 0;                 ///< every atom's number is below this
};

/// Send numbers that name atoms through an exchange: forward, reverse, and the sum over ranks; all
/// rows, no sampling. What this rank saw. Collective; throws what the exchange throws.
///
///     rank 0:  a0 a1 | b0'      forward: b0' must hold the name of b0
///     rank 1:  b0 b1 | a1'      reverse: a1 must hold the name of the halo row a1'
PlanCheck probe_exchange(HaloExchange& exchange, const ProbedRows& rows, const ReturnedSums& sums);

/// The same with whole numbers first, and with a second forward after the reverse, as one step of a
/// model with corrected scatters issues them. The calls are those of thorough_probe_calls().
PlanCheck probe_exchange_thoroughly(HaloExchange& exchange, const ProbedRows& rows,
                                    const ReturnedSums& sums);
std::vector<ExchangeEvent> thorough_probe_calls();

/// Counts of two ranks together; the first text that there is.
void add_check(PlanCheck& total, const PlanCheck& part);
/// Whether nothing in the counts is wrong.
bool is_good(const PlanCheck& check);

}  // namespace nvalchemi

#endif
