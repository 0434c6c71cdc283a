// SPDX-License-Identifier: GPL-2.0-only

#include "sampled_surroundings.h"

#include "gathered_system.h"
#include "mpi_check.h"
#include "model_graph.h"
#include "mpi_exchange.h"
#include "pair_nvalchemi.h"
#include "rank_mail.h"

#include "atom.h"
#include "lammps.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

using namespace LAMMPS_NS;

namespace {

// what a rank answers when it has heard how much there is

enum Answer { NOTHING, NEAR, ALL };

int size_of(MPI_Comm comm)
{
  int nprocs;
  NVALCHEMI_MPI(MPI_Comm_size(comm, &nprocs));
  return nprocs;
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

  std::copy_n(pair->parts().graph.setup_cell(), 9, box_.setup_cell.emplace().begin());

  const auto *atom = lmp->atom;
  has_charges_ = has_charges(lmp, pair);
  const ModelGraph &rows = pair->parts().graph;
  columns_ = static_cast<std::size_t>(rows.given().columns);
  box_.system_inputs = rows.given().system;
  for (int i = 0; i < atom->nlocal; i++) {
    const int species = pair->model_species(atom->type[i]);
    if (species < 0) continue;
    SurroundingAtom owned = {atom->tag[i], {0, 0, 0}, species, {0.0, 0.0, 0.0}, 0.0, 0};
    owned.charge = charge_of(rows, atom->q, i);
    owned.inputs = static_cast<std::int64_t>(inputs_.size());
    for (std::size_t k = 0; k < columns_; k++)
      inputs_.push_back(rows.given().atoms[rows.row_of_atom(i) * columns_ + k]);
    for (int k = 0; k < 3; k++) owned.x[k] = length * atom->x[i][k];
    const auto place = lattice_.fractional({owned.x[0], owned.x[1], owned.x[2]});
    for (int k = 0; k < 3; k++) {
      low_[k] = std::min(low_[k], place[k]);
      high_[k] = std::max(high_[k], place[k]);
    }
    owned_.push_back(owned);
  }
  const auto mine = static_cast<std::int64_t>(owned_.size());
  NVALCHEMI_MPI(MPI_Allreduce(&mine, &natoms_, 1, MPI_INT64_T, MPI_SUM, comm_));
}

/* ----------------------------------------------------------------------
   counts all, keeps as many as the request has room for
------------------------------------------------------------------------- */

std::vector<SurroundingAtom> SurroundingsCollector::atoms_near(const Center *centers,
                                                               const Request &request,
                                                               std::int64_t &found) const
{
  std::vector<SurroundingAtom> near;
  found = 0;
  if (request.centers == 0 || owned_.empty()) return near;

  // translations that can bring the box around the owned atoms into reach of each center

  struct Range {
    std::int64_t first[3], last[3];
  };
  std::vector<Range> ranges(request.centers);
  Range all = {{LLONG_MAX, LLONG_MAX, LLONG_MAX}, {LLONG_MIN, LLONG_MIN, LLONG_MIN}};
  for (int c = 0; c < request.centers; c++) {
    const double *const x = centers[c].x;
    const auto middle = lattice_.fractional({x[0], x[1], x[2]});
    for (int k = 0; k < 3; k++) {
      const double reach = request.reach / lattice_.height(k);
      auto &first = ranges[c].first[k], &last = ranges[c].last[k];
      first = std::ceil(middle[k] - reach - high_[k]);
      last = std::floor(middle[k] + reach - low_[k]);
      if (!lattice_.periodic[k]) {
        first = std::max<std::int64_t>(first, 0);
        last = std::min<std::int64_t>(last, 0);
      }
      all.first[k] = std::min(all.first[k], first);
      all.last[k] = std::max(all.last[k], last);
    }
  }
  const double most = request.reach * request.reach;
  nvalchemi::Integer3 image;
  std::vector<const double *> reached;
  for (image[0] = all.first[0]; image[0] <= all.last[0]; ++image[0])
    for (image[1] = all.first[1]; image[1] <= all.last[1]; ++image[1])
      for (image[2] = all.first[2]; image[2] <= all.last[2]; ++image[2]) {
        reached.clear();
        for (int c = 0; c < request.centers; c++) {
          bool inside = true;
          for (int k = 0; k < 3; k++)
            inside = inside && ranges[c].first[k] <= image[k] && image[k] <= ranges[c].last[k];
          if (inside) reached.push_back(centers[c].x);
        }
        if (reached.empty()) continue;
        const auto shift = lattice_.translation(image);
        for (const auto &owned : owned_) {
          SurroundingAtom atom = owned;
          for (int k = 0; k < 3; k++) {
            atom.image[k] = static_cast<int>(image[k]);
            atom.x[k] += shift[k];
          }
          const auto close = [&](const double *x) {
            const double dx = atom.x[0] - x[0], dy = atom.x[1] - x[1], dz = atom.x[2] - x[2];
            return dx * dx + dy * dy + dz * dz <= most;
          };
          if (std::any_of(reached.begin(), reached.end(), close) && ++found <= request.most)
            near.push_back(atom);
        }
      }
  return near;
}

/* ---------------------------------------------------------------------- */

nvalchemi::WholeSystem SurroundingsCollector::collect(const std::vector<Center> &mine, double reach,
                                                      std::int64_t most) const
{
  const int nprocs = size_of(comm_);
  const Request request = {static_cast<int>(mine.size()), reach, most};
  std::vector<Request> requests(nprocs);
  NVALCHEMI_MPI(MPI_Allgather(&request, sizeof(Request), MPI_BYTE, requests.data(), sizeof(Request),
                              MPI_BYTE, comm_));
  std::vector<int> bytes;
  for (const auto &one : requests) bytes.push_back(one.centers * static_cast<int>(sizeof(Center)));
  const auto starts = nvalchemi::starts_of(bytes);
  std::vector<Center> centers(starts.back() / sizeof(Center));
  NVALCHEMI_MPI(MPI_Allgatherv(mine.data(), request.centers * static_cast<int>(sizeof(Center)),
                               MPI_BYTE, centers.data(), bytes.data(), starts.data(), MPI_BYTE,
                               comm_));

  std::vector<std::vector<SurroundingAtom>> for_rank;
  std::vector<int> counts;
  for (int rank = 0; rank < nprocs; rank++) {
    std::int64_t near = 0;
    for_rank.push_back(
        atoms_near(centers.data() + starts[rank] / sizeof(Center), requests[rank], near));
    counts.push_back(static_cast<int>(std::min<std::int64_t>(near, INT_MAX)));
  }

  // whoever would get too much says so before it is sent

  const auto expected = nvalchemi::transpose(comm_, counts);
  const auto found = std::accumulate(expected.begin(), expected.end(), std::int64_t(0));
  const bool whole = found > natoms_ && natoms_ <= most;
  const int answer = whole ? ALL : found > most ? NOTHING : NEAR;
  const auto wanted = nvalchemi::transpose(comm_, std::vector<int>(nprocs, answer));
  for (int rank = 0; rank < nprocs; rank++) {
    if (wanted[rank] == NOTHING) for_rank[rank].clear();
    if (wanted[rank] == ALL) for_rank[rank] = owned_;
  }
  std::vector<SurroundingAtom> atoms;
  std::vector<double> inputs;
  if (columns_ > 0) {
    std::vector<std::vector<double>> inputs_for_rank(nprocs);
    for (int rank = 0; rank < nprocs; rank++)
      for (const auto &atom : for_rank[rank])
        inputs_for_rank[rank].insert(inputs_for_rank[rank].end(), inputs_.begin() + atom.inputs,
                                     inputs_.begin() + atom.inputs + columns_);
    for (const auto &from : nvalchemi::deliver(comm_, inputs_for_rank))
      inputs.insert(inputs.end(), from.begin(), from.end());
  }
  for (const auto &from : nvalchemi::deliver(comm_, for_rank))
    atoms.insert(atoms.end(), from.begin(), from.end());
  for (std::size_t k = 0; k < atoms.size(); k++)
    atoms[k].inputs = static_cast<std::int64_t>(k * columns_);
  return in_order(std::move(atoms), inputs, mine, whole);
}

/* ---------------------------------------------------------------------- */

nvalchemi::WholeSystem SurroundingsCollector::in_order(std::vector<SurroundingAtom> atoms,
                                                       const std::vector<double> &inputs,
                                                       const std::vector<Center> &centers,
                                                       bool whole) const
{
  std::map<std::int64_t, std::size_t> rank_of_center;
  for (std::size_t c = 0; c < centers.size(); c++) rank_of_center[centers[c].tag] = c;
  const auto order = [&](const SurroundingAtom &atom) {
    const auto found = rank_of_center.find(atom.tag);
    const bool is_center =
        found != rank_of_center.end() && !atom.image[0] && !atom.image[1] && !atom.image[2];
    return std::make_tuple(is_center ? found->second : centers.size(), atom.tag, atom.image[0],
                           atom.image[1], atom.image[2]);
  };
  std::sort(atoms.begin(), atoms.end(), [&](const SurroundingAtom &a, const SurroundingAtom &b) {
    return order(a) < order(b);
  });
  nvalchemi::WholeSystem surroundings = box_;
  if (!whole) std::fill(surroundings.periodic, surroundings.periodic + 3, false);
  for (const auto &atom : atoms) {
    surroundings.species.push_back(atom.species);
    surroundings.positions.insert(surroundings.positions.end(), atom.x, atom.x + 3);
    if (has_charges_) surroundings.charges.push_back(atom.charge);
    surroundings.atom_inputs.insert(surroundings.atom_inputs.end(), inputs.begin() + atom.inputs,
                                    inputs.begin() + atom.inputs + columns_);
  }
  return surroundings;
}
