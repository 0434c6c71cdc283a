// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Where the values of a model's inputs come from in LAMMPS, and the values
------------------------------------------------------------------------- */

#ifndef LMP_INPUT_SOURCES_H
#define LMP_INPUT_SOURCES_H

#include "input_source.h"
#include "pointers.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "potentials/input_layout.hpp"

namespace nvalchemi {
class MpiExchange;
}    // namespace nvalchemi

namespace LAMMPS_NS {

class ModelGraph;

class InputSources : protected Pointers {
 public:
  explicit InputSources(class LAMMPS *);

  // the inputs of a model and the sources that were written for them; throws std::runtime_error for
  // those that do not go together

  void declare(const nvalchemi::ModelCard &card, const std::vector<nvalchemi::InputOption> &);

  // variables, computes and fixes as they are now, at each init; throws std::runtime_error

  void look_up();

  bool empty() const { return bound_.empty(); }
  bool reads_atoms() const { return reads_atoms_; }    // anything but numbers
  bool gives_charges() const { return gives_charges_; }

  // values of this step for the owned rows of a graph, and of the system; throws std::runtime_error.
  // All ranks call it, since computes communicate.

  void evaluate(ModelGraph &graph);

  // the same values on all ranks, and those of owned rows to halo rows. Collective

  void spread(ModelGraph &graph, nvalchemi::MpiExchange &exchange) const;

  std::string describe() const;    // for the log: a line for each input

 private:
  // an input and its sources, one for each column; none: the card's default

  struct Bound {
    nvalchemi::InputPlace place;
    std::vector<nvalchemi::InputSource> sources;
    bool is_charges = false;
  };

  void bind(const nvalchemi::InputPlace &, const std::vector<nvalchemi::InputOption> &,
            const std::string &model);
  void check(const Bound &, const nvalchemi::InputSource &) const;
  int variable_of(const Bound &, const nvalchemi::InputSource &) const;
  double of_system(const Bound &, const nvalchemi::InputSource &) const;
  void of_atoms(const Bound &, const nvalchemi::InputSource &);
  void fill(const Bound &, std::int64_t column, ModelGraph &);
  void refuse_own_energies_in(const Bound &, const nvalchemi::InputSource &) const;
  [[noreturn]] void refuse_own_energies(const Bound &, const nvalchemi::InputSource &) const;

  nvalchemi::InputLayout layout_;
  std::vector<Bound> bound_;
  bool reads_atoms_ = false, gives_charges_ = false, varies_by_atom_ = false;
  std::vector<double> column_;    // (nlocal,), of one source
};

}    // namespace LAMMPS_NS

#endif
