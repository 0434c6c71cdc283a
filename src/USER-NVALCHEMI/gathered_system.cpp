// SPDX-License-Identifier: GPL-2.0-only

#include "gathered_system.h"

#include "mpi_exchange.h"
#include "model_graph.h"
#include "pair_nvalchemi.h"
#include "subdomain.h"

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "lammps.h"

#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace LAMMPS_NS;

namespace {

// one atom on its way to rank 0

struct AtomRecord {
  tagint tag;
  int species;
  int in_group;
  double x[3];
  double charge;
  double face_distance;
  double energy;
  double f[3];
  double virial[6];
  nvalchemi::SeenNeighbors seen;
};

// neighbours of each owned atom as the model was told of them

std::vector<nvalchemi::SeenNeighbors> seen_neighbors(LAMMPS *lmp, PairNvalchemi *pair)
{
  const ModelGraph &rows = pair->parts().graph;
  const HostEdges edges = rows.edges_on_host();
  const tagint *tag = lmp->atom->tag;
  std::vector<nvalchemi::SeenNeighbors> seen(lmp->atom->nlocal);
  for (std::int64_t edge = 0; edge < edges.count; edge++) {
    auto &atom = seen[rows.atom_of_row(edges.receiver[edge])];
    atom.edges++;
    atom.senders += nvalchemi::hash_of_atom(tag[rows.atom_of_row(edges.sender[edge])]);
    for (int k = 0; k < 3; k++) atom.vectors[k] += edges.vector[3 * edge + k];
  }
  return seen;
}

void add_contribution(PairNvalchemi *pair, int i, AtomRecord &record)
{
  const auto &contribution = pair->contribution();
  const double energy = pair->ev_per_energy();
  record.energy = contribution.atomic_energies[i] * energy;
  for (int k = 0; k < 3; k++)
    record.f[k] = contribution.forces[3 * i + k] * energy / pair->angstrom_per_length();
  if (contribution.virials.empty()) return;
  for (int k = 0; k < 6; k++) record.virial[k] = contribution.virials[6 * i + k] * energy;
}

std::vector<AtomRecord> local_records(LAMMPS *lmp, PairNvalchemi *pair, int groupbit,
                                      bool has_record)
{
  const auto *atom = lmp->atom;
  const double length = pair->angstrom_per_length();
  const SubDomain mine(*lmp->domain);
  const ModelGraph &rows = pair->parts().graph;
  const auto seen =
      has_record ? seen_neighbors(lmp, pair) : std::vector<nvalchemi::SeenNeighbors>();

  std::vector<AtomRecord> records;
  for (int i = 0; i < atom->nlocal; i++) {
    const int species = pair->model_species(atom->type[i]);
    if (species < 0) continue;
    AtomRecord record = {};
    record.tag = atom->tag[i];
    record.species = species;
    record.in_group = (atom->mask[i] & groupbit) != 0;
    for (int k = 0; k < 3; k++) record.x[k] = atom->x[i][k] * length;
    record.charge = charge_of(rows, atom->q, i);
    const double distance = mine.face_distance(atom->x[i]);
    record.face_distance = distance < 0.0 ? -1.0 : distance * length;
    if (has_record) {
      add_contribution(pair, i, record);
      record.seen = seen[i];
    }
    records.push_back(record);
  }
  return records;
}

// records of all ranks on rank 0, rank after rank; counts (nprocs,) there as well

std::vector<int> starts_of(const std::vector<int> &counts)
{
  std::vector<int> starts(counts.size(), 0);
  if (!counts.empty()) std::partial_sum(counts.begin(), counts.end() - 1, starts.begin() + 1);
  return starts;
}

template <typename Record> std::vector<Record>
gather_records(LAMMPS *lmp, const std::vector<Record> &mine, std::vector<int> &counts)
{
  const MPI_Comm world = lmp->world;
  const bool root = lmp->comm->me == 0;
  const int count = static_cast<int>(mine.size());
  counts.assign(root ? lmp->comm->nprocs : 0, 0);
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, world);

  const auto starts = starts_of(counts);
  std::vector<Record> all(root ? starts.back() + counts.back() : 0);

  MPI_Datatype record;
  MPI_Type_contiguous(sizeof(Record), MPI_BYTE, &record);
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

// rows and messages of this rank; natoms: of the style, on all ranks

void count_rows(LAMMPS *lmp, PairNvalchemi *pair, bigint natoms, nvalchemi::RunPart &part)
{
  const auto used = pair->parts();
  const nvalchemi::AtomGraph &graph = used.graph.graph();
  part.owned = graph.n_owned;
  part.halo = graph.n_rows - graph.n_owned;
  part.edges = graph.n_edges;
  std::set<std::int64_t> present;
  for (std::int64_t row = 0; row < graph.n_rows; row++)
    present.insert(used.graph.id_of_row(row, lmp->atom->tag));
  part.remote = natoms - static_cast<bigint>(present.size());
  const nvalchemi::HaloPlan &plan = used.exchange.plan();
  part.rows_sent = static_cast<std::int64_t>(plan.send_rows.size());
  for (const auto &message : plan.receive_from) part.rows_received += message.count;
}

// further outputs of all ranks; `place`: where the records of the ranks, one after the other, go

void gather_outputs(LAMMPS *lmp, PairNvalchemi *pair, const std::vector<std::size_t> &place,
                    nvalchemi::ExtraOutputs &outputs)
{
  for (const auto &[key, mine] : pair->contribution().outputs) {
    std::vector<double> values;
    if (!mine.per_node) values = mine.values;
    for (int i = 0; mine.per_node && i < lmp->atom->nlocal; i++)
      if (pair->model_species(lmp->atom->type[i]) >= 0)
        values.insert(values.end(), &mine.values[i * mine.width],
                      &mine.values[i * mine.width] + mine.width);
    std::vector<int> counts;
    const auto all = gather_records(lmp, values, counts);
    auto &output = outputs[key];
    output.per_node = mine.per_node;
    output.width = mine.width;
    output.values = all;
    if (!mine.per_node || all.size() != place.size() * mine.width) continue;
    for (std::size_t k = 0; k < place.size(); k++)
      std::copy_n(&all[k * mine.width], mine.width, &output.values[place[k] * mine.width]);
  }
}

// what the user gives; `place` as above

void gather_inputs(LAMMPS *lmp, PairNvalchemi *pair, const std::vector<std::size_t> &place,
                   nvalchemi::WholeSystem &system)
{
  const ModelGraph &rows = pair->parts().graph;
  const auto &given = rows.given();
  const auto columns = static_cast<std::size_t>(given.columns);
  system.system_inputs = given.system;
  if (columns == 0) return;
  std::vector<double> values;
  for (int i = 0; i < lmp->atom->nlocal; i++) {
    if (pair->model_species(lmp->atom->type[i]) < 0) continue;
    const double *const mine = &given.atoms[rows.row_of_atom(i) * columns];
    values.insert(values.end(), mine, mine + columns);
  }
  std::vector<int> counts;
  const auto all = gather_records(lmp, values, counts);
  system.atom_inputs.resize(all.size());
  for (std::size_t k = 0; k < all.size() / columns; k++)
    std::copy_n(&all[k * columns], columns, &system.atom_inputs[place[k] * columns]);
}

void add_atom(const AtomRecord &record, int owner, bool has_charges, bool has_virials,
              bool has_record, GatheredSystem &gathered)
{
  auto &atoms = gathered.atoms;
  atoms.ids.push_back(record.tag);
  atoms.owners.push_back(owner);
  atoms.face_distances.push_back(record.face_distance);
  atoms.seen.push_back(record.seen);
  atoms.system.species.push_back(record.species);
  atoms.system.positions.insert(atoms.system.positions.end(), record.x, record.x + 3);
  if (has_charges) atoms.system.charges.push_back(record.charge);
  gathered.in_group.push_back(record.in_group != 0);
  if (!has_record) return;
  auto &found = gathered.decomposed;
  found.atomic_energies.push_back(record.energy);
  found.forces.insert(found.forces.end(), record.f, record.f + 3);
  if (has_virials)
    found.atomic_virials.insert(found.atomic_virials.end(), record.virial, record.virial + 6);
}

}    // namespace

/* ---------------------------------------------------------------------- */

bool LAMMPS_NS::has_charges(LAMMPS *lmp, PairNvalchemi *pair)
{
  return lmp->atom->q_flag != 0 || pair->parts().graph.given().has_charges;
}

/* ---------------------------------------------------------------------- */

double LAMMPS_NS::charge_of(const ModelGraph &rows, const double *q, int i)
{
  const auto &given = rows.given();
  const auto row = given.has_charges ? rows.row_of_atom(i) : 0;
  if (given.has_charges && row < static_cast<std::int64_t>(given.charges.size()))
    return given.charges[row];
  return q ? q[i] : 0.0;
}

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

std::vector<nvalchemi::RunPart> LAMMPS_NS::gather_parts(LAMMPS *lmp, PairNvalchemi *pair,
                                                        bool has_record)
{
  nvalchemi::RunPart part;
  const SubDomain mine(*lmp->domain);
  for (int k = 0; k < 3; k++) {
    part.width[k] = mine.width(k) * pair->angstrom_per_length();
    part.is_cut[k] = mine.is_cut(k) ? 1 : 0;
  }
  const bigint natoms = count_mapped_atoms(lmp, pair);
  if (has_record) count_rows(lmp, pair, natoms, part);
  std::vector<int> counts;
  return gather_records(lmp, std::vector<nvalchemi::RunPart>{part}, counts);
}

/* ---------------------------------------------------------------------- */

GatheredSystem LAMMPS_NS::gather_system(LAMMPS *lmp, PairNvalchemi *pair, int groupbit,
                                        bool has_record)
{
  GatheredSystem gathered;
  const auto records =
      gather_records(lmp, local_records(lmp, pair, groupbit, has_record), gathered.counts);
  gathered.parts = gather_parts(lmp, pair, has_record);
  copy_box(lmp, pair->angstrom_per_length(), gathered.atoms.system);
  std::copy_n(pair->parts().graph.setup_cell(), 9,
              gathered.atoms.system.setup_cell.emplace().begin());
  if (has_record) sum_global_parts(lmp, pair, gathered.decomposed);

  // the same on all ranks, as far as they have atoms

  int has_virials = pair->contribution().virials.empty() ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &has_virials, 1, MPI_INT, MPI_MAX, lmp->world);

  std::vector<int> owners;
  for (std::size_t rank = 0; rank < gathered.counts.size(); rank++)
    owners.insert(owners.end(), gathered.counts[rank], static_cast<int>(rank));
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return records[a].tag < records[b].tag; });
  gathered.place.resize(order.size());
  for (std::size_t at = 0; at < order.size(); at++) {
    gathered.place[order[at]] = at;
    add_atom(records[order[at]], owners[order[at]], has_charges(lmp, pair), has_virials != 0,
             has_record, gathered);
  }
  if (has_record) gather_inputs(lmp, pair, gathered.place, gathered.atoms.system);
  if (has_record) gather_outputs(lmp, pair, gathered.place, gathered.decomposed.extras);
  return gathered;
}

/* ---------------------------------------------------------------------- */

std::vector<double> LAMMPS_NS::send_home(LAMMPS *lmp, PairNvalchemi *pair,
                                         const GatheredSystem &gathered,
                                         const std::vector<double> &values)
{
  std::vector<double> ordered;
  for (const auto at : gathered.place)
    ordered.insert(ordered.end(), &values[3 * at], &values[3 * at] + 3);

  const auto *atom = lmp->atom;
  std::vector<int> mapped;
  for (int i = 0; i < atom->nlocal; i++)
    if (pair->model_species(atom->type[i]) >= 0) mapped.push_back(i);
  std::vector<double> mine(3 * mapped.size());

  const auto starts = starts_of(gathered.counts);
  MPI_Datatype triple;
  MPI_Type_contiguous(3, MPI_DOUBLE, &triple);
  MPI_Type_commit(&triple);
  MPI_Scatterv(ordered.data(), gathered.counts.data(), starts.data(), triple, mine.data(),
               static_cast<int>(mapped.size()), triple, 0, lmp->world);
  MPI_Type_free(&triple);

  std::vector<double> local(3 * atom->nlocal, 0.0);
  for (std::size_t k = 0; k < mapped.size(); k++)
    std::copy_n(&mine[3 * k], 3, &local[3 * mapped[k]]);
  return local;
}
