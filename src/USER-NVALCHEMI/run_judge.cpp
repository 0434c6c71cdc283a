// SPDX-License-Identifier: GPL-2.0-only

#include "run_judge.h"

#include "model_source.h"
#include "node_share.h"
#include "pair_nvalchemi.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "potentials/session.hpp"
#include "potentials/validator/trace_report.hpp"
#include "potentials/validator/validate_in_parts.hpp"
#include "potentials/whole_system.hpp"
#include "spec/write_mlip_spec.hpp"

using namespace LAMMPS_NS;
using nvalchemi::DecomposedRun;

namespace {

constexpr const char *CHECK_ITS_FOLDER = "check that its folder exists";

[[noreturn]] void refuse_file(const std::string &path, const char *remedy)
{
  throw std::runtime_error("keyword report: " + path + " cannot be written (" +
                           std::strerror(errno) + "); " + remedy);
}

void write_file(const std::string &path, const std::string &text)
{
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  const bool opened = file.is_open();
  file << text;
  file.close();
  if (!file)
    refuse_file(path,
                opened ? "what is there is not complete. Make room for it" : CHECK_ITS_FOLDER);
}

// run minus reference

std::vector<double> force_errors(const nvalchemi::WholeEvaluation &whole,
                                 const nvalchemi::DecomposedEvaluation &found)
{
  std::vector<double> errors = found.forces;
  for (std::size_t k = 0; k < errors.size(); k++) errors[k] -= whole.forces[k];
  return errors;
}

nvalchemi::ErrorMap map_errors(const GatheredSystem &gathered,
                               const nvalchemi::WholeEvaluation &whole, const DecomposedRun &run,
                               double cutoff)
{
  const nvalchemi::PlacedAtoms placed{gathered.atoms.owners, run.ranks,
                                      gathered.atoms.face_distances, cutoff};
  auto map = nvalchemi::map_errors(whole, gathered.decomposed, placed, run.quantities[1].tolerance,
                                   run.quantities[2].tolerance);
  for (auto &atom : map.worst) atom.atom = gathered.atoms.ids[atom.atom];
  for (auto &pair : map.force_pairs) pair.atom = gathered.atoms.ids[pair.atom];
  return map;
}

// by ids from now on

void name_atoms(const GatheredSystem &gathered, DecomposedRun &run)
{
  for (auto &quantity : run.quantities)
    if (quantity.worst >= 0) {
      quantity.rank = gathered.atoms.owners[quantity.worst];
      quantity.worst = gathered.atoms.ids[quantity.worst];
    }
}

}    // namespace

/* ----------------------------------------------------------------------
   what a file of that name holds stays; one that was not there is not left
------------------------------------------------------------------------- */

void RunJudge::try_report() const
{
  const std::string path = nvalchemi::report_file(options_.report, 0);
  if (path.empty()) return;
  const bool existed = std::ifstream(path).is_open();
  errno = 0;
  if (!std::ofstream(path, std::ios::app).is_open()) refuse_file(path, CHECK_ITS_FOLDER);
  if (!existed) std::remove(path.c_str());
}

/* ---------------------------------------------------------------------- */

Judgement RunJudge::judge(PairNvalchemi *pair, const GatheredSystem &gathered, JudgedRun judged)
{
  const nvalchemi::OpenMPThreads guard(threads_);
  Judgement judgement;
  DecomposedRun &run = judged.run;
  const double cutoff = pair->parts().session.card().cutoff;
  run.ids = gathered.atoms.ids;
  run.health = nvalchemi::judge_run_parts(gathered.parts, cutoff, run.skin);
  if (judged.at_setup) explained_step_ = -1;
  try {
    if (run.failure.empty()) compare(pair, gathered, judged, judgement);
  } catch (const std::exception &reason) {
    run.failure = *reason.what() ? reason.what() : "unknown reason";
    run.quantities.clear();
    judgement.failure =
        "the undecomposed reference could not be evaluated on rank 0: " + run.failure;
  }
  judgement.verdict = make_verdict(gathered, run);
  run.agreed_before = agreed_;
  agreed_ = agreed_ || run.passed();
  name_atoms(gathered, run);
  judgement.further = further_outputs(run);

  std::string next;
  try {
    if (is_reported(judged)) next = report(pair, gathered, judged, judgement);
  } catch (const std::exception &reason) {
    judgement.trouble = reason.what();
  }
  if (judgement.verdict.passed()) return judgement;
  if (next.empty() && explained_step_ >= 0)
    next = "see what was said of step " + std::to_string(explained_step_);
  judgement.text = describe_differences(judgement.verdict, run) + ". Next: " + next;
  return judgement;
}

/* ---------------------------------------------------------------------- */

void RunJudge::compare(PairNvalchemi *pair, const GatheredSystem &gathered, JudgedRun &judged,
                       Judgement &judgement)
{
  auto &session = pair->parts().session;
  const auto &card = session.card();
  const auto &system = gathered.atoms.system;
  const auto whole = nvalchemi::evaluate_whole(session, system);
  if (judged.at_setup) {
    const auto other = nvalchemi::evaluate_whole(session, system, /*edge_order=*/1);
    noise_ = nvalchemi::measure_noise(system, whole, other);
    virial_noise_ = nvalchemi::measure_atomic_virial_noise(whole, other);
    output_noise_ = nvalchemi::measure_extra_noise(whole, other);
  }
  DecomposedRun &run = judged.run;
  const auto deviations =
      nvalchemi::compare_evaluations(system, whole, gathered.decomposed, gathered.in_group,
                                     session.precision(), noise_, options_.tolerance);
  run.quantities.assign(deviations.begin(), deviations.end());
  run.quantities.push_back(nvalchemi::compare_atomic_virials(system, whole, gathered.decomposed,
                                                             gathered.in_group, session.precision(),
                                                             virial_noise_, options_.tolerance));
  for (auto &output :
       nvalchemi::compare_extras(whole, gathered.decomposed, gathered.in_group, session.precision(),
                                 output_noise_, options_.tolerance))
    run.quantities.push_back(std::move(output));
  run.completeness = nvalchemi::check_seen_neighbors(gathered.atoms, card.cutoff);
  run.errors = map_errors(gathered, whole, run, card.cutoff);
  judgement.force_errors = force_errors(whole, gathered.decomposed);
}

/* ----------------------------------------------------------------------
   on request at set-up; else the first failure since
------------------------------------------------------------------------- */

bool RunJudge::is_reported(const JudgedRun &judged) const
{
  if (!judged.run.passed() && explained_step_ < 0) return true;
  return judged.at_setup && (!options_.report.empty() || options_.world_size > 0);
}

/* ---------------------------------------------------------------------- */

nvalchemi::ValidationRequest RunJudge::request(PairNvalchemi *pair, const GatheredSystem &gathered,
                                               const DecomposedRun &run) const
{
  const nvalchemi::ModelSource &source = pair->parts().source;
  nvalchemi::ValidationRequest request;
  request.archive = source.archive;
  request.session = source.options;
  request.session.threads = threads_;
  request.system = gathered.atoms.system;
  request.names = gathered.atoms.ids;
  request.ranks = options_.world_size > 0 ? options_.world_size : run.ranks;
  if (options_.world_size == 0) request.owners = gathered.atoms.owners;
  request.tolerance = options_.tolerance;

  // a spec that is found takes effect in the next run, not in this one

  request.autofix = options_.autofix == nvalchemi::AutoFix::No ? nvalchemi::AutoFix::No
                                                               : nvalchemi::AutoFix::Report;
  return request;
}

/* ----------------------------------------------------------------------
   play the parts, write what was asked for; returns what to do next
------------------------------------------------------------------------- */

std::string RunJudge::report(PairNvalchemi *pair, const GatheredSystem &gathered,
                             const JudgedRun &judged, Judgement &judgement)
{
  auto &session = pair->parts().session;
  DecomposedRun run = judged.run;
  run.same_parts = options_.world_size == 0;
  const auto wanted = request(pair, gathered, run);
  nvalchemi::TraceReport report;
  try {
    report = nvalchemi::validate_in_parts(wanted);
  } catch (const std::exception &reason) {
    report =
        nvalchemi::report_of_refusal(wanted, session.card(), session.device_name(), reason.what());
  }
  const std::string file = nvalchemi::report_file(options_.report, run.step);
  nvalchemi::ProposedSpec proposed;
  proposed.apply = options_.autofix == nvalchemi::AutoFix::Apply;
  if (options_.autofix != nvalchemi::AutoFix::No && nvalchemi::proposes_spec(report))
    proposed.file = nvalchemi::spec_file_beside(file);
  if (proposed.apply) report.autofix = "apply";
  judgement.verdict.parts_failed = report.attempts[0].verdict == nvalchemi::Verdict::Failed;
  if (!run.passed()) explained_step_ = run.step;
  nvalchemi::join_run(report, session.card(), std::move(run), proposed);

  judgement.page = nvalchemi::summarize(report);
  if (!proposed.file.empty()) write_file(proposed.file, nvalchemi::write_mlip_spec(report.spec));
  return write(report, judged.run.step, judgement.page);
}

/* ----------------------------------------------------------------------
   returns what to do next
------------------------------------------------------------------------- */

std::string RunJudge::write(const nvalchemi::TraceReport &report, bigint step,
                            std::string &page) const
{
  const std::string file = nvalchemi::report_file(options_.report, step);
  if (file.empty()) return report.next_action;
  write_file(file, nvalchemi::write_trace_report(report));
  page += "report: " + file + "\n";
  return report.next_action + " Report: " + file;
}

/* ---------------------------------------------------------------------- */

Judgement RunJudge::judge(PairNvalchemi *pair, const SampledVerdict &verdict, JudgedRun judged)
{
  const GatheredSystem &gathered = verdict.compared;
  auto &session = pair->parts().session;
  const double cutoff = session.card().cutoff;
  if (judged.at_setup) explained_step_ = -1;

  DecomposedRun run = judged.run;
  const auto *periodic = gathered.atoms.system.periodic;
  run.failure = verdict.failure;
  run.plan = verdict.plan;
  run.completeness.searched = false;
  for (const auto &part : gathered.parts) run.completeness.edges_seen += part.edges;
  run.health = nvalchemi::judge_run_parts(gathered.parts, cutoff, run.skin);
  run.quantities = nvalchemi::quantities_of(verdict, periodic[0] && periodic[1] && periodic[2]);
  run.ids = gathered.atoms.ids;
  if (!run.ids.empty()) run.errors = map_errors(gathered, verdict.reference, run, cutoff);
  if (!run.failure.empty()) run.quantities.clear();
  run.sampled = verdict;
  if (options_.mode == nvalchemi::ValidateOptions::Mode::Auto) run.sampled->mode = "auto";

  Judgement judgement;
  judgement.verdict = verdict.figures();
  judgement.failure = verdict.failure;
  if (verdict.failure.empty())
    judgement.page = sampled_report(verdict, run.label, run.step, run.ranks);
  judged.run = std::move(run);

  std::string next;
  try {
    if (is_reported(judged)) next = report(pair, gathered, judged, judgement.page);
  } catch (const std::exception &reason) {
    judgement.trouble = reason.what();
  }
  if (judgement.verdict.undecided) judgement.text = describe_undecided(verdict);
  if (verdict.passed()) return judgement;
  if (next.empty() && explained_step_ >= 0)
    next = "see what was said of step " + std::to_string(explained_step_);
  else
    explained_step_ = judged.run.step;
  judgement.text = describe_sampled_differences(verdict) + ". Next: " + next;
  return judgement;
}

/* ----------------------------------------------------------------------
   of sampled atoms; returns what to do next
------------------------------------------------------------------------- */

std::string RunJudge::report(PairNvalchemi *pair, const GatheredSystem &gathered,
                             const JudgedRun &judged, std::string &page) const
{
  auto &session = pair->parts().session;
  const nvalchemi::ModelSource &source = pair->parts().source;
  nvalchemi::ValidationRequest wanted;
  wanted.archive = source.archive;
  wanted.session = source.options;
  wanted.system = gathered.atoms.system;
  wanted.ranks = judged.run.ranks;
  wanted.autofix = options_.autofix;
  return write(
      nvalchemi::report_of_sampled_run(wanted, session.card(), session.device_name(), judged.run),
      judged.run.step, page);
}
