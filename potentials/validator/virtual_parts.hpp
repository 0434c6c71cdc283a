// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_VIRTUAL_PARTS_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_VIRTUAL_PARTS_HPP

#include <string>
#include <vector>

#include "potentials/sample_structure.hpp"
#include "potentials/session.hpp"
#include "potentials/validation.hpp"
#include "potentials/whole_system.hpp"

namespace nvalchemi {

/// A system as several ranks hold it, all of them in this process.
struct VirtualParts {
    SampleStructure structure;  ///< all atoms and all edges
    std::vector<int> owners;    ///< (n,) rank of each atom
    std::vector<RankPart> parts;
};

/// `owners` (n,) in [0, ranks). Edges come from neighbor_search().
VirtualParts make_virtual_parts(const WholeSystem& system, const ModelCard& card,
                                const std::vector<int>& owners, int ranks);
/// The same atoms and edges in one part.
VirtualParts as_one_part(const VirtualParts& many, const ModelCard& card);

/// What the ranks say together, by atom.
struct VirtualEvaluation {
    DecomposedEvaluation sums;
    std::vector<std::vector<ExchangeEvent>> events;  ///< of each rank
    double seconds = 0;
};

/// One evaluation on all ranks. Throws ModelError and what a wrapped exchange throws.
VirtualEvaluation evaluate_virtual(Session& session, const VirtualParts& parts,
                                   const PartsOptions& options = {});

}  // namespace nvalchemi

#endif
