// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_ELEMENTS_HPP
#define NVALCHEMI_POTENTIALS_ELEMENTS_HPP

#include <string>

namespace nvalchemi {

/// Atomic number of a chemical symbol as written in the periodic table ("Na", not "NA" or "na");
/// 0 if there is no such element.
int atomic_number(const std::string& symbol);

}  // namespace nvalchemi

#endif
