// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   A model's further outputs, for fix pair (extract_peratom), for
   Pair::extract and for compute nvalchemi/output
------------------------------------------------------------------------- */

#ifndef LMP_MODEL_OUTPUTS_H
#define LMP_MODEL_OUTPUTS_H

#include "lmptype.h"
#include "model_graph.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "potentials/atom_graph.hpp"
#include "potentials/model_card.hpp"

namespace LAMMPS_NS {

class Atom;

// one output of the latest evaluation; the reference is good until the next declare()

struct StoredOutput {
  bool per_atom;
  std::int64_t width;                   // values of an atom, or of the system
  std::int64_t step;                    // of the evaluation that it is from; -1: none yet
  const std::vector<double> &values;    // (nlocal, width) or (width,)
};

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

  // An output by its name, or the atomic energies by their key too, to be stored from now on.
  // Empty for unknown names.

  std::optional<StoredOutput> request(const std::string &name);

  // what request() knows, with commas; and whether a name is an output that is added to LAMMPS's
  // own energy, forces or virial

  std::string names() const;
  bool is_added(const std::string &name) const { return added_.count(name) > 0; }

  // does anybody ask for atomic energies?

  bool wants_energies() const;

  // take over the evaluation of a step; throws std::runtime_error if an output has another width
  // than declared, or if one that somebody asks for is not finite

  void store(const ModelGraph &graph, const nvalchemi::Evaluation &evaluation, std::int64_t step,
             int nlocal, double energy_per_ev);

  // none is of this step any more, until the next evaluation is taken over

  void forget();

  // does anybody ask for an output?

  bool is_requested() const;

  // the atoms of the evaluation, as this rank has them in order; and whether these are still those,
  // with their types, and their charges if the model reads these (true where nobody has asked
  // before the evaluation)

  void remember(const Atom &atom, bool reads_charges);
  bool remembers(const Atom &atom) const;

  double memory_usage() const;

 private:
  struct Atoms {
    std::vector<tagint> tags;
    std::vector<int> types;
    std::vector<double> charges;
    bool operator==(const Atoms &other) const;
  };
  Atoms atoms_of(const Atom &atom) const;

  struct PerAtom {
    std::int64_t width = 1;
    bool requested = false;
    int trigger = 0;
    std::int64_t step = -1;
    std::vector<double> values;        // (nlocal, width)
    std::vector<double *> pointers;    // (nlocal,)
  };

  void store_one(const std::string &name, PerAtom &output, const ModelGraph &graph,
                 const std::vector<double> &rows, int nlocal, double factor);

  std::map<std::string, PerAtom> per_atom_;
  std::map<std::string, std::vector<double>> global_;
  std::int64_t global_step_ = -1;
  std::optional<Atoms> atoms_;
  bool reads_charges_ = false;
  std::set<std::string> read_;    // of the global ones
  std::set<std::string> added_;
  std::string energies_key_;
};

}    // namespace LAMMPS_NS

#endif
