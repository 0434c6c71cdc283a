// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_GRAPH_USE_HPP
#define NVALCHEMI_POTENTIALS_GRAPH_USE_HPP

namespace nvalchemi {

/// Whether to record an evaluation as a CUDA graph and replay it.
enum class GraphUse {
    Auto,  ///< where it can be done, for systems so small that it pays
    Yes,   ///< an evaluation for which it cannot be done throws ModelError
    No
};

}  // namespace nvalchemi

#endif
