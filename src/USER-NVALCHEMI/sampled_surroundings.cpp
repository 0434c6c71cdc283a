// SPDX-License-Identifier: GPL-2.0-only

#include "sampled_surroundings.h"

#include "gathered_system.h"
#include "mpi_check.h"
#include "mpi_exchange.h"
#include "pair_nvalchemi.h"

#include "atom.h"
#include "lammps.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

using namespace LAMMPS_NS;

namespace {

bool by_id(const SurroundingAtom &a, const SurroundingAtom &b)
{
  return std::tie(a.tag, a.image[0], a.image[1], a.image[2]) <
         std::tie(b.tag, b.image[0], b.image[1], b.image[2]);
}

int size_of(MPI_Comm comm)
{
  int nprocs;
  NVALCHEMI_MPI(MPI_Comm_size(comm, &nprocs));
  return nprocs;
}

// first places of the parts in a buffer, and its whole length at the end

std::vector<int> starts_of(const std::vector<int> &counts)
{
  std::vector<int> starts(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), starts.begin() + 1);
  return starts;
}

// one number to and from each rank

std::vector<int> transpose(MPI_Comm comm, const std::vector<int> &mine)
{
  std::vector<int> theirs(mine.size());
  NVALCHEMI_MPI(MPI_Alltoall(mine.data(), 1, MPI_INT, theirs.data(), 1, MPI_INT, comm));
  return theirs;
}

std::vector<SurroundingAtom> send_atoms(MPI_Comm comm,
                                        const std::vector<std::vector<SurroundingAtom>> &for_rank,
                                        const std::vector<int> &expected)
{
  std::vector<int> counts;
  std::vector<SurroundingAtom> packed;
  for (const auto &atoms : for_rank) {
    counts.push_back(static_cast<int>(atoms.size()));
    packed.insert(packed.end(), atoms.begin(), atoms.end());
  }
  const auto from = starts_of(counts), to = starts_of(expected);
  std::vector<SurroundingAtom> received(to.back());
  MPI_Datatype record;
  NVALCHEMI_MPI(MPI_Type_contiguous(sizeof(SurroundingAtom), MPI_BYTE, &record));
  NVALCHEMI_MPI(MPI_Type_commit(&record));
  NVALCHEMI_MPI(MPI_Alltoallv(packed.data(), counts.data(), from.data(), record, received.data(),
                              expected.data(), to.data(), record, comm));
  NVALCHEMI_MPI(MPI_Type_free(&record));
  return received;
}

}    // namespace

/* ---------------------------------------------------------------------- */

SurroundingsCollector::SurroundingsCollector(LAMMPS *lmp, PairNvalchemi *pair) :
    comm_(pair->parts().exchange.communicator())
{
  const double length = pair->angstrom_per_length();
  copy_box(lmp, length, box_);
  lattice_ = nvalchemi::make_lattice(box_.cell, box_.periodic);
  std::fill(low_, low_ + 3, std::numeric_limits<double>::infinity());
  std::fill(high_, high_ + 3, -std::numeric_limits<double>::infinity());

  const auto *atom = lmp->atom;
  for (int i = 0; i < atom->nlocal; i++) {
    const int species = pair->model_species(atom->type[i]);
    if (species < 0) continue;
    SurroundingAtom owned = {atom->tag[i], {0, 0, 0}, species, {0.0, 0.0, 0.0}};
    for (int k = 0; k < 3; k++) owned.x[k] = length * atom->x[i][k];
    const auto place = lattice_.fractional({owned.x[0], owned.x[1], owned.x[2]});
    for (int k = 0; k < 3; k++) {
      low_[k] = std::min(low_[k], place[k]);
      high_[k] = std::max(high_[k], place[k]);
    }
    owned_.push_back(owned);
  }
}

/* ----------------------------------------------------------------------
   counts all, keeps as many as the center has room for
------------------------------------------------------------------------- */

std::vector<SurroundingAtom> SurroundingsCollector::atoms_near(const Center &center,
                                                               std::int64_t &found) const
{
  std::vector<SurroundingAtom> near;
  found = 0;
  if (center.reach < 0.0 || owned_.empty()) return near;

  // translations that can bring the box around the owned atoms into reach

  const auto middle = lattice_.fractional({center.x[0], center.x[1], center.x[2]});
  std::int64_t first[3], last[3];
  for (int k = 0; k < 3; k++) {
    const double reach = center.reach / lattice_.height(k);
    first[k] = std::ceil(middle[k] - reach - high_[k]);
    last[k] = std::floor(middle[k] + reach - low_[k]);
    if (lattice_.periodic[k]) continue;
    first[k] = std::max<std::int64_t>(first[k], 0);
    last[k] = std::min<std::int64_t>(last[k], 0);
  }
  const double most = center.reach * center.reach;
  nvalchemi::Integer3 image;
  for (image[0] = first[0]; image[0] <= last[0]; ++image[0])
    for (image[1] = first[1]; image[1] <= last[1]; ++image[1])
      for (image[2] = first[2]; image[2] <= last[2]; ++image[2]) {
        const auto shift = lattice_.translation(image);
        for (const auto &owned : owned_) {
          SurroundingAtom atom = owned;
          double distance = 0.0;
          for (int k = 0; k < 3; k++) {
            atom.image[k] = static_cast<int>(image[k]);
            atom.x[k] += shift[k];
            distance += std::pow(atom.x[k] - center.x[k], 2);
          }
          if (distance <= most && ++found <= center.most) near.push_back(atom);
        }
      }
  return near;
}

/* ---------------------------------------------------------------------- */

nvalchemi::WholeSystem SurroundingsCollector::collect(const Center &mine, std::int64_t &found) const
{
  const int nprocs = size_of(comm_);
  std::vector<Center> centers(nprocs);
  NVALCHEMI_MPI(MPI_Allgather(&mine, sizeof(Center), MPI_BYTE, centers.data(), sizeof(Center),
                              MPI_BYTE, comm_));
  std::vector<std::vector<SurroundingAtom>> for_rank;
  std::vector<int> counts;
  for (const auto &center : centers) {
    std::int64_t near = 0;
    for_rank.push_back(atoms_near(center, near));
    counts.push_back(static_cast<int>(std::min<std::int64_t>(near, INT_MAX)));
  }

  // whoever would get too much says so before it is sent

  auto expected = transpose(comm_, counts);
  found = std::accumulate(expected.begin(), expected.end(), std::int64_t(0));
  if (found > mine.most) expected.assign(nprocs, 0);
  const auto wanted = transpose(comm_, expected);
  for (int rank = 0; rank < nprocs; rank++)
    if (wanted[rank] == 0) for_rank[rank].clear();
  auto atoms = send_atoms(comm_, for_rank, expected);

  std::sort(atoms.begin(), atoms.end(), by_id);
  const auto center = std::find_if(atoms.begin(), atoms.end(), [&](const SurroundingAtom &atom) {
    return atom.tag == mine.tag && !atom.image[0] && !atom.image[1] && !atom.image[2];
  });
  if (center != atoms.end()) std::rotate(atoms.begin(), center, center + 1);

  nvalchemi::WholeSystem surroundings = box_;
  std::fill(surroundings.periodic, surroundings.periodic + 3, false);
  for (const auto &atom : atoms) {
    surroundings.species.push_back(atom.species);
    surroundings.positions.insert(surroundings.positions.end(), atom.x, atom.x + 3);
  }
  return surroundings;
}
