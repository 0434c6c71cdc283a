// SPDX-License-Identifier: GPL-2.0-only

#include "layout_check.h"

#include "fault_injection.h"
#include "host_facts.h"

#include "atom.h"
#include "domain.h"
#include "force.h"
#include "lammps.h"
#include "update.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

using namespace LAMMPS_NS;

namespace {

/* ---------------------------------------------------------------------- */

bool wrong_on_purpose()
{
  try {
    return nvalchemi::Faults::from_environment().has(nvalchemi::Fault::WrongLayout, 0);
  } catch (const std::runtime_error &) {
    return false;    // pair_style refuses it
  }
}

}    // namespace

/* ---------------------------------------------------------------------- */

void nvalchemi::require_same_layout(void *lmp)
{
  const auto address_of = reinterpret_cast<const void *(*) (void *, const char *)>(
      dlsym(RTLD_DEFAULT, "lammps_extract_global"));
  if (!address_of) return;    // a LAMMPS without it has not got this far

  const LAMMPS &lammps = *static_cast<LAMMPS *>(lmp);
  const struct {
    const char *name;
    const void *here;
  } members[] = {
      {"nlocal", &lammps.atom->nlocal},
      {"nghost", &lammps.atom->nghost},
      {"nmax", &lammps.atom->nmax},
      {"ntypes", &lammps.atom->ntypes},
      {"boxlo", lammps.domain->boxlo},
      {"boxhi", lammps.domain->boxhi},
      {"xy", &lammps.domain->xy},
      {"dt", &lammps.update->dt},
      {"ntimestep", &lammps.update->ntimestep},
      {"special_lj", lammps.force->special_lj},
      {"qqrd2e", &lammps.force->qqrd2e},
  };
  const int shift = wrong_on_purpose() ? 8 : 0;
  for (const auto &member : members) {
    const void *const there = address_of(lmp, member.name);
    if (!there || there == static_cast<const char *>(member.here) + shift) continue;
    stop_host(lmp, std::string("the nvalchemi plugin was built with headers of another LAMMPS than "
                               "this one, although both say the same version: '") +
                       member.name +
                       "' is not where they say. Build the plugin again, with "
                       "-DLAMMPS_SOURCE_DIR=<the source tree of this LAMMPS>");
  }
}
