// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What an instance of pair style nvalchemi keeps; for pair_nvalchemi.cpp
------------------------------------------------------------------------- */

#ifndef LMP_PAIR_NVALCHEMI_IMPL_H
#define LMP_PAIR_NVALCHEMI_IMPL_H

#include "contribution.h"
#include "fault_injection.h"
#include "ghost_homes.h"
#include "input_sources.h"
#include "model_graph.h"
#include "model_outputs.h"
#include "model_source.h"
#include "mpi_exchange.h"
#include "neighborhood_check.h"
#include "pair_nvalchemi.h"
#include "pair_options.h"
#include "run_report.h"
#include "unit_scale.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "potentials/session.hpp"

namespace LAMMPS_NS {

struct PairNvalchemi::Impl {
  explicit Impl(LAMMPS *lmp) : inputs(lmp) {}

  nvalchemi::PairOptions options;
  nvalchemi::UnitScale units;
  nvalchemi::Faults faults;
  nvalchemi::Evaluation evaluation_before;    // for one of them
  int threads = 1;

  std::string model_file;
  nvalchemi::ModelSource source;
  std::unique_ptr<nvalchemi::MpiExchange> exchange;    // outlives what the session recorded of it
  std::unique_ptr<nvalchemi::Session> session;
  std::vector<int> species_of_type;    // -1: not mapped
  double cutoff = 0.0;                 // in LAMMPS's length unit
  ServedPairs served;

  std::unique_ptr<ModelGraph> graph;
  bool rows_ready = false;
  GhostHomes homes;
  InputSources inputs;

  std::unique_ptr<Contribution> contribution;
  NvalchemiContribution record;
  bool recording = false;
  // in the order in which they came, the same on all ranks
  std::vector<std::pair<const void *, std::function<void(const std::string &)>>> failure_listeners;
  ModelOutputs outputs;

  bool report_pending = false;
  int first_evaluations = 0;    // still to come
  nvalchemi::TimeSplit times;

  void configure_graph(const std::vector<int> &types);
};

}    // namespace LAMMPS_NS

#endif
