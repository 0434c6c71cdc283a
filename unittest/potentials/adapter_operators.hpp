// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_POTENTIALS_ADAPTER_OPERATORS_HPP
#define NVALCHEMI_UNITTEST_POTENTIALS_ADAPTER_OPERATORS_HPP

namespace nvalchemi {

/// Register operators of namespace adaptertest, once:
///   push(rows, receiver, sender, m)  sums rows[receiver] * m into senders
///   pull(rows, receiver, sender, m)  sums rows[sender] * m into receivers
///   total(rows)                      the sum of all rows it is given
///   gate(rows)                       acts row by row
void register_adapter_operators();

}  // namespace nvalchemi

#endif
