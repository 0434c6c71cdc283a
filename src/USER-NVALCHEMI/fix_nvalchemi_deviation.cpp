// SPDX-License-Identifier: GPL-2.0-only

#include "fix_nvalchemi_deviation.h"

#include "evaluation_check.h"
#include "host_contribution.h"
#include "model_source.h"
#include "mpi_exchange.h"
#include "neighbor_graph.h"
#include "node_share.h"
#include "pair_nvalchemi.h"
#include "rank_agreement.h"
#include "the_pair_style.h"

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "memory.h"
#include "update.h"
#include "utils.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>

#include "potentials/input_layout.hpp"
#include "potentials/session.hpp"

using namespace LAMMPS_NS;
using namespace FixConst;

namespace {

const std::string WHO = "fix nvalchemi/deviation";
enum Figure { LARGEST, SMALLEST, MEAN, ENERGY, FIGURES };

// a model beside the pair style's, on the same rows and edges

struct Member {
  std::string file;
  std::unique_ptr<nvalchemi::Session> session;
  std::vector<std::int64_t> species_here;    // of the pair style's model -> of this one
  NvalchemiContribution found;
};

/* ----------------------------------------------------------------------
   why a model cannot be evaluated on the rows and edges of another; empty
   if it can
------------------------------------------------------------------------- */

std::string mismatch(const nvalchemi::ModelCard &card, const nvalchemi::ModelCard &pair)
{
  if (card.cutoff != pair.cutoff)
    return "cutoff " + std::to_string(card.cutoff) + ", expected " + std::to_string(pair.cutoff);
  if (card.rows != pair.rows) return "another kind of rows";
  if (card.energy_unit != pair.energy_unit || card.length_unit != pair.length_unit)
    return "units " + card.length_unit + " and " + card.energy_unit + ", expected " +
           pair.length_unit + " and " + pair.energy_unit;

  // one set of values serves all models

  const auto own = nvalchemi::input_layout(card), given = nvalchemi::input_layout(pair);
  for (const nvalchemi::InputPlace &place : own.places) {
    if (place.name == nvalchemi::kTotalChargeName && given.system_columns == 0) continue;
    const nvalchemi::InputPlace *same = given.find(place.name);
    const bool fits = same && same->per_atom == place.per_atom && same->first == place.first &&
                      same->columns == place.columns && (same->is_integer || !place.is_integer) &&
                      (!place.per_atom || own.atom_columns == given.atom_columns);
    if (!fits)
      return "inputs " + nvalchemi::titles_of_inputs(card) +
             ", expected the same in the same order (" + nvalchemi::titles_of_inputs(pair) + ")";
  }
  return "";
}

}    // namespace

/* ---------------------------------------------------------------------- */

struct FixNvalchemiDeviation::Impl {
  std::vector<Member> members;
  bool mean = false;
  double stop_above = -1.0, warn_above = -1.0;    // eV/A; negative: never
  int threads = 1;
  std::vector<double> deviations;    // (nlocal,)
  double figures[FIGURES] = {0.0};
  double energy = 0.0;    // this rank's part of mean - own
  std::vector<double> scratch;
  std::vector<double *> scratch_rows;
};

/* ---------------------------------------------------------------------- */

FixNvalchemiDeviation::FixNvalchemiDeviation(LAMMPS *lmp, int narg, char **arg) :
    Fix(lmp, narg, arg), impl(std::make_unique<Impl>()), pair(nullptr), due(false)
{
  parse(narg, arg);
  vector_flag = 1;
  size_vector = FIGURES;
  extvector = 0;
  global_freq = nevery;
  peratom_flag = 1;
  size_peratom_cols = 0;
  peratom_freq = nevery;
  if (impl->mean) {
    scalar_flag = 1;
    extscalar = 1;
    energy_global_flag = thermo_energy = 1;
    virial_global_flag = thermo_virial = 1;
  }
}

/* ---------------------------------------------------------------------- */

FixNvalchemiDeviation::~FixNvalchemiDeviation() = default;

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::parse(int narg, char **arg)
{
  if (narg < 5)
    error->all(FLERR,
               "{}: got {} arguments, expected 'fix ID group nvalchemi/deviation N FILE ...'", WHO,
               narg);
  nevery = utils::inumeric(FLERR, arg[3], false, lmp);
  if (nevery < 1) error->all(FLERR, "{}: N: got {}, expected a number from 1 on", WHO, arg[3]);

  const std::map<std::string, double *> limits = {{"stop_above", &impl->stop_above},
                                                  {"warn_above", &impl->warn_above}};
  for (int k = 4; k < narg; k++) {
    const std::string word = arg[k];
    const auto limit = limits.find(word);
    if (limit == limits.end() && word != "mean") {
      impl->members.emplace_back();
      impl->members.back().file = word;
      continue;
    }
    if (k + 1 == narg) error->all(FLERR, "{}: keyword {}: got no value, expected one", WHO, word);
    if (word == "mean") {
      impl->mean = utils::logical(FLERR, arg[++k], false, lmp) != 0;
    } else {
      *limit->second = utils::numeric(FLERR, arg[++k], false, lmp);
      if (!(*limit->second > 0.0))
        error->all(FLERR, "{}: keyword {}: got {}, expected a force above 0", WHO, word, arg[k]);
    }
  }
  if (impl->members.empty())
    error->all(FLERR, "{}: got no model, expected one or more archives beside the pair style's",
               WHO);
  if (impl->mean && nevery != 1)
    error->all(FLERR, "{}: keyword mean: got N = {}, expected 1: forces are needed at every step",
               WHO, nevery);
}

/* ---------------------------------------------------------------------- */

int FixNvalchemiDeviation::setmask()
{
  return PRE_FORCE | POST_FORCE | MIN_PRE_FORCE | MIN_POST_FORCE;
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::init()
{
  if (utils::strmatch(update->integrate_style, "^respa"))
    error->all(FLERR,
               "{}: got run_style {}, expected one that evaluates all forces at once; use "
               "run_style verlet",
               WHO, update->integrate_style);
  pair = the_pair_style(lmp, WHO);
  impl->threads = nvalchemi::threads_for_rank(world);
  load_members();
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::load_members()
{
  const auto parts = pair->parts();
  const nvalchemi::ModelCard &own = parts.session.card();
  for (Member &member : impl->members) {
    std::string problem;
    std::vector<std::string> warnings;
    try {
      if (!member.session) {
        std::string path = comm->me == 0 ? utils::get_potential_file_path(member.file) : "";
        if (path.empty()) path = member.file;
        const nvalchemi::OpenMPThreads guard(impl->threads);
        nvalchemi::PairOptions options;
        options.device = parts.session.device_name();
        nvalchemi::ModelSource source;
        member.session =
            nvalchemi::load_model(world, path, options, impl->threads, source, warnings);
      }
      const nvalchemi::ModelCard &card = member.session->card();
      problem = mismatch(card, own);
      if (!problem.empty())
        problem = member.file + ": got " + problem + " as the pair style's model";
      member.species_here.assign(own.species.size(), -1);
      for (std::size_t k = 0; k < own.species.size(); k++) {
        const auto found = std::find(card.species.begin(), card.species.end(), own.species[k]);
        if (found != card.species.end()) member.species_here[k] = found - card.species.begin();
      }
    } catch (const std::exception &refusal) {
      problem = refusal.what();
    }
    for (int type = 1; type <= atom->ntypes && problem.empty(); type++) {
      const int species = pair->model_species(type);
      if (species >= 0 && member.species_here[species] < 0)
        problem = member.file + ": got a model without " + own.species[species] +
                  ", expected one that knows the elements of pair_coeff";
    }
    if (!problem.empty()) error->all(FLERR, "{}: {}", WHO, problem);
    if (comm->me == 0)
      for (const std::string &warning : warnings) error->warning(FLERR, "{}: {}", WHO, warning);
  }
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::setup_pre_force(int)
{
  due = true;
  pair->record_contribution(true);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::pre_force(int)
{
  due = update->ntimestep % nevery == 0;
  if (due) pair->record_contribution(true);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::min_pre_force(int vflag)
{
  pre_force(vflag);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::setup(int vflag)
{
  post_force(vflag);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::min_setup(int vflag)
{
  post_force(vflag);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::post_force(int vflag)
{
  if (due) compare(vflag);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::min_post_force(int vflag)
{
  post_force(vflag);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiDeviation::compare(int vflag)
{
  for (std::size_t member = 0; member < impl->members.size(); member++) evaluate(member);
  pair->record_contribution(false);
  store_deviation();
  judge();
  if (impl->mean) use_mean(vflag);
}

/* ----------------------------------------------------------------------
   one more model on the rows and edges that the pair style has just used
------------------------------------------------------------------------- */

void FixNvalchemiDeviation::evaluate(std::size_t index)
{
  Member &member = impl->members[index];
  const auto parts = pair->parts();
  nvalchemi::MpiExchange &exchange = parts.exchange;
  nvalchemi::AtomGraph graph = parts.graph.graph();
  graph.results_stay = false;
  std::vector<std::int64_t> species(graph.n_rows);
  for (std::int64_t row = 0; row < graph.n_rows; row++)
    species[row] = member.species_here[graph.species[row]];
  graph.species = species.data();

  nvalchemi::Evaluation evaluation;
  nvalchemi::RankOutcome outcome;
  exchange.begin_evaluation(member.session->schedule());
  try {
    const nvalchemi::OpenMPThreads guard(impl->threads);
    evaluation = member.session->evaluate(graph, exchange);
    exchange.end_evaluation();
    check_finite(parts.graph, evaluation, *atom);
  } catch (const std::exception &problem) {
    outcome.failure = problem.what();
    outcome.caused_by_peer = exchange.peer_failed();
    exchange.finish_poisoned();
  }
  const std::string failure = nvalchemi::agree_on_failure(exchange.communicator(), outcome);
  if (!failure.empty()) error->all(FLERR, "{}: {}: {}", WHO, member.file, failure);

  const int nlocal = atom->nlocal;
  impl->scratch.assign(3 * nlocal, 0.0);
  impl->scratch_rows.resize(nlocal);
  for (int i = 0; i < nlocal; i++) impl->scratch_rows[i] = &impl->scratch[3 * i];
  ResultTargets targets;
  targets.f = impl->scratch_rows.data();
  targets.record = &member.found;
  HostContribution contribution(dynamic_cast<const NeighborGraph &>(parts.graph));
  contribution.set_units(1.0 / pair->ev_per_energy(), 1.0 / pair->angstrom_per_length());
  contribution.add(evaluation, exchange, nlocal, targets);
}

/* ----------------------------------------------------------------------
   Of an atom: the root of the models' mean squared distance from their
   mean force. Figures are those of the group's atoms. Collective.
------------------------------------------------------------------------- */

void FixNvalchemiDeviation::store_deviation()
{
  const int nlocal = atom->nlocal, models = impl->members.size() + 1;
  const NvalchemiContribution &own = pair->contribution();
  impl->deviations.assign(std::max(nlocal, 1), 0.0);
  double largest = 0.0, smallest = -1.0, sums[2] = {0.0, 0.0};
  for (int i = 0; i < nlocal; i++) {
    double squares = 0.0;
    for (int k = 3 * i; k < 3 * i + 3; k++) {
      double mean = own.forces[k];
      for (const Member &member : impl->members) mean += member.found.forces[k];
      mean /= models;
      squares += (own.forces[k] - mean) * (own.forces[k] - mean);
      for (const Member &member : impl->members)
        squares += (member.found.forces[k] - mean) * (member.found.forces[k] - mean);
    }
    impl->deviations[i] = std::sqrt(squares / models);
    if (!(atom->mask[i] & groupbit) || pair->model_species(atom->type[i]) < 0) continue;
    largest = std::max(largest, impl->deviations[i]);
    smallest = smallest < 0.0 ? impl->deviations[i] : std::min(smallest, impl->deviations[i]);
    sums[0] += impl->deviations[i];
    sums[1] += 1.0;
  }
  vector_atom = impl->deviations.data();

  std::vector<double> energies(models, own.energy);
  for (int k = 1; k < models; k++) energies[k] = impl->members[k - 1].found.energy;
  MPI_Allreduce(MPI_IN_PLACE, energies.data(), models, MPI_DOUBLE, MPI_SUM, world);
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, world);
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, world);
  if (smallest < 0.0) smallest = largest;
  MPI_Allreduce(MPI_IN_PLACE, &smallest, 1, MPI_DOUBLE, MPI_MIN, world);

  double mean = 0.0, squares = 0.0;
  for (const double energy : energies) mean += energy / models;
  for (const double energy : energies) squares += (energy - mean) * (energy - mean) / models;
  impl->figures[LARGEST] = largest;
  impl->figures[SMALLEST] = smallest;
  impl->figures[MEAN] = sums[1] > 0.0 ? sums[0] / sums[1] : 0.0;
  impl->figures[ENERGY] = std::sqrt(squares);
}

/* ----------------------------------------------------------------------
   name the atom that the models disagree on most. Collective.
------------------------------------------------------------------------- */

void FixNvalchemiDeviation::judge()
{
  const double largest = impl->figures[LARGEST];
  const bool stop = impl->stop_above > 0.0 && largest > impl->stop_above;
  const bool warn = impl->warn_above > 0.0 && largest > impl->warn_above;
  if (!stop && !warn) return;
  tagint mine = 0, id = 0;
  for (int i = 0; i < atom->nlocal; i++)
    if ((atom->mask[i] & groupbit) && pair->model_species(atom->type[i]) >= 0 &&
        impl->deviations[i] == largest)
      mine = atom->tag ? atom->tag[i] : 0;
  MPI_Allreduce(&mine, &id, 1, MPI_LMP_TAGINT, MPI_MAX, world);
  const double limit = stop ? impl->stop_above : impl->warn_above;
  const auto text =
      fmt::format("{}: step {}: {} models disagree by {:.4g} on the force on atom {}, "
                  "expected at most {:.4g}",
                  WHO, update->ntimestep, impl->members.size() + 1, largest, id, limit);
  if (stop) error->all(FLERR, text + ". Train the model on such surroundings, or raise stop_above");
  if (comm->me == 0) error->warning(FLERR, text);
}

/* ----------------------------------------------------------------------
   what the mean of all models adds to the pair style's own
------------------------------------------------------------------------- */

void FixNvalchemiDeviation::use_mean(int vflag)
{
  v_init(vflag);
  const NvalchemiContribution &own = pair->contribution();
  const double share = 1.0 / (impl->members.size() + 1.0);
  impl->energy = 0.0;
  for (const Member &member : impl->members) {
    for (int i = 0; i < atom->nlocal; i++)
      for (int k = 0; k < 3; k++)
        atom->f[i][k] += share * (member.found.forces[3 * i + k] - own.forces[3 * i + k]);
    impl->energy += share * (member.found.energy - own.energy);
    if (vflag_global)
      for (int k = 0; k < 6; k++) virial[k] += share * (member.found.virial[k] - own.virial[k]);
  }
}

/* ---------------------------------------------------------------------- */

double FixNvalchemiDeviation::compute_scalar()
{
  double total = 0.0;
  MPI_Allreduce(&impl->energy, &total, 1, MPI_DOUBLE, MPI_SUM, world);
  return total;
}

/* ---------------------------------------------------------------------- */

double FixNvalchemiDeviation::compute_vector(int index)
{
  return impl->figures[index];
}

/* ---------------------------------------------------------------------- */

double FixNvalchemiDeviation::memory_usage()
{
  return sizeof(double) * (impl->deviations.size() + impl->scratch.size()) +
         impl->members.size() * 4.0 * sizeof(double) * atom->nlocal;
}
