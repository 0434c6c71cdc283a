// SPDX-License-Identifier: GPL-2.0-only

#include "fix_nvalchemi_validate.h"

#include "gathered_system.h"
#include "node_share.h"
#include "pair_nvalchemi.h"

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "force.h"
#include "group.h"
#include "update.h"
#include "utils.h"

#include "potentials/session.hpp"

#include <unistd.h>

#include <cstring>
#include <exception>

using namespace LAMMPS_NS;
using namespace FixConst;

namespace {

constexpr bigint DEFAULT_LIMIT = 20000;
constexpr useconds_t POLL_MICROSECONDS = 500;

// wait for rank 0 without using the processor, which it may share with the other ranks

void sleep_until_complete(MPI_Request request)
{
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  while (!done) {
    usleep(POLL_MICROSECONDS);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

}    // namespace

/* ---------------------------------------------------------------------- */

FixNvalchemiValidate::FixNvalchemiValidate(LAMMPS *lmp, int narg, char **arg) :
    Fix(lmp, narg, arg), every(0), instance(0), limit(DEFAULT_LIMIT), action(STOP), mode(AUTO),
    threads(1), pair(nullptr), noise{}, figures{}, compared_step(-1), due(false)
{
  vector_flag = 1;
  size_vector = FIGURES;
  global_freq = 1;
  extvector = 0;

  parse_options(narg, arg);
}

/* ---------------------------------------------------------------------- */

FixNvalchemiValidate::~FixNvalchemiValidate() = default;

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::parse_options(int narg, char **arg)
{
  int iarg = 3;
  while (iarg < narg) {
    const std::string keyword = arg[iarg];
    const int nvalues = keyword == "absolute" ? 4 : 1;
    if (iarg + nvalues >= narg)
      error->all(FLERR, "fix nvalchemi/validate {}: got {} value{}, expected {}", keyword,
                 narg - iarg - 1, narg - iarg == 2 ? "" : "s", nvalues);
    set_option(keyword, arg + iarg + 1);
    iarg += 1 + nvalues;
  }
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::set_option(const std::string &keyword, char **value)
{
  if (keyword == "every") {
    every = utils::is_integer(value[0]) ? utils::inumeric(FLERR, value[0], false, lmp) : -1;
    if (every < 0) refuse(keyword, value[0], "a whole number of steps, or 0 for set-up only");
  } else if (keyword == "tolerance") {
    tolerance.relative =
        utils::is_double(value[0]) ? utils::numeric(FLERR, value[0], false, lmp) : -1.0;
    if (!(*tolerance.relative > 0.0))
      refuse(keyword, value[0], "a number > 0, relative to the largest value of each quantity");
  } else if (keyword == "absolute") {
    tolerance.absolute.emplace();
    for (int k = 0; k < 4; k++) {
      (*tolerance.absolute)[k] =
          utils::is_double(value[k]) ? utils::numeric(FLERR, value[k], false, lmp) : -1.0;
      if (!((*tolerance.absolute)[k] >= 0.0))
        refuse(keyword, value[k],
               "numbers >= 0 for energy, atomic energies, forces and stress "
               "in eV and Angstrom");
    }
  } else if (keyword == "action") {
    if (strcmp(value[0], "stop") == 0)
      action = STOP;
    else if (strcmp(value[0], "warn") == 0)
      action = WARN;
    else
      refuse(keyword, value[0], "stop or warn");
  } else if (keyword == "instance") {
    instance = utils::is_integer(value[0]) ? utils::inumeric(FLERR, value[0], false, lmp) : 0;
    if (instance < 1) refuse(keyword, value[0], "a number >= 1 among the styles nvalchemi");
  } else if (keyword == "limit") {
    limit = utils::is_integer(value[0]) ? utils::bnumeric(FLERR, value[0], false, lmp) : 0;
    if (limit < 1) refuse(keyword, value[0], "a whole number of atoms >= 1");
  } else if (keyword == "mode") {
    const std::string word = value[0];
    if (word != "auto" && word != "gathered" && word != "sampled")
      refuse(keyword, value[0], "auto, gathered or sampled");
    mode = word == "auto" ? AUTO : word == "gathered" ? GATHERED : SAMPLED;
  } else {
    std::string expected;
    if (!sample.set(keyword, value[0], expected))
      error->all(FLERR,
                 "fix nvalchemi/validate: got keyword '{}', expected every, tolerance, "
                 "absolute, action, instance, limit, mode, sample, seed, room or force_room",
                 keyword);
    if (!expected.empty()) refuse(keyword, value[0], expected.c_str());
  }
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::refuse(const std::string &keyword, const char *got,
                                  const char *expected) const
{
  error->all(FLERR, "fix nvalchemi/validate {}: got {}, expected {}", keyword, got, expected);
}

/* ---------------------------------------------------------------------- */

int FixNvalchemiValidate::setmask()
{
  return PRE_FORCE | POST_FORCE | MIN_PRE_FORCE | MIN_POST_FORCE;
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::init()
{
  if (!atom->tag_enable)
    error->all(FLERR, "fix nvalchemi/validate: got atoms without ids, expected ids to match atoms "
                      "by; use atom_modify id yes");
  if (utils::strmatch(update->integrate_style, "^respa"))
    error->all(FLERR,
               "fix nvalchemi/validate: got run_style {}, expected one that evaluates all "
               "forces at once; use run_style verlet",
               update->integrate_style);
  find_pair();
  sampler.reset();    // the pair style may be another one
  threads = nvalchemi::threads_for_rank(world);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::find_pair()
{
  const char *style = force->pair_style ? force->pair_style : "none";
  const int count = count_instances(style);
  pair = dynamic_cast<PairNvalchemi *>(force->pair_match("^nvalchemi", 0, instance));
  if (pair && instance <= count) return;
  if (instance == 0 && force->pair_match("^nvalchemi", 0, 1))
    error->all(FLERR,
               "fix nvalchemi/validate: got several pair styles nvalchemi in pair_style {}, "
               "expected to be told which; use keyword instance",
               style);
  if (instance > 1)
    error->all(FLERR,
               "fix nvalchemi/validate: got instance {}, expected the number of one of the "
               "pair styles nvalchemi in pair_style {}; there {} {}",
               instance, style, count == 1 ? "is" : "are", count);
  error->all(FLERR,
             "fix nvalchemi/validate: got pair_style {}, expected nvalchemi, alone or under "
             "pair_style hybrid",
             style);
}

/* ---------------------------------------------------------------------- */

int FixNvalchemiValidate::count_instances(const char *style) const
{
  // LAMMPS ignores the number where there is one alone, under hybrid too
  const Pair *first = force->pair_match("^nvalchemi", 0, 1);
  if (!first) return 0;
  int count = 1;
  if (!utils::strmatch(style, "^hybrid")) return count;
  for (const Pair *next = force->pair_match("^nvalchemi", 0, 2); next && next != first;
       next = force->pair_match("^nvalchemi", 0, count + 1))
    count++;
  return count;
}

/* ---------------------------------------------------------------------- */

bool FixNvalchemiValidate::is_due() const
{
  return every > 0 && update->ntimestep % every == 0 && update->ntimestep != compared_step;
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::setup_pre_force(int)
{
  due = true;
  prepare();
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::pre_force(int)
{
  due = is_due();
  if (due) prepare();
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::min_pre_force(int vflag)
{
  pre_force(vflag);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::setup(int)
{
  if (due) compare(true);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::min_setup(int vflag)
{
  setup(vflag);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::post_force(int)
{
  if (due) compare(false);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::min_post_force(int vflag)
{
  post_force(vflag);
}

/* ----------------------------------------------------------------------
   ask the style to keep what it adds in the evaluation to come
------------------------------------------------------------------------- */

void FixNvalchemiValidate::prepare()
{
  const bigint natoms = count_mapped_atoms(lmp, pair);
  const bool sampled = mode == SAMPLED || (mode == AUTO && natoms > limit);
  if (!sampled && natoms > limit)
    error->all(FLERR,
               "fix nvalchemi/validate: got {} atoms, expected at most {} because rank 0 "
               "evaluates all of them at once; use mode sampled, validate a smaller system of the "
               "same kind, or raise keyword limit as far as the memory of rank 0 reaches",
               natoms, limit);
  const bigint selected = count_mapped_atoms(lmp, pair, groupbit);
  if (selected == 0)
    error->all(FLERR,
               "fix nvalchemi/validate: got group {} with none of the pair style's atoms, expected "
               "at least one to compare energies and forces of",
               group->names[igroup]);
  if (!sampled)
    sampler.reset();
  else if (!sampler)
    sampler = std::make_unique<SampledValidation>(lmp, pair, sample, groupbit, threads, tolerance);
  pair->record_contribution(true);
}

/* ----------------------------------------------------------------------
   collective; a failure on rank 0 reaches every rank before anyone stops
------------------------------------------------------------------------- */

void FixNvalchemiValidate::compare(bool at_setup)
{
  due = false;
  pair->record_contribution(false);
  check_contribution();
  compared_step = update->ntimestep;
  if (sampler) return compare_sampled(at_setup);

  std::string failure;
  ValidationVerdict verdict = judge_on_root(at_setup, failure);
  share(verdict, failure);
  if (!failure.empty())
    error->all(FLERR,
               "fix nvalchemi/validate: the undecomposed reference could not be evaluated "
               "on rank 0: {}",
               failure);

  store(verdict);
  if (comm->me == 0 && (at_setup || !verdict.passed()))
    utils::logmesg(lmp, verdict_table(verdict, id, update->ntimestep, comm->nprocs));
  if (verdict.passed()) return;
  const std::string text = "fix nvalchemi/validate: step " + std::to_string(update->ntimestep) +
                           ": " + describe_differences(verdict);
  if (action == STOP) error->all(FLERR, text);
  if (comm->me == 0) error->warning(FLERR, text);
}

/* ----------------------------------------------------------------------
   collective; without gathering the system
------------------------------------------------------------------------- */

void FixNvalchemiValidate::compare_sampled(bool at_setup)
{
  SampledVerdict verdict;
  std::string failure;
  try {
    verdict = sampler->check(at_setup);
  } catch (const std::exception &reason) {
    failure = reason.what();
  }
  if (!failure.empty())
    error->all(FLERR,
               "fix nvalchemi/validate: the undecomposed reference of sampled atoms could not be "
               "evaluated: {}",
               failure);

  store(verdict.figures());
  figures[PASSED] = verdict.passed() ? 1.0 : 0.0;
  if (comm->me == 0 && (at_setup || !verdict.passed()))
    utils::logmesg(lmp, sampled_report(verdict, id, update->ntimestep, comm->nprocs));
  if (verdict.passed()) return;
  const std::string text = "fix nvalchemi/validate: step " + std::to_string(update->ntimestep) +
                           ": " + describe_sampled_differences(verdict);
  if (action == STOP) error->all(FLERR, text);
  if (comm->me == 0) error->warning(FLERR, text);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::check_contribution() const
{
  const auto &contribution = pair->contribution();
  const auto nlocal = static_cast<std::size_t>(atom->nlocal);
  int missing =
      contribution.atomic_energies.size() != nlocal || contribution.forces.size() != 3 * nlocal;
  int missing_anywhere = 0;
  MPI_Allreduce(&missing, &missing_anywhere, 1, MPI_INT, MPI_MAX, world);
  if (missing_anywhere)
    error->all(FLERR,
               "fix nvalchemi/validate: got no record of the pair style's own energies and "
               "forces in this evaluation, expected one; another command has switched it off");
}

/* ----------------------------------------------------------------------
   gather (collective), then evaluate and compare on rank 0
------------------------------------------------------------------------- */

ValidationVerdict FixNvalchemiValidate::judge_on_root(bool at_setup, std::string &failure)
{
  const double start = MPI_Wtime();
  const auto gathered = gather_system(lmp, pair, groupbit);
  if (comm->me != 0) return {};

  ValidationVerdict verdict;
  try {
    const nvalchemi::OpenMPThreads guard(threads);
    auto &session = pair->session();
    const auto whole = nvalchemi::evaluate_whole(session, gathered.system);
    if (at_setup)
      noise = nvalchemi::measure_noise(
          gathered.system, whole,
          nvalchemi::evaluate_whole(session, gathered.system, /*edge_order=*/1));
    verdict = make_verdict(gathered,
                           nvalchemi::compare_evaluations(gathered.system, whole,
                                                          gathered.decomposed, gathered.in_group,
                                                          session.card().dtype, noise, tolerance));
  } catch (const std::exception &reason) {
    failure = *reason.what() ? reason.what() : "unknown reason";
  }
  verdict.seconds = MPI_Wtime() - start;
  return verdict;
}

/* ----------------------------------------------------------------------
   hand rank 0's verdict, or the reason why there is none, to all ranks
------------------------------------------------------------------------- */

void FixNvalchemiValidate::share(ValidationVerdict &verdict, std::string &failure)
{
  MPI_Request request;
  int length = static_cast<int>(failure.size());
  MPI_Ibcast(&length, 1, MPI_INT, 0, world, &request);
  sleep_until_complete(request);
  failure.resize(length);
  if (length > 0) MPI_Bcast(&failure[0], length, MPI_CHAR, 0, world);
  MPI_Bcast(&verdict, sizeof(verdict), MPI_BYTE, 0, world);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::store(const ValidationVerdict &verdict)
{
  for (int k = 0; k < 4; k++) {
    figures[DIFFERENCE + k] = verdict.difference[k];
    figures[TOLERANCE + k] = verdict.tolerance[k];
    if (!verdict.compared[k] || verdict.difference[k] == 0.0) continue;
    const double ratio = verdict.difference[k] / verdict.tolerance[k];
    if (!(ratio <= figures[WORST_RATIO])) figures[WORST_RATIO] = ratio;    // NaN stays
  }
  figures[PASSED] = verdict.passed() ? 1.0 : 0.0;
  figures[ATOMS] = static_cast<double>(verdict.natoms);
  figures[SECONDS] = verdict.seconds;
  figures[COMPARISONS] += 1.0;
}

/* ---------------------------------------------------------------------- */

double FixNvalchemiValidate::compute_vector(int n)
{
  return figures[n];
}
