// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_TRACER_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_TRACER_HPP

#include "potentials/distribution/placement.hpp"
#include "potentials/model_card.hpp"
#include "potentials/model_inputs.hpp"

namespace nvalchemi {

/// A sample structure in the form that the model sees, with the extents of its spaces.
struct Probe {
    ModelInputs inputs;
    std::int64_t n_rows = 0;
    std::int64_t n_owned = 0;
    std::int64_t n_edges = 0;
};

/// Follow `module`'s forward on two probes of different size and return it as a straight line of
/// operators with placements. Control flow and containers must be the same for every structure;
/// what depends on the number of atoms or on data is refused with its source line (ModelError).
TracedProgram trace_model(const ModelCard& card, const torch::jit::Module& module,
                          const Probe& first, const Probe& second);

}  // namespace nvalchemi

#endif
