// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The arguments of "pair_style nvalchemi" and "pair_coeff"
------------------------------------------------------------------------- */

#ifndef LMP_PAIR_OPTIONS_H
#define LMP_PAIR_OPTIONS_H

#include "halo_comm.h"
#include "input_source.h"

#include <optional>
#include <string>
#include <vector>

#include "potentials/graph_use.hpp"

namespace nvalchemi {

struct PairOptions {
  std::string device = "auto";                    // auto | cpu | cuda | cuda:N
  HaloComm halo_comm = HaloComm::Auto;            // of rows in GPU memory
  GraphUse graphs = GraphUse::Auto;               // where launches take most of the time
  bool overlap = false;                           // exchanges with what needs no halo rows
  std::string card_file;                          // empty: the archive's own, or the one beside it
  std::string spec;                               // a preset or a file; empty: the card's
  bool lenient_spec = false;                      // warn of what the strict reader refuses
  std::vector<std::string> operator_libraries;    // loaded before the model
  int threads = 0;    // of LibTorch on each rank; 0: cores of the node / its ranks
  std::optional<double> total_charge;    // e; of all atoms of the style together
  std::vector<InputOption> inputs;       // of the model, and where their values come from
  bool self_test = true;
  bool allow_exclusions = false;
  bool centroid = false;    // make the 9-component per-atom virial available
  int verbose = 1;    // 0: warnings alone; 1: model and decomposition; 2: each exchange, progress
};

// parse "keyword value ..."; throws std::runtime_error

PairOptions parse_pair_options(const std::vector<std::string> &arguments);

// "-1" for NULL; else the position of each LAMMPS type's element in `species`. `symbols` holds one
// entry for each type 1..ntypes. Throws std::runtime_error.

std::vector<int> map_types(const std::vector<std::string> &symbols, int ntypes,
                           const std::vector<std::string> &species, bool under_hybrid);

}    // namespace nvalchemi

#endif
