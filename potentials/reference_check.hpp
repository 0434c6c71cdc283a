// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_REFERENCE_CHECK_HPP
#define NVALCHEMI_POTENTIALS_REFERENCE_CHECK_HPP

namespace nvalchemi {

class Session;

/// Evaluate the structure of the card's "reference", if it has one, and compare energy and forces
/// with the numbers that the exporter computed: a card that does not fit its archive (the order of
/// species, units, rows of edge_index) shows here. Throws ModelError. Not collective.
void check_reference(Session& session);

}  // namespace nvalchemi

#endif
