// SPDX-License-Identifier: GPL-2.0-only

#include "sampled_validation.h"

#include "mpi_check.h"
#include "mpi_exchange.h"
#include "model_graph.h"
#include "node_share.h"
#include "pair_nvalchemi.h"
#include "rank_agreement.h"

#include "atom.h"
#include "domain.h"
#include "fmt/format.h"
#include "lammps.h"
#include "neighbor.h"

#include "potentials/session.hpp"
#include "potentials/validator/sampled_slope.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

using namespace LAMMPS_NS;

namespace {

// a direction for owned and ghost atoms alike: a ghost moves as its owner does, because both get it
// from the id; atoms outside of the group stay where they are

std::vector<double> directions(LAMMPS *lmp, int groupbit, std::uint64_t seed, bigint step)
{
  const auto *atom = lmp->atom;
  const int nall = atom->nlocal + atom->nghost;
  std::vector<double> u(3 * nall, 0.0);
  for (int i = 0; i < nall; i++) {
    if (!(atom->mask[i] & groupbit)) continue;
    const auto direction = nvalchemi::random_direction(seed, step, atom->tag[i]);
    for (int k = 0; k < lmp->domain->dimension; k++) u[3 * i + k] = direction[k];
  }
  return u;
}

// the same atoms, `step` times `u` away

class DisplacedPositions {
 public:
  DisplacedPositions(const Atom &atom, const std::vector<double> &u, double step) :
      values_(u.size()), pointers_(u.size() / 3)
  {
    for (std::size_t i = 0; i < pointers_.size(); i++) {
      pointers_[i] = &values_[3 * i];
      for (int k = 0; k < 3; k++) values_[3 * i + k] = atom.x[i][k] + step * u[3 * i + k];
    }
  }
  const double *const *x() const { return pointers_.data(); }

 private:
  std::vector<double> values_;
  std::vector<const double *> pointers_;
};

// this rank's parts of what the tolerance and the comparison need

enum Sum { PROJECTION, FORCE_SQUARE, MOVABLE, ENERGY_SQUARE, SLOPE, SUMS };

}    // namespace

/* ----------------------------------------------------------------------
   energies (eV) of the owned rows with all atoms, ghosts too, at positions
   `x` (nall, 3) that differ from LAMMPS's by less than the skin. Collective.
------------------------------------------------------------------------- */

std::vector<double> SampledValidation::energies_at(const double *const *x)
{
  const auto *atom = lmp_->atom;
  ModelGraph &graph = pair_->parts().graph;
  nvalchemi::MpiExchange &exchange = pair_->parts().exchange;
  AtomView atoms{atom->nlocal, atom->nlocal + atom->nghost, x, atom->type, atom->q};
  atoms.displaced = true;
  const bool replicates = graph.settings().replicates_geometry;
  std::vector<double> energies;
  nvalchemi::RankOutcome outcome;
  if (replicates) graph.replicate(atoms, exchange);
  exchange.begin_evaluation(pair_->parts().session.energy_schedule());
  try {
    const nvalchemi::OpenMPThreads guard(threads_);
    nvalchemi::AtomGraph displaced = graph.update(atoms, lmp_->domain->h);
    displaced.results_stay = false;
    exchange.use_stream(displaced.cuda_stream);
    energies =
        pair_->parts().session.evaluate_energies(displaced, exchange.for_model()).atomic_energies;
    exchange.end_evaluation();
  } catch (const std::exception &problem) {
    outcome.failure = problem.what();
    outcome.caused_by_peer = exchange.peer_failed();
    exchange.finish_poisoned();
  }
  agree(outcome);
  atoms.x = atom->x;
  if (replicates) graph.replicate(atoms, exchange);
  graph.update(atoms, lmp_->domain->h);
  return energies;
}

/* ----------------------------------------------------------------------
   collective; LAMMPS's positions stay
------------------------------------------------------------------------- */

void SampledValidation::compare_slope(bigint step, SampledVerdict &verdict)
{
  const std::string dtype = pair_->parts().session.precision();
  const auto points = nvalchemi::slope_points(dtype);
  const double length = pair_->angstrom_per_length();
  double farthest = 0.0;
  for (const auto &point : points)
    farthest = std::max(farthest, std::fabs(point.step) * nvalchemi::kLongestDirection);
  if (lmp_->neighbor->skin * length < 2.0 * farthest) {
    verdict.no_slope =
        fmt::format("it moves atoms by up to {:.3g} Angstrom, which the neighbour "
                    "lists must hold; use a neighbor skin of at least {:.3g} Angstrom",
                    farthest, 2.0 * farthest);
    return;
  }

  const auto u = directions(lmp_, groupbit_, settings_.seed, step);
  const auto &record = pair_->contribution();
  const ModelGraph &graph = pair_->parts().graph;
  const double unit = pair_->ev_per_energy() / length;
  double mine[SUMS] = {0.0}, all[SUMS];
  for (std::int64_t row = 0; row < graph.n_owned(); row++) {
    const int i = graph.atom_of_row(row);
    mine[ENERGY_SQUARE] += std::pow(record.atomic_energies[i] * pair_->ev_per_energy(), 2);
    if (!(lmp_->atom->mask[i] & groupbit_)) continue;
    mine[MOVABLE] += 1.0;
    for (int k = 0; k < 3; k++) {
      const double force = record.forces[3 * i + k] * unit;
      mine[PROJECTION] += force * u[3 * i + k];
      mine[FORCE_SQUARE] += force * force;
    }
  }

  std::array<std::vector<double>, 4> energies;
  for (std::size_t p = 0; p < points.size(); p++)
    energies[p] = energies_at(DisplacedPositions(*lmp_->atom, u, points[p].step / length).x());
  mine[SLOPE] = nvalchemi::slope_of(points, energies);
  NVALCHEMI_MPI(MPI_Allreduce(mine, all, SUMS, MPI_DOUBLE, MPI_SUM, comm_));

  verdict.projected_forces = all[PROJECTION];
  verdict.slope = -all[SLOPE];
  verdict.slope_tolerance =
      nvalchemi::slope_tolerance(dtype, std::sqrt(all[FORCE_SQUARE]), std::sqrt(all[ENERGY_SQUARE]),
                                 static_cast<std::int64_t>(all[MOVABLE]), tolerance_);
}
