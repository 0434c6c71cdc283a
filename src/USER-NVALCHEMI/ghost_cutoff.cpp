// SPDX-License-Identifier: GPL-2.0-only

#include "ghost_cutoff.h"

#include <sstream>
#include <stdexcept>

namespace nvalchemi {

/* ----------------------------------------------------------------------
   LAMMPS widens its ghost cutoff by itself; a setting that keeps it from
   doing so would cut neighbourhoods off without a word
------------------------------------------------------------------------- */

void check_ghost_cutoff(double model_cutoff, double ghost_cutoff)
{
  if (ghost_cutoff >= model_cutoff) return;
  std::ostringstream text;
  text << "ghost atoms: got a communication cutoff of " << ghost_cutoff
       << ", expected at least the model's cutoff " << model_cutoff << ". Use 'comm_modify cutoff "
       << model_cutoff << "'";
  throw std::runtime_error(text.str());
}

}    // namespace nvalchemi
