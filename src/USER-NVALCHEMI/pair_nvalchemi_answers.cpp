// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   Pair style nvalchemi: what it tells the user, LAMMPS and other styles
------------------------------------------------------------------------- */

#include "pair_nvalchemi.h"
#include "pair_nvalchemi_impl.h"

#include "node_share.h"
#include "evaluation_check.h"
#include "rank_agreement.h"

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "lammps.h"
#include "utils.h"

#include <algorithm>

#include "potentials/session.hpp"

using namespace LAMMPS_NS;

/* ---------------------------------------------------------------------- */

void PairNvalchemi::report_graphs()
{
  const std::string news = impl->session->graph_news();
  if (!news.empty() && comm->me == 0 && impl->options.verbose > 0)
    utils::logmesg(lmp, "nvalchemi: " + news + "\n");
}

/* ---------------------------------------------------------------------- */

bool PairNvalchemi::reads_atoms() const
{
  return impl->inputs.reads_atoms();
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::report_setup()
{
  impl->report_pending = false;
  nvalchemi::ModelFacts facts;
  facts.file = impl->model_file;
  facts.device = nvalchemi::describe_device(impl->session->device_name());
  facts.threads = impl->threads;
  facts.lammps_built = std::to_string(NVALCHEMI_LAMMPS_VERSION_DATE);
  facts.lammps_running = lmp->version;
  facts.torch_built = nvalchemi::Session::torch_version_built();
  facts.torch_running = nvalchemi::Session::torch_version_running();

  std::vector<nvalchemi::TypeLine> types;
  for (int type = 1; type <= atom->ntypes; ++type)
    types.push_back({type, model_species(type), atom->mass ? atom->mass[type] : 0.0});

  const nvalchemi::AtomGraph &graph = impl->graph->graph();
  const nvalchemi::RowCounts rows{graph.n_owned, atom->nghost, graph.n_rows - graph.n_owned,
                                  graph.n_edges};
  const std::string decomposition = nvalchemi::describe_decomposition(
      impl->exchange->communicator(), rows, impl->exchange->transport_name(),
      impl->exchange->records());
  const auto &planned = impl->session->planned_exchanges();
  const auto of_rows = std::count_if(planned.begin(), planned.end(), [](const auto &exchange) {
    return exchange.name != "system_sum";
  });
  const std::string hint =
      impl->graph->keeps_far_rows()
          ? nvalchemi::hint_at_graph_parallel(impl->exchange->communicator(), rows,
                                              impl->session->card(), of_rows)
          : std::string();
  if (comm->me != 0) return;
  if (impl->options.verbose > 0)
    utils::logmesg(lmp, nvalchemi::describe_model(impl->session->card(), facts, types) +
                            impl->inputs.describe() + decomposition + hint +
                            (impl->options.verbose > 1 ? impl->session->listing() : std::string()));
  if (!gives_virial(impl->session->card()))
    error->warning(
        FLERR,
        "Pair style nvalchemi: the model gives no virial: a pressure in thermo output is nan");
  for (const std::string &doubt : nvalchemi::doubtful_masses(impl->session->card(), types))
    error->warning(FLERR, "Pair style nvalchemi: " + doubt);
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::finish()
{
  const MPI_Comm communicator = impl->exchange->communicator();
  if (impl->session) impl->times.recordings = impl->session->graph_recordings();
  std::string text = nvalchemi::describe_times(communicator, impl->times);
  if (impl->session && !model_on_host())
    text += nvalchemi::describe_gpu_memory(communicator,
                                           nvalchemi::gpu_number(impl->session->device_name()));
  if (comm->me == 0 && impl->options.verbose > 0) utils::logmesg(lmp, text);
  impl->times = {};
}

/* ---------------------------------------------------------------------- */

void *PairNvalchemi::extract(const char *name, int &dimension)
{
  return impl->outputs.find_global(name, dimension);
}

/* ---------------------------------------------------------------------- */

void *PairNvalchemi::extract_peratom(const char *name, int &columns)
{
  return impl->outputs.find_per_atom(name, columns);
}

/* ---------------------------------------------------------------------- */

double PairNvalchemi::memory_usage()
{
  return Pair::memory_usage() + impl->graph->memory_usage() + impl->outputs.memory_usage();
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::record_contribution(bool enable)
{
  impl->recording = enable;
}

/* ---------------------------------------------------------------------- */

const NvalchemiContribution &PairNvalchemi::contribution() const
{
  return impl->record;
}

/* ---------------------------------------------------------------------- */

NvalchemiParts PairNvalchemi::parts()
{
  return {*impl->session, impl->source, *impl->graph, *impl->exchange, impl->faults};
}

/* ---------------------------------------------------------------------- */

bool PairNvalchemi::keeps_outputs() const
{
  return impl->session && impl->outputs.is_requested();
}

/* ---------------------------------------------------------------------- */

ModelOutputs *PairNvalchemi::outputs()
{
  return impl->session ? &impl->outputs : nullptr;
}

/* ---------------------------------------------------------------------- */

void PairNvalchemi::on_failure(const void *owner, std::function<void(const std::string &)> listener)
{
  auto &all = impl->failure_listeners;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [owner](const auto &each) { return each.first == owner; }),
            all.end());
  if (listener) all.emplace_back(owner, std::move(listener));
}

/* ---------------------------------------------------------------------- */

bool PairNvalchemi::model_on_host() const
{
  return impl->session->device_name() == "cpu";
}

/* ---------------------------------------------------------------------- */

int PairNvalchemi::model_species(int itype) const
{
  return impl->species_of_type[itype];
}

/* ---------------------------------------------------------------------- */

double PairNvalchemi::angstrom_per_length() const
{
  return impl->units.angstrom_per_length;
}

/* ---------------------------------------------------------------------- */

double PairNvalchemi::ev_per_energy() const
{
  return impl->units.ev_per_energy;
}
