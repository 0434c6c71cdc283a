// SPDX-License-Identifier: GPL-2.0-only

#include "fix_nvalchemi_validate.h"

#include "exchange_check.h"
#include "gathered_system.h"
#include "node_share.h"
#include "pair_nvalchemi.h"
#include "root_text.h"
#include "run_judge.h"
#include "sampled_validation.h"
#include "subdomain.h"
#include "the_pair_style.h"
#include "validate_options.h"
#include "validation_verdict.h"

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "group.h"
#include "lammps.h"
#include "memory.h"
#include "modify.h"
#include "neighbor.h"
#include "update.h"
#include "utils.h"

#include <cmath>
#include <exception>

using namespace LAMMPS_NS;
using namespace FixConst;

namespace {

const std::string PREFIX = "fix nvalchemi/validate: ";

}    // namespace

/* ---------------------------------------------------------------------- */

struct FixNvalchemiValidate::Impl {
  nvalchemi::ValidateOptions options;
  RunJudge judge{options};                       // used on rank 0
  int threads = 1;                               // of the reference evaluation
  std::unique_ptr<SampledValidation> sampler;    // null: the comparison to come is gathered
  GatheredSystem gathered;                       // on rank 0, of the latest comparison
  SubDomainWatch watch;
  ComparisonTally tally;    // since the end of the latest run
  bool was_set_up = false;

  // expires with this fix: a pair style may outlive it

  std::shared_ptr<int> alive = std::make_shared<int>(0);
};

/* ---------------------------------------------------------------------- */

FixNvalchemiValidate::FixNvalchemiValidate(LAMMPS *lmp, int narg, char **arg) :
    Fix(lmp, narg, arg), impl(std::make_unique<Impl>()), pair(nullptr), figures{}, errors(nullptr),
    compared_step(-1), due(false)
{
  vector_flag = 1;
  size_vector = FIGURES;
  global_freq = 1;
  extvector = 0;
  peratom_flag = 1;
  size_peratom_cols = COLUMNS;
  peratom_freq = 1;
  create_attribute = 1;
  maxexchange = COLUMNS;
  figures[EXCHANGE_GOOD] = 1.0;

  std::string problem;
  try {
    impl->options = nvalchemi::parse_validate_options({arg + 3, arg + narg});
    if (comm->me == 0) impl->judge.try_report();
  } catch (const std::exception &refusal) {
    problem = refusal.what();
  }
  nvalchemi::share_root_text(world, problem);
  if (!problem.empty()) error->all(FLERR, problem);

  grow_arrays(atom->nmax);
  for (int i = 0; i < atom->nlocal; i++) set_arrays(i);
  atom->add_callback(Atom::GROW);
}

/* ---------------------------------------------------------------------- */

FixNvalchemiValidate::~FixNvalchemiValidate()
{
  atom->delete_callback(id, Atom::GROW);
  memory->destroy(errors);
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
  pair = find_pair_style(lmp, "fix nvalchemi/validate", impl->options.instance);
  refuse_shared_report();
  impl->sampler.reset();    // the pair style may be another one
  impl->threads = nvalchemi::threads_for_rank(world);
  impl->judge.use_threads(impl->threads);
}

/* ----------------------------------------------------------------------
   two fixes would overwrite each other's
------------------------------------------------------------------------- */

void FixNvalchemiValidate::refuse_shared_report() const
{
  if (impl->options.report.empty()) return;
  for (Fix *other : modify->get_fix_by_style("^nvalchemi/validate")) {
    const auto *validate = dynamic_cast<FixNvalchemiValidate *>(other);
    if (!validate || validate == this || validate->impl->options.report != impl->options.report)
      continue;
    error->all(FLERR,
               "fix nvalchemi/validate: keyword report: got {} for fix {} and for fix {}, expected "
               "a file for each",
               impl->options.report, id, other->id);
  }
}

/* ---------------------------------------------------------------------- */

bool FixNvalchemiValidate::is_due()
{
  if (update->ntimestep == compared_step) return false;
  const auto &options = impl->options;
  if (options.on_rebalance) return sub_domains_changed();
  return options.every > 0 && update->ntimestep % options.every == 0;
}

/* ----------------------------------------------------------------------
   since the latest comparison; they change together with the neighbour
   lists. Collective then.
------------------------------------------------------------------------- */

bool FixNvalchemiValidate::sub_domains_changed() const
{
  if (neighbor->ago != 0) return false;
  int changed = impl->watch.has_changed(SubDomain(*domain)) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, world);
  return changed != 0;
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::setup_pre_force(int)
{
  due = !impl->options.once || !impl->was_set_up;
  impl->was_set_up = true;
  if (due) prepare(true);
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::pre_force(int)
{
  due = is_due();
  if (due) prepare(false);
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
   of a minimization, too
------------------------------------------------------------------------- */

void FixNvalchemiValidate::post_run()
{
  if (comm->me == 0 && impl->tally.comparisons > 0)
    utils::logmesg(lmp, describe_tally(impl->tally, id) + "\n");
  impl->tally = {};
}

/* ----------------------------------------------------------------------
   ask the style to keep what it adds in the evaluation to come, and to
   tell if that fails
------------------------------------------------------------------------- */

void FixNvalchemiValidate::prepare(bool at_setup)
{
  const bigint natoms = count_mapped_atoms(lmp, pair);
  const auto &options = impl->options;
  const bool sampled =
      options.mode == nvalchemi::ValidateOptions::Mode::Sampled ||
      (options.mode == nvalchemi::ValidateOptions::Mode::Auto && natoms > options.limit);
  if (!sampled && natoms > options.limit)
    error->all(FLERR,
               "fix nvalchemi/validate: got {} atoms, expected at most {} because rank 0 "
               "evaluates all of them at once; use mode sampled, validate a smaller system of the "
               "same kind, or raise keyword limit as far as the memory of rank 0 reaches",
               natoms, options.limit);
  const bigint selected = count_mapped_atoms(lmp, pair, groupbit);
  if (selected == 0 && !at_setup) {
    due = false;
    if (comm->me == 0)
      error->warning(FLERR,
                     "fix nvalchemi/validate: step {}: group {} has none of the pair style's atoms "
                     "left; nothing is compared",
                     update->ntimestep, group->names[igroup]);
    return;
  }
  if (selected == 0)
    error->all(FLERR,
               "fix nvalchemi/validate: got group {} with none of the pair style's atoms, expected "
               "at least one to compare energies and forces of",
               group->names[igroup]);
  if (!sampled)
    impl->sampler.reset();
  else if (!impl->sampler)
    impl->sampler = std::make_unique<SampledValidation>(lmp, pair, options.sample, groupbit,
                                                        impl->threads, options.tolerance);
  const std::string refused = nvalchemi::refused_by_sampling(options);
  if (sampled && at_setup && comm->me == 0 && !refused.empty()) error->warning(FLERR, refused);
  pair->record_contribution(true);
  pair->on_failure(
      this, [this, at_setup, alive = std::weak_ptr<int>(impl->alive)](const std::string &reason) {
        if (!alive.lock()) return;
        const Judgement judgement = judge(at_setup, reason);
        if (comm->me == 0) utils::logmesg(lmp, judgement.page);
        if (comm->me == 0 && !judgement.trouble.empty())
          error->warning(FLERR, PREFIX + judgement.trouble);
      });
}

/* ----------------------------------------------------------------------
   collective; a failure on rank 0 reaches every rank before anyone stops
------------------------------------------------------------------------- */

void FixNvalchemiValidate::compare(bool at_setup)
{
  due = false;
  pair->record_contribution(false);
  pair->on_failure(this, nullptr);
  check_contribution();
  compared_step = update->ntimestep;
  impl->watch.remember(SubDomain(*domain));

  Judgement judgement = judge(at_setup, "");
  if (!judgement.failure.empty()) {
    if (comm->me == 0) utils::logmesg(lmp, judgement.page);
    error->all(FLERR, PREFIX + judgement.failure);
  }
  store_errors(impl->sampler ? impl->sampler->force_errors()
                             : send_home(lmp, pair, impl->gathered, judgement.force_errors));
  const auto &verdict = judgement.verdict;
  store(verdict);
  impl->tally.add(verdict);
  if (comm->me == 0 && (at_setup || verdict.failed()))
    utils::logmesg(lmp, (impl->sampler ? ""
                                       : verdict_table(verdict, judgement.further, id,
                                                       update->ntimestep, comm->nprocs)) +
                            judgement.page);
  report_trouble(judgement);
  if (verdict.passed() || (verdict.undecided && !at_setup)) return;
  const std::string text =
      PREFIX + "step " + std::to_string(update->ntimestep) + ": " + judgement.text;
  if (impl->options.stops && verdict.failed()) error->all(FLERR, text);
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
   check the exchange and gather (collective), then evaluate and compare on
   rank 0. `stopped`: why the evaluation gave no numbers; empty: it did.
------------------------------------------------------------------------- */

Judgement FixNvalchemiValidate::judge(bool at_setup, const std::string &stopped)
{
  const double start = MPI_Wtime();
  JudgedRun judged;
  judged.at_setup = at_setup;
  auto &run = judged.run;
  run.label = std::string("fix ") + id;
  run.step = update->ntimestep;
  run.ranks = comm->nprocs;
  run.skin = neighbor->skin * pair->angstrom_per_length();
  run.versions = {{"package", NVALCHEMI_PACKAGE_VERSION},
                  {"lammps_built", std::to_string(NVALCHEMI_LAMMPS_VERSION_DATE)},
                  {"lammps_running", lmp->version}};
  if (impl->sampler) return judge_sampled(judged, stopped);

  run.failure = stopped;
  if (stopped.empty()) {
    run.plan = check_exchange(lmp, pair, run.failure);
    if (!run.failure.empty())
      run.failure = "a rank failed in the check of the exchange: " + run.failure;
  }
  impl->gathered = gather_system(lmp, pair, groupbit, run.failure.empty());

  Judgement judgement;
  if (comm->me == 0) {
    judgement = impl->judge.judge(pair, impl->gathered, judged);
    if (!run.failure.empty())
      judgement.failure = run.failure + (judgement.failure.empty() ? "" : "; " + judgement.failure);
    judgement.verdict.seconds = MPI_Wtime() - start;
  }
  conclude(judgement);
  return judgement;
}

/* ----------------------------------------------------------------------
   the same without gathering the system; collective
------------------------------------------------------------------------- */

Judgement FixNvalchemiValidate::judge_sampled(const JudgedRun &judged, const std::string &stopped)
{
  auto verdict =
      stopped.empty() ? impl->sampler->check(judged.at_setup) : impl->sampler->stopped(stopped);
  if (judged.at_setup || !verdict.passed())
    verdict.compared.parts = gather_parts(lmp, pair, stopped.empty());
  copy_box(lmp, pair->angstrom_per_length(), verdict.compared.atoms.system);
  Judgement judgement;
  if (comm->me == 0) judgement = impl->judge.judge(pair, verdict, judged);
  conclude(judgement);
  return judgement;
}

/* ----------------------------------------------------------------------
   a report that cannot be written does not hide what was found
------------------------------------------------------------------------- */

void FixNvalchemiValidate::report_trouble(const Judgement &judgement)
{
  if (judgement.trouble.empty()) return;
  if (impl->options.stops && !judgement.verdict.failed())
    error->all(FLERR, PREFIX + judgement.trouble);
  if (comm->me == 0) error->warning(FLERR, PREFIX + judgement.trouble);
}

/* ----------------------------------------------------------------------
   hand rank 0's verdict, or the reason why there is none, to all ranks
------------------------------------------------------------------------- */

void FixNvalchemiValidate::conclude(Judgement &judgement)
{
  nvalchemi::share_root_text(world, judgement.failure);
  nvalchemi::share_root_text(world, judgement.text);
  nvalchemi::share_root_text(world, judgement.trouble);
  MPI_Bcast(&judgement.verdict, sizeof(judgement.verdict), MPI_BYTE, 0, world);
}
