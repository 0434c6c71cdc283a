// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_REFUSAL_REMEDY_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_REFUSAL_REMEDY_HPP

#include <string>

#include "potentials/session.hpp"

namespace nvalchemi {

/// What to do about a model that a Session with these options refused to distribute: the edit of
/// its spec, as JSON patch, with which parts of a small chain of atoms reproduce it, if a few
/// attempts find one; and the command of nvalchemi-validate that looks for it on a structure of the
/// user's own. `spec_name`: the file or preset that replaces the card's spec, "" for the card's; a
/// file that the options do not hold, because the strict reader refused it, is read leniently.
/// Empty where the archive cannot be evaluated as one process either, or the file cannot be read,
/// and where the spec is not to blame: with it the model passes, on the host and without virials of
/// centroids.
/// Not collective; it evaluates the model on the host.
std::string remedy_of_refusal(const std::string& archive, const SessionOptions& options,
                              const std::string& spec_name);

}  // namespace nvalchemi

#endif
