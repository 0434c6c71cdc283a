// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_ELEMENTS_HPP
#define NVALCHEMI_POTENTIALS_ELEMENTS_HPP

#include <string>

namespace nvalchemi {

/// Atomic number of a chemical symbol as written in the periodic table ("Na", not "NA" or "na");
/// 0 if there is no such element.
int atomic_number(const std::string& symbol);

/// Standard atomic weight in g/mol (of elements without one: the mass number of a long-lived
/// isotope), to four digits. `atomic_number` from 1 to 118; 0 for any other.
double atomic_weight(int atomic_number);

/// The symbol of the element whose atomic weight is nearest.
std::string nearest_element(double weight);

}  // namespace nvalchemi

#endif
