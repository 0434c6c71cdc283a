// SPDX-License-Identifier: GPL-2.0-only
#ifndef LMP_UNIT_SCALE_H
#define LMP_UNIT_SCALE_H

#include <string>

namespace nvalchemi {

// factors from LAMMPS's units to those of the model's interface

struct UnitScale {
  double angstrom_per_length = 1.0;
  double ev_per_energy = 1.0;
};

// of a LAMMPS unit style; throws std::runtime_error for styles other than metal and real

UnitScale unit_scale(const std::string &unit_style);

}    // namespace nvalchemi

#endif
