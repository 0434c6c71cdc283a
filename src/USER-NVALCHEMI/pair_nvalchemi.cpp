// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   Pair style nvalchemi: LAMMPS's side of a model. One step is
     neighbour list -> graph -> Session::evaluate -> add to LAMMPS's arrays
------------------------------------------------------------------------- */

#include "pair_nvalchemi.h"
#include "pair_nvalchemi_impl.h"

#include "citations.h"
#include "evaluation_check.h"
#include "ghost_cutoff.h"
#include "host_contribution.h"
#include "neighbor_graph.h"
#include "node_share.h"
#include "rank_agreement.h"

#include "atom.h"
#include "citeme.h"
#include "comm.h"
#include "compute.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "lammps.h"
#include "memory.h"
#include "modify.h"
#include "neigh_list.h"
#include "neighbor.h"
#include "platform.h"
#include "update.h"
#include "utils.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "potentials/session.hpp"

using namespace LAMMPS_NS;
using nvalchemi::Evaluation;
using nvalchemi::ModelCard;

namespace {

const std::string PREFIX = "Pair style nvalchemi: ";
constexpr int FIRST_EVALUATIONS = 3;    // that LibTorch compiles and optimises the model in

}    // namespace

/* ---------------------------------------------------------------------- */

PairNvalchemi::PairNvalchemi(LAMMPS *lmp) : Pair(lmp), impl(std::make_unique<Impl>(lmp))
{
  single_enable = 0;
  restartinfo = 0;
  one_coeff = 1;
  manybody_flag = 1;

  // folded rows would lose the virial of periodic images

  no_virial_fdotr_compute = 1;
  centroidstressflag = CENTROID_NOTAVAIL;

  if (lmp->citeme) lmp->citeme->add(nvalchemi::package_citation(NVALCHEMI_PACKAGE_VERSION));
  impl->exchange = std::make_unique<nvalchemi::MpiExchange>(world);
  auto graph = std::make_unique<NeighborGraph>();
  auto contribution = std::make_unique<HostContribution>(*graph);
  use(std::move(graph), std::move(contribution));
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::use(std::unique_ptr<ModelGraph> graph,
                        std::unique_ptr<Contribution> contribution)
{
  impl->contribution = std::move(contribution);
  impl->graph = std::move(graph);
}

/* ---------------------------------------------------------------------- */

PairNvalchemi::~PairNvalchemi()
{
  if (copymode || !allocated) return;
  memory->destroy(setflag);
  memory->destroy(cutsq);
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::allocate()
{
  allocated = 1;
  const int n = atom->ntypes + 1;
  memory->create(setflag, n, n, "pair:setflag");
  memory->create(cutsq, n, n, "pair:cutsq");
  for (int i = 1; i < n; i++)
    for (int j = 1; j < n; j++) setflag[i][j] = 0;
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::settings(int narg, char **arg)
{
  std::string problem;
  try {
    impl->options = nvalchemi::parse_pair_options({arg, arg + narg});
    impl->units = nvalchemi::unit_scale(update->unit_style);
    impl->faults = nvalchemi::Faults::from_environment();
    impl->graph->plant(impl->faults, comm->me);
  } catch (const std::exception &refusal) {
    problem = refusal.what();
  }
  if (!problem.empty()) error->all(FLERR, PREFIX + problem);

  // LAMMPS keeps the instance when the same style is set anew; other settings need the model anew

  impl->session.reset();
  if (allocated)
    for (int i = 1; i <= atom->ntypes; i++)
      for (int j = 1; j <= atom->ntypes; j++) setflag[i][j] = 0;

  // hybrid reads this flag right after settings()

  centroidstressflag = impl->options.centroid ? CENTROID_AVAIL : CENTROID_NOTAVAIL;
  impl->contribution->set_units(1.0 / impl->units.ev_per_energy,
                                1.0 / impl->units.angstrom_per_length);
  impl->exchange->plant(impl->faults.of_exchange());
  if (impl->faults.planted() && comm->me == 0)
    error->warning(FLERR, PREFIX + "NVALCHEMI_FAULT plants the fault '" + impl->faults.text() +
                              "' on purpose: RESULTS ARE WRONG. Unset it outside of tests");
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::coeff(int narg, char **arg)
{
  if (narg < 3 || strcmp(arg[0], "*") != 0 || strcmp(arg[1], "*") != 0)
    error->all(FLERR, PREFIX + "pair_coeff: expected '* * FILE El1 El2 ...' (one element for each "
                               "atom type)");
  if (!allocated) allocate();

  const bool under_hybrid = utils::strmatch(force->pair_style, "^hybrid");
  std::string problem;
  std::vector<std::string> warnings;
  try {
    impl->threads = nvalchemi::threads_for_rank(world);
    if (impl->options.threads > 0) impl->threads = impl->options.threads;
    std::string path = comm->me == 0 ? utils::get_potential_file_path(arg[2]) : "";
    if (path.empty()) path = arg[2];

    const nvalchemi::OpenMPThreads guard(impl->threads);
    const double start = platform::walltime();
    if (comm->me == 0 && impl->options.verbose > 0)
      utils::logmesg(lmp, "nvalchemi: loading " + path + "\n");
    nvalchemi::PairOptions options = impl->options;
    options.device = model_device(options.device);

    // a fault is planted into the calls that a replay does not make

    if (impl->faults.planted()) options.graphs = nvalchemi::GraphUse::No;
    impl->session =
        nvalchemi::load_model(world, path, options, impl->threads, impl->source, warnings);
    nvalchemi::die_if(impl->faults, nvalchemi::Fault::DieInLoad, comm->me);
    impl->exchange->choose_way(impl->options.halo_comm,
                               nvalchemi::gpu_number(impl->session->device_name()));
    if (comm->me == 0 && impl->options.verbose > 1)
      utils::logmesg(lmp, "nvalchemi: loaded in {:.1f} s\n", platform::walltime() - start);
    const std::string publication = nvalchemi::family_citation(impl->session->card().family);
    if (lmp->citeme && !publication.empty()) lmp->citeme->add(publication);
    impl->model_file = arg[2];
    if (!impl->graph->keeps_far_rows() &&
        impl->session->card().distribution().distribution.policy.kind ==
            nvalchemi::PolicyKind::GraphParallel)
      throw std::runtime_error("distribution spec /core/policy/kind: got \"graph_parallel\", "
                               "expected \"halo\" (rows of atoms that are not ghosts of a rank are "
                               "kept by pair style nvalchemi, not by nvalchemi/kk)");
    impl->inputs.declare(impl->session->card(), impl->options.inputs);
    impl->configure_graph(nvalchemi::map_types({arg + 3, arg + narg}, atom->ntypes,
                                               impl->session->card().species, under_hybrid));
  } catch (const std::exception &refusal) {
    problem = refusal.what();
  }
  if (!problem.empty()) error->all(FLERR, PREFIX + problem);
  if (comm->me == 0)
    for (const std::string &warning : warnings) error->warning(FLERR, PREFIX + warning);

  int count = 0;
  for (int i = 1; i <= atom->ntypes; i++)
    for (int j = i; j <= atom->ntypes; j++) {
      setflag[i][j] = model_species(i) >= 0 && model_species(j) >= 0 ? 1 : 0;
      count += setflag[i][j];
    }
  if (count == 0)
    error->all(FLERR, PREFIX + "pair_coeff: got NULL for every atom type, expected an element");
  impl->outputs.declare(impl->session->card());
  impl->report_pending = true;
  impl->first_evaluations = FIRST_EVALUATIONS;
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::Impl::configure_graph(const std::vector<int> &types)
{
  const ModelCard &card = session->card();
  species_of_type = types;
  cutoff = card.cutoff / units.angstrom_per_length;
  rows_ready = false;

  graph->given() = {};
  graph->configure(graph_settings(card, units.angstrom_per_length, species_of_type));
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::init_style()
{
  if (impl->graph->settings().wants_charges && !atom->q_flag && !impl->inputs.gives_charges())
    error->all(FLERR, PREFIX + "model '" + impl->session->card().name +
                          "' takes the charges of atoms, which atom_style " + atom->atom_style +
                          " does not have; use atom_style charge, or another with charges, or "
                          "give them another source with 'input charges'");
  std::string problem;
  try {
    impl->inputs.look_up();
  } catch (const std::runtime_error &refusal) {
    problem = refusal.what();
  }
  if (!problem.empty()) error->all(FLERR, PREFIX + problem);
  neighbor->add_request(this, NeighConst::REQ_FULL);
  impl->served.reset(atom->ntypes);
  impl->rows_ready = false;
}

/* ---------------------------------------------------------------------- */

double PairNvalchemi::init_one(int i, int j)
{
  if (setflag[i][j] == 0) error->all(FLERR, "All pair coeffs are not set");
  impl->served.add(i, j);
  return impl->cutoff;
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::compute(int eflag, int vflag)
{
  ev_init(eflag, vflag);
  evaluate_and_add();
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::evaluate_and_add()
{
  refuse_unavailable();
  if (neighbor->ago == 0 || !impl->rows_ready) rebuild_rows();
  if (!impl->inputs.empty()) give_inputs();
  const Evaluation evaluation = evaluate();
  accumulate(evaluation);
  if (impl->report_pending) report_setup();
}

/* ----------------------------------------------------------------------
   LAMMPS asks for the virial for its own compute thermo_press whether
   thermo_style prints it or not. It becomes NaN where there is none.
------------------------------------------------------------------------- */

bool PairNvalchemi::only_default_pressure() const
{
  for (const Compute *compute : modify->get_compute_list())
    if (compute->pressflag && strcmp(compute->id, "thermo_press") != 0) return false;
  return true;
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::refuse_unavailable()
{
  std::string problem;
  try {
    check_available(impl->session->card(), {vflag_global != 0 && !only_default_pressure(),
                                            vflag_atom || cvflag_atom, eflag_atom != 0});
  } catch (const std::exception &refusal) {
    problem = refusal.what();
  }
  if (!problem.empty()) error->all(FLERR, PREFIX + problem);
}

/* ----------------------------------------------------------------------
   rows, candidates and halo plan for the present neighbour list; collective
------------------------------------------------------------------------- */

void PairNvalchemi::rebuild_rows()
{
  const double start = platform::walltime();
  const AtomView atoms{atom->nlocal, atom->nlocal + atom->nghost, atom->x, atom->type, atom->q};
  nvalchemi::RankOutcome outcome;
  const std::vector<std::int64_t> *row_of_atom = nullptr;
  std::vector<nvalchemi::GhostHome> homes;
  const auto attempt = [&](const std::function<void()> &work) {
    try {
      if (outcome.failure.empty()) work();
    } catch (const std::exception &problem) {
      outcome.failure = nvalchemi::describe_problem(problem.what(), atom->nlocal, atom->nghost);
    }
  };
  attempt([&] {
    nvalchemi::check_ghost_cutoff(impl->cutoff,
                                  std::max(comm->cutghostuser, neighbor->cutneighmax));
    if (!impl->options.allow_exclusions)
      outcome.failure = missing_neighbors(lmp, impl->served, impl->species_of_type);
  });

  // the cell is the same on all ranks

  impl->graph->take_setup_cell(domain->h);
  attempt([&] {
    const nvalchemi::OpenMPThreads guard(impl->threads);
    impl->session->settle(impl->graph->setup_cell());
  });
  attempt([&] { row_of_atom = &impl->graph->select_owned(*list, atoms); });
  stop_together(outcome);

  impl->homes.ask(*comm, *row_of_atom, atom->nlocal);
  attempt([&] {
    homes = impl->homes.of(impl->graph->select_candidates(*list, atoms, neighbor->skin));
  });
  stop_together(outcome);

  nvalchemi::die_if(impl->faults, nvalchemi::Fault::DieInRows, comm->me, 3);
  const MPI_Comm comm_of_rows = impl->exchange->communicator();
  const std::int64_t n_owned = impl->graph->n_owned();
  if (impl->graph->settings().all_rows) {
    std::vector<std::int64_t> ids;
    for (std::int64_t row = 0; row < n_owned; ++row)
      ids.push_back(atom->tag ? atom->tag[impl->graph->atom_of_row(row)] : 0);
    impl->graph->name_rows(nvalchemi::gather_rows(comm_of_rows, ids));
    for (const nvalchemi::GhostHome &home : nvalchemi::homes_of_all_rows(comm_of_rows, n_owned))
      homes.push_back(home);
  }
  nvalchemi::HaloRows rows =
      nvalchemi::build_halo_rows(comm_of_rows, n_owned, homes, impl->graph->settings().folded);
  plant_in(rows, impl->faults, comm->me);
  attempt([&] {
    impl->graph->place_ghosts(rows.row_of_ghost, rows.plan.total_rows);
    impl->exchange->set_plan(std::move(rows.plan));
  });
  stop_together(outcome);
  impl->rows_ready = true;
  impl->times.graph += platform::walltime() - start;
}

/* ----------------------------------------------------------------------
   collective; LAMMPS's own errors go their own way
------------------------------------------------------------------------- */

void PairNvalchemi::give_inputs()
{
  const double start = platform::walltime();
  nvalchemi::RankOutcome outcome;
  try {
    impl->inputs.evaluate(*impl->graph);
  } catch (const std::runtime_error &refusal) {
    outcome.failure = refusal.what();
  }
  stop_together(outcome);
  impl->inputs.spread(*impl->graph, *impl->exchange);
  impl->times.graph += platform::walltime() - start;
}

/* ----------------------------------------------------------------------
   the model on this rank's graph. Collective: a rank that fails takes part
   in the exchanges that remain, then all ranks stop with its message.
------------------------------------------------------------------------- */

Evaluation PairNvalchemi::evaluate()
{
  nvalchemi::MpiExchange &exchange = *impl->exchange;
  const AtomView atoms{atom->nlocal, atom->nlocal + atom->nghost, atom->x, atom->type, atom->q};
  const double start = platform::walltime();
  const double exchanged = exchange.seconds();
  double graph_done = start;

  if (impl->graph->settings().replicates_geometry) impl->graph->replicate(atoms, exchange);

  Evaluation evaluation;
  nvalchemi::RankOutcome outcome;
  const bool edge_moments = cvflag_atom != 0;
  exchange.begin_evaluation(impl->session->schedule(edge_moments));
  if (impl->session->replays(edge_moments)) exchange.expect_agreement();
  try {
    nvalchemi::AtomGraph graph = impl->graph->update(atoms, domain->h);
    graph.wants_host_energies = impl->recording || impl->outputs.wants_energies();
    if (graph.cuda_device < 0 && !model_on_host()) graph.results_stay = false;
    exchange.use_stream(graph.cuda_stream);
    graph_done = platform::walltime();
    nvalchemi::die_if(impl->faults, nvalchemi::Fault::DieInModel, comm->me);
    const nvalchemi::OpenMPThreads guard(impl->threads);
    try {
      evaluation = impl->session->evaluate(graph, exchange.for_model(), edge_moments);
    } catch (const nvalchemi::NotFiniteError &found) {
      energy_not_finite(*impl->graph, found, *atom);
    }
    plant_in(evaluation, impl->faults, comm->me, impl->evaluation_before);
    evaluation.replayed ? exchange.forget_evaluation() : exchange.end_evaluation();
    check_finite(*impl->graph, evaluation, *atom);
    impl->outputs.store(*impl->graph, evaluation, update->ntimestep, atom->nlocal,
                        1.0 / impl->units.ev_per_energy);
    impl->outputs.remember(*atom,
                           impl->graph->settings().wants_charges && !impl->inputs.gives_charges());
  } catch (const std::exception &problem) {
    outcome.failure = graph_done > start
                          ? problem.what()
                          : nvalchemi::describe_problem(problem.what(), atom->nlocal, atom->nghost);
    outcome.caused_by_peer = exchange.peer_failed();
    exchange.finish_poisoned();
  }
  stop_together(outcome);
  impl->times.replays += evaluation.replayed ? 1 : 0;
  report_graphs();

  const double in_exchange = exchange.seconds() - exchanged;
  impl->times.graph += graph_done - start;
  impl->times.exchange += in_exchange;
  impl->times.model += platform::walltime() - graph_done - in_exchange;
  ++impl->times.evaluations;
  if (impl->first_evaluations > 0 && impl->options.verbose > 1 && comm->me == 0)
    utils::logmesg(lmp, "nvalchemi: evaluation {} took {:.2f} s (LibTorch compiles in the first)\n",
                   FIRST_EVALUATIONS + 1 - impl->first_evaluations, platform::walltime() - start);
  if (impl->first_evaluations > 0) --impl->first_evaluations;
  return evaluation;
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::accumulate(const Evaluation &evaluation)
{
  const double start = platform::walltime();
  ResultTargets targets;
  targets.f = atom->f;
  targets.ghosts_go_home = force->newton_pair != 0;

  // gradients of replicated positions are summed over ranks once, here: not by LAMMPS as well

  if (impl->graph->settings().replicates_geometry &&
      impl->session->card().forces != nvalchemi::ForceSource::EdgeVectors)
    targets.ghosts_go_home = false;
  if (eflag_global) targets.energy = &eng_vdwl;
  if (vflag_global) targets.virial = virial;
  if (eflag_atom) targets.eatom = eatom;
  if (vflag_atom) targets.vatom = vatom;
  if (cvflag_atom) targets.cvatom = cvatom;
  if (impl->recording) targets.record = &impl->record;
  targets.record_virials =
      impl->recording && impl->session->card().forces == nvalchemi::ForceSource::EdgeVectors;
  impl->contribution->add(evaluation, *impl->exchange, atom->nlocal, targets);
  if (vflag_global && !gives_virial(impl->session->card()))
    std::fill_n(virial, 6, std::numeric_limits<double>::quiet_NaN());
  impl->times.accumulate += platform::walltime() - start;
}

/* ----------------------------------------------------------------------
   collective: every rank leaves with the message of the lowest that failed
------------------------------------------------------------------------- */

void PairNvalchemi::stop_together(const nvalchemi::RankOutcome &outcome)
{
  const std::string failure = nvalchemi::agree_on_failure(impl->exchange->communicator(), outcome);
  if (failure.empty()) return;
  for (const auto &[owner, listener] : impl->failure_listeners) listener(failure);
  error->all(FLERR, PREFIX + failure);
}
