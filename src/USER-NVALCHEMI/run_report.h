// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What the pair style writes to the log
------------------------------------------------------------------------- */

#ifndef LMP_RUN_REPORT_H
#define LMP_RUN_REPORT_H

#include "mpi_exchange.h"

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "potentials/model_card.hpp"

namespace nvalchemi {

// one line of the type table

struct TypeLine {
  int type = 0;
  int species = -1;     // position in ModelCard::species, -1: not mapped
  double mass = 0.0;    // 0: none
};

struct ModelFacts {
  std::string file;
  std::string device;
  int threads = 1;
  std::string lammps_built, lammps_running;
  std::string torch_built, torch_running;
};

// model, types, device and versions; not collective

std::string describe_model(const ModelCard &card, const ModelFacts &facts,
                           const std::vector<TypeLine> &types);

// "cuda:0" with the GPU's UUID, other devices as they are; not collective

std::string describe_device(const std::string &device);

// warnings on masses far from those of the elements that the types stand for; not collective

std::vector<std::string> doubtful_masses(const ModelCard &card, const std::vector<TypeLine> &types);

// numbers of this rank

struct RowCounts {
  std::int64_t owned = 0, ghosts = 0, halo = 0, edges = 0;
};

// rows and exchanges of a step; collective, the text is complete on rank 0

std::string describe_decomposition(MPI_Comm comm, const RowCounts &mine,
                                   const std::string &transport,
                                   const std::vector<ExchangeRecord> &exchanges);

// a line that proposes policy graph_parallel where the halo holds nearly all other atoms, or several
// images of them; empty otherwise. Collective, the text is complete on rank 0

std::string hint_at_graph_parallel(MPI_Comm comm, const RowCounts &mine, const ModelCard &card,
                                   std::size_t exchanges);

// where the time of this rank went

struct TimeSplit {
  double graph = 0.0, model = 0.0, exchange = 0.0, accumulate = 0.0;
  std::int64_t evaluations = 0;
  std::int64_t replays = 0;    // of them, by a CUDA graph
  int recordings = 0;          // of CUDA graphs since the model was loaded
};

// collective, the text is complete on rank 0

std::string describe_times(MPI_Comm comm, const TimeSplit &mine);

// a problem with rows and edges; where it is one of memory, with numbers and what to do

std::string describe_problem(const std::string &problem, int nlocal, int nghost);

// memory in use on the ranks' GPUs; collective, the text is complete on rank 0

std::string describe_gpu_memory(MPI_Comm comm, int gpu);

}    // namespace nvalchemi

#endif
