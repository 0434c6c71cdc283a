// SPDX-License-Identifier: GPL-2.0-only

#include "neighborhood_check.h"

#include "atom.h"
#include "force.h"
#include "lammps.h"
#include "neighbor.h"

#include <sstream>

using namespace LAMMPS_NS;

namespace {

constexpr char REMEDY[] =
    "A model needs every neighbour at full weight. Remove the setting, or allow "
    "it with 'pair_style nvalchemi ... exclusions allow'";

/* ----------------------------------------------------------------------
   weights act on atoms that have bonded partners
------------------------------------------------------------------------- */

bool has_special_neighbors(const Atom &atom)
{
  if (atom.molecular == Atom::ATOMIC) return false;
  if (atom.molecular == Atom::TEMPLATE || !atom.nspecial) return atom.nbonds > 0;
  for (int i = 0; i < atom.nlocal; ++i)
    if (atom.nspecial[i][2] > 0) return true;
  return false;
}

}    // namespace

/* ---------------------------------------------------------------------- */

void ServedPairs::reset(int ntypes)
{
  ntypes_ = ntypes;
  served_.assign((ntypes + 1) * (ntypes + 1), 0);
}

/* ---------------------------------------------------------------------- */

void ServedPairs::add(int itype, int jtype)
{
  served_[itype * (ntypes_ + 1) + jtype] = served_[jtype * (ntypes_ + 1) + itype] = 1;
}

/* ---------------------------------------------------------------------- */

std::string ServedPairs::first_missing(const std::vector<int> &species_of_type) const
{
  for (int i = 1; i <= ntypes_; ++i)
    for (int j = i; j <= ntypes_; ++j)
      if (species_of_type[i] >= 0 && species_of_type[j] >= 0 && !served_[i * (ntypes_ + 1) + j])
        return std::to_string(i) + "-" + std::to_string(j);
  return "";
}

/* ----------------------------------------------------------------------
   asked at each re-neighbouring: fixes set exclusions after the style's
   own initialisation, and hybrid sets weights for each sub-style
------------------------------------------------------------------------- */

std::string LAMMPS_NS::missing_neighbors(LAMMPS *lmp, const ServedPairs &served,
                                         const std::vector<int> &species_of_type)
{
  const Neighbor &neighbor = *lmp->neighbor;
  const double *weights = lmp->force->special_lj;
  if (neighbor.exclude)
    return std::string(
               "neigh_modify exclude is in force (some fixes set it, for example fix gcmc). ") +
           REMEDY;
  if (neighbor.includegroup) return std::string("neigh_modify include is in force. ") + REMEDY;
  if (weights[1] != 1.0 || weights[2] != 1.0 || weights[3] != 1.0) {
    if (has_special_neighbors(*lmp->atom)) {
      std::ostringstream text;
      text << "special_bonds has lj weights " << weights[1] << " " << weights[2] << " "
           << weights[3] << " for bonded atoms, expected 1 1 1 ('special_bonds lj/coul 1 1 1'). "
           << REMEDY;
      return text.str();
    }
  }
  const std::string pair = served.first_missing(species_of_type);
  if (!pair.empty())
    return "pair_style hybrid gives pairs of the atom types " + pair +
           " to another style although both types are mapped to elements. Use hybrid/overlay. " +
           REMEDY;
  return "";
}
