// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_COMPOSITION_COMPOSE_ARCHIVES_HPP
#define NVALCHEMI_POTENTIALS_COMPOSITION_COMPOSE_ARCHIVES_HPP

#include <string>
#include <vector>

#include "potentials/session.hpp"

namespace nvalchemi {

/// An archive with its card and, for messages, where it comes from.
struct ArchiveToCompose {
    std::string bytes;
    SessionOptions options;  ///< path and card, as of a Session
};

/// What came out.
struct ComposedArchive {
    std::string bytes;    ///< with its card
    std::string card;     ///< JSON
    std::string listing;  ///< of its exchanges
    /// Largest differences between it and the sum of its parts on a small structure, in eV and
    /// eV/Angstrom; negative where a part cannot be evaluated alone, as it reads another's charges.
    double energy_difference = -1;
    double force_difference = -1;
    double virial_difference = -1;  ///< eV; negative too where a model has no virial
};

/// One archive whose energies are the sums of the parts' energies. It is loaded, run in parts and
/// compared with the sum of its parts before it is returned. Throws ModelError, SpecError or
/// std::runtime_error.
ComposedArchive compose_archives(const std::vector<ArchiveToCompose>& parts,
                                 const std::string& name);

}  // namespace nvalchemi

#endif
