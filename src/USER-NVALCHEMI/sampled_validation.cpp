// SPDX-License-Identifier: GPL-2.0-only

#include "sampled_validation.h"

#include "gathered_system.h"
#include "mpi_check.h"
#include "mpi_exchange.h"
#include "model_graph.h"
#include "node_share.h"
#include "pair_nvalchemi.h"
#include "sampled_atoms.h"

#include "atom.h"
#include "comm.h"
#include "fmt/format.h"
#include "lammps.h"
#include "update.h"

#include "potentials/session.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <stdexcept>

using namespace LAMMPS_NS;

namespace {

constexpr int ENERGIES = 1, FORCES = 2;    // of nvalchemi::Deviations
constexpr int MOST_MORE_HOPS = 2;
constexpr std::uint64_t OTHER_ORDER = 1;

double distance(const std::vector<double> &a, const std::vector<double> &b)
{
  double largest = 0.0;
  for (std::size_t k = 0; k < a.size(); k++) {
    const double difference = std::fabs(a[k] - b[k]);
    if (!(difference <= largest)) largest = std::isfinite(difference) ? difference : HUGE_VAL;
  }
  return largest;
}

}    // namespace

/* ---------------------------------------------------------------------- */

SampledValidation::SampledValidation(LAMMPS *lmp, PairNvalchemi *pair,
                                     const nvalchemi::SampleSettings &settings, int groupbit,
                                     int threads, const nvalchemi::ValidationTolerance &tolerance) :
    lmp_(lmp),
    pair_(pair), settings_(settings), groupbit_(groupbit), threads_(threads), tolerance_(tolerance),
    comm_(pair->parts().exchange.communicator()), me_(lmp->comm->me)
{
}

/* ---------------------------------------------------------------------- */

SampledVerdict SampledValidation::check(bool first)
{
  const double start = MPI_Wtime();
  const bigint step = lmp_->update->ntimestep;
  SampledVerdict verdict;
  verdict.natoms = count_mapped_atoms(lmp_, pair_);
  verdict.plan = check_plan(lmp_, pair_);

  auto choice = sample_atoms(lmp_, pair_, groupbit_, settings_.seed, step, settings_.count);
  const SurroundingsCollector collector(lmp_, pair_);
  if (first || !reach_known_) find_reach(collector, choice);
  verdict.hops = reach_.hops;
  verdict.cutoff = pair_->parts().session.card().cutoff;
  verdict.beyond_reach = beyond_reach_;
  verdict.energies.not_compared = verdict.forces.not_compared = no_reach_;
  if (no_reach_.empty()) {
    compare_energies(collector, choice, verdict);
    compare_forces(collector, choice, verdict);
  }
  compare_slope(step, verdict);
  verdict.seconds = largest_of(MPI_Wtime() - start);
  return verdict;
}

/* ---------------------------------------------------------------------- */

Center SampledValidation::center_at(std::int64_t row, int hops, std::int64_t most) const
{
  const int i = pair_->parts().graph.atom_of_row(row);
  Center center;
  center.tag = lmp_->atom->tag[i];
  for (int k = 0; k < 3; k++) center.x[k] = lmp_->atom->x[i][k] * pair_->angstrom_per_length();
  center.reach = hops * pair_->parts().session.card().cutoff;
  center.most = most;
  return center;
}

/* ---------------------------------------------------------------------- */

nvalchemi::Cluster SampledValidation::cut(const nvalchemi::WholeSystem &surroundings,
                                          int hops) const
{
  return nvalchemi::cut_cluster(surroundings, pair_->parts().session.card().cutoff, hops,
                                reach_.sums_over_senders);
}

/* ----------------------------------------------------------------------
   how far energies reach: what the exchanges say, and further as long as
   one step more changes the first atom of a rank. Collective.
------------------------------------------------------------------------- */

void SampledValidation::find_reach(const SurroundingsCollector &collector,
                                   const nvalchemi::SampleChoice &choice)
{
  std::string failure;
  try {
    reach_ = nvalchemi::reach_of(pair_->parts().session);
  } catch (const std::exception &problem) {
    failure = problem.what();
  }
  agree({failure});
  reach_known_ = true;
  no_reach_.clear();
  beyond_reach_ = -1.0;
  noise_known_ = false;
  force_noise_ = 0.0;
  if (reach_.endless)
    no_reach_ = "the model sums over the whole system, so that no part of it is enough";

  const int most_hops = reach_.hops + MOST_MORE_HOPS;
  while (no_reach_.empty()) {
    Center center;
    if (!choice.rows.empty())
      center = center_at(choice.rows[0].row, reach_.hops + 1, settings_.room);
    std::int64_t found = 0;
    const auto surroundings = collector.collect(center, found);
    double change = -1.0, scale = 1.0;
    try {
      if (surroundings.size() > 0) change = change_beyond(surroundings, scale);
    } catch (const std::exception &problem) {
      failure = problem.what();
    }
    agree({failure});
    beyond_reach_ = largest_of(std::isnan(change) ? HUGE_VAL : change);
    energy_noise_ = largest_of(energy_noise_);
    scale = largest_of(scale);
    const double allowed = nvalchemi::allowed_difference(ENERGIES, scale, scale, energy_noise_,
                                                         pair_->parts().session.precision(), {});
    if (!(beyond_reach_ > allowed)) return;
    if (++reach_.hops > most_hops)
      no_reach_ = fmt::format("an atom's energy still changes by {:.3g} eV with the atoms that are "
                              "{} steps away, so that no part of the system is enough",
                              beyond_reach_, reach_.hops);
  }
}

/* ----------------------------------------------------------------------
   what one step more changes, and the size of the energy; measures rounding
------------------------------------------------------------------------- */

double SampledValidation::change_beyond(const nvalchemi::WholeSystem &surroundings, double &scale)
{
  const nvalchemi::OpenMPThreads guard(threads_);
  auto &session = pair_->parts().session;
  const auto cluster = cut(surroundings, reach_.hops);
  const double energy = nvalchemi::energy_of_first(session, cluster);
  energy_noise_ = std::fabs(nvalchemi::energy_of_first(session, cluster, OTHER_ORDER) - energy);
  scale = std::max(1.0, std::fabs(energy));
  return std::fabs(nvalchemi::energy_of_first(session, cut(surroundings, reach_.hops + 1)) -
                   energy);
}

/* ---------------------------------------------------------------------- */

SampledValidation::Sample
SampledValidation::energy_sample(std::int64_t row, const nvalchemi::WholeSystem &surroundings,
                                 SampledQuantity &quantity) const
{
  const nvalchemi::OpenMPThreads guard(threads_);
  const int i = pair_->parts().graph.atom_of_row(row);
  const auto cluster = cut(surroundings, reach_.hops);
  quantity.largest_cluster = std::max(quantity.largest_cluster, cluster.atoms.size());

  Sample sample;
  sample.tag = lmp_->atom->tag[i];
  sample.reference = {nvalchemi::energy_of_first(pair_->parts().session, cluster)};
  sample.found = {pair_->contribution().atomic_energies[i] * pair_->ev_per_energy()};
  sample.terms = std::max(1.0, std::fabs(sample.reference[0]));
  return sample;
}

/* ---------------------------------------------------------------------- */

SampledValidation::Sample
SampledValidation::force_sample(std::int64_t row, const nvalchemi::WholeSystem &surroundings,
                                SampledQuantity &quantity)
{
  const nvalchemi::OpenMPThreads guard(threads_);
  const int i = pair_->parts().graph.atom_of_row(row);
  const auto cluster = cut(surroundings, 2 * reach_.hops);
  quantity.largest_cluster = std::max(quantity.largest_cluster, cluster.atoms.size());

  Sample sample;
  sample.tag = lmp_->atom->tag[i];
  const auto force = nvalchemi::force_on_first(pair_->parts().session, cluster);
  sample.reference.assign(force.forces.begin(), force.forces.end());
  sample.terms = force.terms;
  const double unit = pair_->ev_per_energy() / pair_->angstrom_per_length();
  for (int k = 0; k < 3; k++)
    sample.found.push_back(pair_->contribution().forces[3 * i + k] * unit);
  if (!noise_known_) {
    const auto other = nvalchemi::force_on_first(pair_->parts().session, cluster, OTHER_ORDER);
    force_noise_ = distance(sample.reference, {other.forces.begin(), other.forces.end()});
    noise_known_ = true;
  }
  return sample;
}

/* ----------------------------------------------------------------------
   one sampled atom of each rank after the other, one of each stratum first
------------------------------------------------------------------------- */

void SampledValidation::compare_energies(const SurroundingsCollector &collector,
                                         nvalchemi::SampleChoice &choice, SampledVerdict &verdict)
{
  auto &quantity = verdict.energies;
  std::vector<Sample> samples;
  std::int64_t skipped = 0, used = 0;
  const auto rounds = static_cast<std::size_t>(largest_of(choice.rows.size()));
  for (std::size_t k = 0; k < rounds; k++) {
    const bool mine = k < choice.rows.size();
    Center center;
    if (mine && (k < choice.strata.size() || used < settings_.room))
      center = center_at(choice.rows[k].row, reach_.hops, settings_.room);
    std::int64_t found = 0;
    const auto surroundings = collector.collect(center, found);
    used += surroundings.size();
    std::string failure;
    try {
      if (surroundings.size() > 0)
        samples.push_back(energy_sample(choice.rows[k].row, surroundings, quantity));
    } catch (const std::exception &problem) {
      failure = problem.what();
    }
    agree({failure});
    if (!mine || surroundings.size() > 0) continue;
    ++skipped;
    for (auto &stratum : choice.strata)
      if (stratum.neighbor == choice.rows[k].neighbor) --stratum.sampled;
  }
  quantity.skipped = sum_of(skipped);
  judge(quantity, ENERGIES, samples, energy_noise_);
  count_strata(choice.strata, verdict);
  if (quantity.atoms == 0)
    quantity.not_compared =
        fmt::format("more than {} atoms within {} steps of an atom; raise keyword room",
                    settings_.room, reach_.hops);
}

/* ----------------------------------------------------------------------
   as many sampled atoms as there is room for, in their order
------------------------------------------------------------------------- */

void SampledValidation::compare_forces(const SurroundingsCollector &collector,
                                       const nvalchemi::SampleChoice &choice,
                                       SampledVerdict &verdict)
{
  auto &quantity = verdict.forces;
  std::vector<Sample> samples;
  std::int64_t room = settings_.force_room;
  bool goes_on = room > 0;
  for (std::size_t k = 0; largest_of(goes_on && k < choice.rows.size()) > 0.0; k++) {
    goes_on = goes_on && k < choice.rows.size();
    Center center;
    if (goes_on) center = center_at(choice.rows[k].row, 2 * reach_.hops, room);
    std::int64_t found = 0;
    const auto surroundings = collector.collect(center, found);
    room -= found;
    goes_on = goes_on && room > 0;
    std::string failure;
    try {
      if (surroundings.size() > 0)
        samples.push_back(force_sample(choice.rows[k].row, surroundings, quantity));
    } catch (const std::exception &problem) {
      failure = problem.what();
    }
    agree({failure});
  }
  judge(quantity, FORCES, samples, largest_of(force_noise_));
  if (quantity.atoms == 0)
    quantity.not_compared =
        settings_.force_room == 0
            ? "keyword force_room is 0"
            : fmt::format("more than {} atoms within {} steps of an atom; raise keyword force_room",
                          settings_.force_room, 2 * reach_.hops);
}

/* ----------------------------------------------------------------------
   largest difference of all ranks and where it is; collective
------------------------------------------------------------------------- */

void SampledValidation::judge(SampledQuantity &quantity, int kind,
                              const std::vector<Sample> &samples, double noise) const
{
  struct {
    double difference;
    int rank;
  } mine = {-1.0, me_}, worst;
  tagint tag = 0;
  double largest = 0.0, terms = 0.0;
  for (const auto &sample : samples) {
    for (const double value : sample.reference) largest = std::max(largest, std::fabs(value));
    terms = std::max(terms, sample.terms);
    const double difference = distance(sample.reference, sample.found);
    if (difference <= mine.difference) continue;
    mine.difference = difference;
    tag = sample.tag;
  }
  NVALCHEMI_MPI(MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm_));
  NVALCHEMI_MPI(MPI_Bcast(&tag, 1, MPI_LMP_TAGINT, worst.rank, comm_));
  quantity.atoms = sum_of(samples.size());
  quantity.largest_cluster = static_cast<std::int64_t>(largest_of(quantity.largest_cluster));
  quantity.largest = largest_of(largest);
  quantity.difference = worst.difference;
  quantity.tag = tag;
  quantity.owner = worst.rank;
  quantity.tolerance =
      nvalchemi::allowed_difference(kind, quantity.largest, largest_of(terms), noise,
                                    pair_->parts().session.precision(), tolerance_);
}

/* ---------------------------------------------------------------------- */

void SampledValidation::count_strata(const std::vector<nvalchemi::StratumCount> &strata,
                                     SampledVerdict &verdict) const
{
  double bound = 0.0;
  std::int64_t fewest = INT32_MAX;
  for (const auto &stratum : strata) {
    bound = std::max(bound, nvalchemi::bound_on_wrong(stratum.rows, stratum.sampled));
    fewest = std::min(fewest, stratum.sampled);
  }
  verdict.strata = sum_of(strata.size());
  verdict.fewest_sampled = -static_cast<std::int64_t>(largest_of(-static_cast<double>(fewest)));
  verdict.stratum_bound = largest_of(bound);
}

/* ---------------------------------------------------------------------- */

void SampledValidation::agree(const nvalchemi::RankOutcome &outcome) const
{
  const std::string text = nvalchemi::agree_on_failure(comm_, outcome);
  if (!text.empty()) throw std::runtime_error(text);
}

/* ---------------------------------------------------------------------- */

double SampledValidation::largest_of(double mine) const
{
  double largest = 0.0;
  NVALCHEMI_MPI(MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, comm_));
  return largest;
}

/* ---------------------------------------------------------------------- */

std::int64_t SampledValidation::sum_of(std::int64_t mine) const
{
  std::int64_t sum = 0;
  NVALCHEMI_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, comm_));
  return sum;
}
