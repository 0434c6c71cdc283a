// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   A model's further outputs, for fix pair (extract_peratom) and for
   Pair::extract
------------------------------------------------------------------------- */

#ifndef LMP_MODEL_OUTPUTS_H
#define LMP_MODEL_OUTPUTS_H

#include "model_graph.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "potentials/atom_graph.hpp"
#include "potentials/model_card.hpp"

namespace LAMMPS_NS {

class ModelOutputs {
 public:
  // "energy" and every declared output that is neither energy, force nor virial

  void declare(const nvalchemi::ModelCard &card);

  // Pair::extract_peratom: double * for one value per atom (columns 0), double ** otherwise;
  // filled by each later store(). nullptr for unknown names.

  void *find_per_atom(const std::string &name, int &columns);

  // Pair::extract: an output of the whole graph (double), or "NAME_flag" (int), which fix pair sets
  // to ask for a per-atom output. Outputs are always there, so the flag has no effect.

  void *find_global(const std::string &name, int &dimension);

  // does anybody ask for atomic energies?

  bool wants_energies() const;

  // take over one evaluation; throws std::runtime_error if an output has another width than
  // declared, or if one that somebody asks for is not finite

  void store(const ModelGraph &graph, const nvalchemi::Evaluation &evaluation, int nlocal,
             double energy_per_ev);

  double memory_usage() const;

 private:
  struct PerAtom {
    std::int64_t width = 1;
    bool requested = false;
    int trigger = 0;
    std::vector<double> values;        // (nlocal, width)
    std::vector<double *> pointers;    // (nlocal,)
  };

  void store_one(const std::string &name, PerAtom &output, const ModelGraph &graph,
                 const std::vector<double> &rows, int nlocal, double factor);

  std::map<std::string, PerAtom> per_atom_;
  std::map<std::string, std::vector<double>> global_;
  std::set<std::string> read_;    // of the global ones
};

}    // namespace LAMMPS_NS

#endif
