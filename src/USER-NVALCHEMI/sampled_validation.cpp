// SPDX-License-Identifier: GPL-2.0-only

#include "sampled_validation.h"

#include "exchange_check.h"
#include "gathered_system.h"
#include "mpi_check.h"
#include "mpi_exchange.h"
#include "model_graph.h"
#include "node_share.h"
#include "pair_nvalchemi.h"
#include "rank_mail.h"
#include "sampled_atoms.h"
#include "subdomain.h"

#include "atom.h"
#include "comm.h"
#include "fmt/format.h"
#include "lammps.h"
#include "update.h"

#include "potentials/session.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
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

SampledVerdict SampledValidation::stopped(const std::string &reason) const
{
  SampledVerdict verdict;
  verdict.failure = reason;
  verdict.natoms = count_mapped_atoms(lmp_, pair_);
  verdict.seed = settings_.seed;
  verdict.count = settings_.count;
  verdict.room = settings_.room;
  verdict.force_room = settings_.force_room;
  verdict.cutoff = pair_->parts().session.card().cutoff;
  if (!reason.empty()) verdict.mark_unreached();
  return verdict;
}

/* ---------------------------------------------------------------------- */

SampledVerdict SampledValidation::check(bool first)
{
  const double start = MPI_Wtime();
  const bigint step = lmp_->update->ntimestep;
  SampledVerdict verdict = stopped("");
  force_errors_.assign(3 * static_cast<std::size_t>(lmp_->atom->nlocal), 0.0);
  double bytes = 0.0;
  for (const auto &exchange : pair_->parts().exchange.records()) {
    verdict.trace.events.push_back(exchange.event);
    bytes += exchange.bytes_sent;
  }
  verdict.trace.planned = pair_->parts().session.planned_exchanges();
  verdict.bytes_per_step = sum_of(static_cast<std::int64_t>(bytes));

  std::string failure;
  verdict.plan = check_exchange(lmp_, pair_, failure);
  if (!failure.empty()) {
    verdict.plan.good = false;
    verdict.plan.failure = failure;
    verdict.failure = "a rank failed in the check of the exchange: " + failure;
  }
  if (verdict.failure.empty()) compare(step, first, verdict);
  if (!verdict.failure.empty()) verdict.mark_unreached();
  verdict.seconds = largest_of(MPI_Wtime() - start);
  return verdict;
}

/* ----------------------------------------------------------------------
   what `step` draws; collective
------------------------------------------------------------------------- */

void SampledValidation::compare(bigint step, bool first, SampledVerdict &verdict)
{
  const char *part = "the undecomposed reference of sampled atoms";
  try {
    const auto choice = sample_atoms(lmp_, pair_, groupbit_, settings_.seed, step, settings_.count);
    const SurroundingsCollector collector(lmp_, pair_);
    if (first || !reach_known_) find_reach(collector, choice);
    verdict.hops = reach_.hops;
    verdict.beyond_reach = beyond_reach_;
    verdict.energies.not_compared = verdict.forces.not_compared = no_reach_;
    if (no_reach_.empty()) {
      const auto energies = compare_energies(collector, choice, verdict);
      const auto forces = compare_forces(collector, choice, verdict);
      keep_force_errors(forces);
      gather_compared(energies, forces, verdict);
    }
    part = "the energies along a random direction";
    compare_slope(step, verdict);
  } catch (const std::exception &problem) {
    verdict.failure = fmt::format("{} could not be evaluated: {}", part, problem.what());
  }
}

/* ---------------------------------------------------------------------- */

nvalchemi::WholeSystem SampledValidation::around(const SurroundingsCollector &collector,
                                                 const Rows &rows, int hops,
                                                 std::int64_t most) const
{
  std::vector<Center> centers;
  for (const auto row : rows) {
    const int i = pair_->parts().graph.atom_of_row(row);
    Center center;
    center.tag = lmp_->atom->tag[i];
    for (int k = 0; k < 3; k++) center.x[k] = lmp_->atom->x[i][k] * pair_->angstrom_per_length();
    centers.push_back(center);
  }
  return collector.collect(centers, hops * pair_->parts().session.card().cutoff, most);
}

/* ---------------------------------------------------------------------- */

nvalchemi::Cluster SampledValidation::cut(const nvalchemi::WholeSystem &surroundings,
                                          std::int64_t centers, int hops) const
{
  return nvalchemi::cut_cluster(surroundings, centers, pair_->parts().session.card().cutoff, hops,
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
  force_noise_ = 0.0;
  if (reach_.endless)
    no_reach_ = "the model sums over the whole system, so that no part of it is enough";

  const int most_hops = reach_.hops + MOST_MORE_HOPS;
  while (no_reach_.empty()) {
    const Rows first(choice.rows.begin(), choice.rows.begin() + !choice.rows.empty());
    const auto surroundings = around(collector, first, reach_.hops + 1, settings_.room);
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
  const auto energy_of = [&](const nvalchemi::Cluster &cluster, std::uint64_t order) {
    return nvalchemi::energies_of_centers(session, cluster, order)[0];
  };
  const auto cluster = cut(surroundings, 1, reach_.hops);
  const double energy = energy_of(cluster, 0);
  energy_noise_ = std::fabs(energy_of(cluster, OTHER_ORDER) - energy);
  scale = std::max(1.0, std::fabs(energy));
  return std::fabs(energy_of(cut(surroundings, 1, reach_.hops + 1), 0) - energy);
}

/* ---------------------------------------------------------------------- */

void SampledValidation::add_energies(const Rows &rows, const nvalchemi::WholeSystem &surroundings,
                                     SampledQuantity &quantity, std::vector<Sample> &samples) const
{
  const nvalchemi::OpenMPThreads guard(threads_);
  const auto cluster = cut(surroundings, static_cast<std::int64_t>(rows.size()), reach_.hops);
  quantity.largest_cluster = std::max(quantity.largest_cluster, cluster.atoms.size());
  const auto energies = nvalchemi::energies_of_centers(pair_->parts().session, cluster);
  for (std::size_t k = 0; k < rows.size(); k++) {
    const int i = pair_->parts().graph.atom_of_row(rows[k]);
    Sample sample;
    sample.row = rows[k];
    sample.tag = lmp_->atom->tag[i];
    sample.reference = {energies[k]};
    sample.found = {pair_->contribution().atomic_energies[i] * pair_->ev_per_energy()};
    sample.terms = std::max(1.0, std::fabs(energies[k]));
    samples.push_back(sample);
  }
}

/* ---------------------------------------------------------------------- */

void SampledValidation::add_forces(const Rows &rows, const nvalchemi::WholeSystem &surroundings,
                                   SampledQuantity &quantity, std::vector<Sample> &samples)
{
  const nvalchemi::OpenMPThreads guard(threads_);
  auto &session = pair_->parts().session;
  const auto cluster = cut(surroundings, static_cast<std::int64_t>(rows.size()), 2 * reach_.hops);
  quantity.largest_cluster = std::max(quantity.largest_cluster, cluster.atoms.size());
  const auto found = nvalchemi::forces_on_centers(session, cluster);
  if (force_noise_ == 0.0)
    force_noise_ =
        distance(found.forces, nvalchemi::forces_on_centers(session, cluster, OTHER_ORDER).forces);
  const double unit = pair_->ev_per_energy() / pair_->angstrom_per_length();
  for (std::size_t k = 0; k < rows.size(); k++) {
    const int i = pair_->parts().graph.atom_of_row(rows[k]);
    Sample sample;
    sample.row = rows[k];
    sample.tag = lmp_->atom->tag[i];
    sample.reference.assign(&found.forces[3 * k], &found.forces[3 * k] + 3);
    sample.terms = found.terms;
    for (int axis = 0; axis < 3; axis++)
      sample.found.push_back(pair_->contribution().forces[3 * i + axis] * unit);
    samples.push_back(sample);
  }
}

/* ----------------------------------------------------------------------
   all sampled atoms of a rank at once, or as many as there is room for
------------------------------------------------------------------------- */

std::vector<SampledValidation::Sample>
SampledValidation::compare_energies(const SurroundingsCollector &collector,
                                    const nvalchemi::SampleChoice &choice, SampledVerdict &verdict)
{
  auto &quantity = verdict.energies;
  std::vector<Sample> samples;
  std::int64_t skipped = 0;
  std::size_t next = 0, batch = choice.rows.size();
  while (largest_of(next < choice.rows.size()) > 0.0) {
    const auto count = std::min(batch, choice.rows.size() - next);
    const auto from = choice.rows.begin() + static_cast<std::ptrdiff_t>(next);
    const Rows rows(from, from + static_cast<std::ptrdiff_t>(count));
    const auto surroundings = around(collector, rows, reach_.hops, settings_.room);
    const bool has_room = surroundings.size() > 0;
    std::string failure;
    try {
      if (has_room) add_energies(rows, surroundings, quantity, samples);
    } catch (const std::exception &problem) {
      failure = problem.what();
    }
    agree({failure});
    if (!has_room && count > 1) {
      batch = (count + 1) / 2;
      continue;
    }
    if (!has_room) skipped += static_cast<std::int64_t>(count);
    next += count;
  }
  quantity.skipped = sum_of(skipped);
  judge(quantity, ENERGIES, samples, energy_noise_);
  count_strata(choice, samples, verdict);
  if (quantity.atoms == 0)
    quantity.not_compared =
        fmt::format("more than {} atoms within {} steps of an atom; raise keyword room",
                    settings_.room, reach_.hops);
  return samples;
}

/* ----------------------------------------------------------------------
   the first sampled atoms of a rank, as many as there is room for
------------------------------------------------------------------------- */

std::vector<SampledValidation::Sample>
SampledValidation::compare_forces(const SurroundingsCollector &collector,
                                  const nvalchemi::SampleChoice &choice, SampledVerdict &verdict)
{
  auto &quantity = verdict.forces;
  std::vector<Sample> samples;
  Rows rows;
  if (settings_.force_room > 0) rows = choice.rows;
  while (largest_of(!rows.empty()) > 0.0) {
    const auto surroundings = around(collector, rows, 2 * reach_.hops, settings_.force_room);
    const bool has_room = surroundings.size() > 0;
    std::string failure;
    try {
      if (has_room) add_forces(rows, surroundings, quantity, samples);
    } catch (const std::exception &problem) {
      failure = problem.what();
    }
    agree({failure});
    if (has_room || rows.size() == 1)
      rows.clear();
    else
      rows.resize((rows.size() + 1) / 2);
  }
  judge(quantity, FORCES, samples, largest_of(force_noise_));
  if (quantity.atoms == 0)
    quantity.not_compared =
        settings_.force_room == 0
            ? "keyword force_room is 0"
            : fmt::format("more than {} atoms within {} steps of an atom; raise keyword force_room",
                          settings_.force_room, 2 * reach_.hops);
  return samples;
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
  quantity.noise = noise;
  quantity.tag = tag;
  quantity.owner = worst.rank;
  quantity.tolerance =
      nvalchemi::allowed_difference(kind, quantity.largest, largest_of(terms), noise,
                                    pair_->parts().session.precision(), tolerance_);
}

/* ---------------------------------------------------------------------- */

void SampledValidation::count_strata(const nvalchemi::SampleChoice &choice,
                                     const std::vector<Sample> &samples,
                                     SampledVerdict &verdict) const
{
  std::map<std::int64_t, double> differences;
  for (const auto &sample : samples)
    differences[sample.row] = distance(sample.reference, sample.found);
  std::vector<std::vector<nvalchemi::StratumReached>> mine(lmp_->comm->nprocs);
  double bound = 0.0;
  for (const auto &stratum : choice.strata) {
    nvalchemi::StratumReached reached;
    reached.rank = me_;
    reached.neighbor = stratum.neighbor;
    reached.rows = stratum.rows;
    for (const auto row : stratum.drawn) {
      const auto found = differences.find(row);
      if (found == differences.end()) continue;    // left out for want of room
      reached.sampled++;
      reached.difference = std::max(reached.difference, found->second);
      if (!(found->second <= verdict.energies.tolerance)) reached.wrong++;
    }
    bound = std::max(bound, reached.bound());
    mine[0].push_back(reached);
  }
  verdict.stratum_bound = largest_of(bound);
  for (const auto &from : nvalchemi::deliver(comm_, mine))
    verdict.strata.insert(verdict.strata.end(), from.begin(), from.end());
}

/* ---------------------------------------------------------------------- */

void SampledValidation::keep_force_errors(const std::vector<Sample> &forces)
{
  for (const auto &sample : forces) {
    const int i = pair_->parts().graph.atom_of_row(sample.row);
    for (int k = 0; k < 3; k++) force_errors_[3 * i + k] = sample.found[k] - sample.reference[k];
  }
}

/* ----------------------------------------------------------------------
   to rank 0, in the order of ids; collective
------------------------------------------------------------------------- */

void SampledValidation::gather_compared(const std::vector<Sample> &energies,
                                        const std::vector<Sample> &forces,
                                        SampledVerdict &verdict) const
{
  struct Compared {
    tagint tag;
    int rank;
    double face_distance;
    double reference[4], found[4];    // energy and force
  };
  std::map<std::int64_t, const Sample *> energy_of;
  for (const auto &sample : energies) energy_of[sample.row] = &sample;
  const SubDomain subdomain(*lmp_->domain);
  const double length = pair_->angstrom_per_length();
  std::vector<std::vector<Compared>> mine(lmp_->comm->nprocs);
  for (const auto &force : forces) {
    const auto energy = energy_of.find(force.row);
    if (energy == energy_of.end()) continue;
    const double face =
        subdomain.face_distance(lmp_->atom->x[pair_->parts().graph.atom_of_row(force.row)]);
    Compared atom = {force.tag, me_, face < 0.0 ? -1.0 : face * length, {0.0}, {0.0}};
    atom.reference[0] = energy->second->reference[0];
    atom.found[0] = energy->second->found[0];
    std::copy_n(force.reference.begin(), 3, atom.reference + 1);
    std::copy_n(force.found.begin(), 3, atom.found + 1);
    mine[0].push_back(atom);
  }
  std::vector<Compared> all;
  for (const auto &from : nvalchemi::deliver(comm_, mine))
    all.insert(all.end(), from.begin(), from.end());
  std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.tag < b.tag; });
  auto &atoms = verdict.compared.atoms;
  auto &run = verdict.compared.decomposed;
  for (const auto &atom : all) {
    atoms.ids.push_back(atom.tag);
    atoms.owners.push_back(atom.rank);
    atoms.face_distances.push_back(atom.face_distance);
    run.atomic_energies.push_back(atom.found[0]);
    run.forces.insert(run.forces.end(), atom.found + 1, atom.found + 4);
    verdict.reference.atomic_energies.push_back(atom.reference[0]);
    verdict.reference.forces.insert(verdict.reference.forces.end(), atom.reference + 1,
                                    atom.reference + 4);
  }
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
