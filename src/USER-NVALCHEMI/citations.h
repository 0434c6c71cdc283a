// SPDX-License-Identifier: GPL-2.0-only
#ifndef LMP_CITATIONS_H
#define LMP_CITATIONS_H

#include <string>

namespace nvalchemi {

// what LAMMPS's citation output shows: a line, then a BibTeX entry

std::string package_citation(const std::string &version);

// the publication of a family of models (ModelCard::family); empty if none is known

std::string family_citation(const std::string &family);

}    // namespace nvalchemi

#endif
