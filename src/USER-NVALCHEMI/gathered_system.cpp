// SPDX-License-Identifier: GPL-2.0-only

#include "gathered_system.h"

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "lammps.h"
#include "pair_nvalchemi.h"

#include <mpi.h>

#include <algorithm>
#include <numeric>

using namespace LAMMPS_NS;

namespace {

// one atom on its way to rank 0

struct AtomRecord {
  tagint tag;
  int species;
  int in_group;
  double x[3];
  double energy;
  double f[3];
};

std::vector<AtomRecord> local_records(LAMMPS *lmp, PairNvalchemi *pair, int groupbit)
{
  const auto *atom = lmp->atom;
  const auto &contribution = pair->contribution();
  const double length = pair->angstrom_per_length();
  const double energy = pair->ev_per_energy();

  std::vector<AtomRecord> records;
  for (int i = 0; i < atom->nlocal; i++) {
    const int species = pair->model_species(atom->type[i]);
    if (species < 0) continue;
    AtomRecord record = {};
    record.tag = atom->tag[i];
    record.species = species;
    record.in_group = (atom->mask[i] & groupbit) != 0;
    record.energy = contribution.atomic_energies[i] * energy;
    for (int k = 0; k < 3; k++) {
      record.x[k] = atom->x[i][k] * length;
      record.f[k] = contribution.forces[3 * i + k] * energy / length;
    }
    records.push_back(record);
  }
  return records;
}

// records of all ranks on rank 0, rank after rank; counts (nprocs,) there as well

std::vector<AtomRecord> gather_records(LAMMPS *lmp, const std::vector<AtomRecord> &mine,
                                       std::vector<int> &counts)
{
  const MPI_Comm world = lmp->world;
  const bool root = lmp->comm->me == 0;
  const int count = static_cast<int>(mine.size());
  counts.assign(root ? lmp->comm->nprocs : 0, 0);
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, world);

  std::vector<int> starts(counts.size(), 0);
  if (root) std::partial_sum(counts.begin(), counts.end() - 1, starts.begin() + 1);
  std::vector<AtomRecord> all(root ? starts.back() + counts.back() : 0);

  MPI_Datatype record;
  MPI_Type_contiguous(sizeof(AtomRecord), MPI_BYTE, &record);
  MPI_Type_commit(&record);
  MPI_Gatherv(mine.data(), count, record, all.data(), counts.data(), starts.data(), record, 0,
              world);
  MPI_Type_free(&record);
  return all;
}

// energy and virial are parts that LAMMPS would sum over ranks

void sum_global_parts(LAMMPS *lmp, PairNvalchemi *pair, nvalchemi::DecomposedEvaluation &sum)
{
  const auto &contribution = pair->contribution();
  double mine[7], all[7] = {0.0};
  mine[0] = contribution.energy;
  std::copy_n(contribution.virial, 6, mine + 1);
  MPI_Reduce(mine, all, 7, MPI_DOUBLE, MPI_SUM, 0, lmp->world);
  sum.energy = all[0] * pair->ev_per_energy();
  for (int k = 0; k < 6; k++) sum.virial[k] = all[1 + k] * pair->ev_per_energy();
}

}    // namespace

/* ----------------------------------------------------------------------
   a 2d system has no images along z
------------------------------------------------------------------------- */

void LAMMPS_NS::copy_box(LAMMPS *lmp, double length, nvalchemi::WholeSystem &system)
{
  const auto *domain = lmp->domain;
  const double cell[9] = {domain->xprd, 0.0,        0.0,        domain->xy,  domain->yprd,
                          0.0,          domain->xz, domain->yz, domain->zprd};
  for (int k = 0; k < 9; k++) system.cell[k] = cell[k] * length;
  system.periodic[0] = domain->xperiodic != 0;
  system.periodic[1] = domain->yperiodic != 0;
  system.periodic[2] = domain->zperiodic != 0 && domain->dimension == 3;
}

/* ---------------------------------------------------------------------- */

bigint LAMMPS_NS::count_mapped_atoms(LAMMPS *lmp, PairNvalchemi *pair, int groupbit)
{
  bigint mine = 0, all = 0;
  const auto *atom = lmp->atom;
  for (int i = 0; i < atom->nlocal; i++)
    if (pair->model_species(atom->type[i]) >= 0 && (!groupbit || (atom->mask[i] & groupbit)))
      mine++;
  MPI_Allreduce(&mine, &all, 1, MPI_LMP_BIGINT, MPI_SUM, lmp->world);
  return all;
}

/* ---------------------------------------------------------------------- */

GatheredSystem LAMMPS_NS::gather_system(LAMMPS *lmp, PairNvalchemi *pair, int groupbit)
{
  std::vector<int> counts;
  const auto records = gather_records(lmp, local_records(lmp, pair, groupbit), counts);

  GatheredSystem gathered;
  copy_box(lmp, pair->angstrom_per_length(), gathered.system);
  sum_global_parts(lmp, pair, gathered.decomposed);

  std::vector<int> owners;
  for (std::size_t rank = 0; rank < counts.size(); rank++)
    owners.insert(owners.end(), counts[rank], static_cast<int>(rank));
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return records[a].tag < records[b].tag; });
  for (const auto k : order) {
    const auto &record = records[k];
    gathered.tags.push_back(record.tag);
    gathered.owners.push_back(owners[k]);
    gathered.in_group.push_back(record.in_group != 0);
    gathered.system.species.push_back(record.species);
    gathered.decomposed.atomic_energies.push_back(record.energy);
    for (int d = 0; d < 3; d++) {
      gathered.system.positions.push_back(record.x[d]);
      gathered.decomposed.forces.push_back(record.f[d]);
    }
  }
  return gathered;
}
