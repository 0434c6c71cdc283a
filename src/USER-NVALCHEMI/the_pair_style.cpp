// SPDX-License-Identifier: GPL-2.0-only

#include "the_pair_style.h"

#include "pair_nvalchemi.h"

#include "error.h"
#include "force.h"

using namespace LAMMPS_NS;

/* ---------------------------------------------------------------------- */

PairNvalchemi *LAMMPS_NS::the_pair_style(LAMMPS *lmp, const std::string &who)
{
  const char *style = lmp->force->pair_style ? lmp->force->pair_style : "none";
  auto *pair = dynamic_cast<PairNvalchemi *>(lmp->force->pair_match("^nvalchemi", 0, 0));
  if (!pair)
    lmp->error->all(FLERR, "{}: got pair_style {}, expected nvalchemi, alone or once under hybrid",
                    who, style);
  if (pair->kokkosable)
    lmp->error->all(FLERR,
                    "{}: got pair_style {} whose atoms are in Kokkos's memory, expected nvalchemi "
                    "without suffix kk",
                    who, style);
  return pair;
}
