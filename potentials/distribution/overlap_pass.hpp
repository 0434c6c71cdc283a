// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_OVERLAP_PASS_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_OVERLAP_PASS_HPP

#include <cstdint>
#include <vector>

#include "potentials/distribution/placement.hpp"
#include "potentials/model_card.hpp"

namespace nvalchemi {

/// Split each halo_forward of a distributed program into halo_forward_begin and halo_forward_end,
/// and put between them what neither it waits for nor waits for it:
///
///     y = exchange(x)              t = begin(x)
///     m = edges(y)                 w = radial(r)
///     w = radial(r)        to      y = end(t)
///     h = m * w                    m = edges(y)
///                                  h = m * w
///
/// Calls move within the part of the program between one collective and the next, or past the
/// beginning of the next. Collectives keep their order, and no two exchanges are under way at once.
/// An exchange with no work of rows or edges to put there stays whole. So do all of a model that
/// differentiates a gradient, or whose operators communicate in their own gradient. A gradient
/// inside the model is made when none is under way.
///
/// Results are the same in bits, gradients too: autograd goes back in the order of the calls, so
/// that what three or more gradients are added up to depends on the order of the calls that read
/// the value; that order is kept.
///
/// Returns for each collective, in order, the number of calls that run while it is under way.
std::vector<std::int64_t> overlap_exchanges(TracedProgram& traced, const ModelCard& card);

}  // namespace nvalchemi

#endif
