// SPDX-License-Identifier: GPL-2.0-only

#include "the_pair_style.h"

#include "pair_nvalchemi.h"

#include "error.h"
#include "force.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

/* ---------------------------------------------------------------------- */

int count_instances(Force *force, const char *style)
{
  // LAMMPS ignores the number where there is one alone, under hybrid too
  const Pair *first = force->pair_match("^nvalchemi", 0, 1);
  if (!first) return 0;
  int count = 1;
  if (!utils::strmatch(style, "^hybrid")) return count;
  for (const Pair *next = force->pair_match("^nvalchemi", 0, 2); next && next != first;
       next = force->pair_match("^nvalchemi", 0, count + 1))
    count++;
  return count;
}

}    // namespace

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

/* ---------------------------------------------------------------------- */

PairNvalchemi *LAMMPS_NS::find_pair_style(LAMMPS *lmp, const std::string &who, int instance)
{
  Force *force = lmp->force;
  const char *style = force->pair_style ? force->pair_style : "none";
  const int count = count_instances(force, style);
  auto *pair = dynamic_cast<PairNvalchemi *>(force->pair_match("^nvalchemi", 0, instance));
  if (pair && instance <= count) return pair;
  if (instance == 0 && force->pair_match("^nvalchemi", 0, 1))
    lmp->error->all(FLERR,
                    "{}: got several pair styles nvalchemi in pair_style {}, expected to be told "
                    "which; use keyword instance",
                    who, style);
  if (instance > 1)
    lmp->error->all(FLERR,
                    "{}: got instance {}, expected the number of one of the pair styles nvalchemi "
                    "in pair_style {}; there {} {}",
                    who, instance, style, count == 1 ? "is" : "are", count);
  lmp->error->all(FLERR,
                  "{}: got pair_style {}, expected nvalchemi, alone or under pair_style hybrid",
                  who, style);
  return nullptr;
}
