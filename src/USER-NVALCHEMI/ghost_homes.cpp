// SPDX-License-Identifier: GPL-2.0-only

#include "ghost_homes.h"

#include "comm.h"

#include <stdexcept>
#include <string>

using namespace LAMMPS_NS;

/* ---------------------------------------------------------------------- */

void GhostHomes::ask(Comm &comm, const std::vector<std::int64_t> &row_of_atom, int nlocal)
{
  const std::size_t nall = row_of_atom.size();
  homes_.assign(2 * nall, -1.0);
  pointers_.resize(nall);
  for (std::size_t i = 0; i < nall; ++i) pointers_[i] = homes_.data() + 2 * i;
  for (int i = 0; i < nlocal; ++i) {
    pointers_[i][0] = comm.me;
    pointers_[i][1] = static_cast<double>(row_of_atom[i]);
  }
  comm.forward_comm_array(2, pointers_.data());
}

/* ---------------------------------------------------------------------- */

std::vector<nvalchemi::GhostHome> GhostHomes::of(const std::vector<int> &ghosts) const
{
  std::vector<nvalchemi::GhostHome> found;
  found.reserve(ghosts.size());
  for (const int j : ghosts) {
    const double *home = pointers_[j];
    if (home[1] < 0.0)
      throw std::runtime_error("a ghost atom of a mapped type is not in the neighbour list of its "
                               "owner, rank " +
                               std::to_string(static_cast<int>(home[0])) +
                               ". Remove neigh_modify include");
    found.push_back({static_cast<int>(home[0]), static_cast<std::int64_t>(home[1])});
  }
  return found;
}
