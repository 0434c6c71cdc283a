// SPDX-License-Identifier: GPL-2.0-only

#include "unit_scale.h"

#include <stdexcept>

namespace nvalchemi {

/* ---------------------------------------------------------------------- */

UnitScale unit_scale(const std::string &unit_style)
{
  // the ratio that LAMMPS itself uses between its metal and real units

  constexpr double KCAL_PER_MOL_IN_EV = 1.0 / 23.060549;

  if (unit_style == "metal") return {1.0, 1.0};
  if (unit_style == "real") return {1.0, KCAL_PER_MOL_IN_EV};
  throw std::runtime_error("units: got '" + unit_style +
                           "', expected 'metal' or 'real' (a trained model has physical units). "
                           "Use the command 'units metal'");
}

}    // namespace nvalchemi
