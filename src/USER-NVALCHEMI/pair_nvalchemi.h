// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Pair style nvalchemi: any TorchScript interatomic potential under
   LAMMPS's spatial decomposition
------------------------------------------------------------------------- */

#ifdef PAIR_CLASS
// clang-format off
PairStyle(nvalchemi,PairNvalchemi);
// clang-format on
#else

#ifndef LMP_PAIR_NVALCHEMI_H
#define LMP_PAIR_NVALCHEMI_H

#include "pair.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "potentials/whole_system.hpp"

namespace nvalchemi {
class Faults;
class MpiExchange;
class Session;
struct ModelSource;
struct RankOutcome;
}    // namespace nvalchemi

namespace LAMMPS_NS {

class Contribution;
class ModelGraph;
class ModelOutputs;

// what one instance of the style added on this rank, in LAMMPS's units;
// other styles and fixes that share atom->f have no part in it

struct NvalchemiContribution {
  double energy = 0.0;                    // this rank's part
  std::vector<double> atomic_energies;    // (nlocal,), 0 for atoms of unmapped types
  std::vector<double> forces;             // (nlocal, 3), ghost parts already brought home
  double virial[6] = {0.0};               // this rank's part: xx,yy,zz,xy,xz,yz
  std::vector<double>
      virials;    // (nlocal, 6), half of each edge's to either end; empty for models
                  // that are no function of edge vectors

  // further declared outputs, in the model's units: per atom (nlocal, width), 0 for atoms of
  // unmapped types; of the system what this rank has. The same keys on all ranks.

  nvalchemi::ExtraOutputs outputs;
};

// what one instance works with, for who checks it; valid after pair_coeff

struct NvalchemiParts {
  nvalchemi::Session &session;
  const nvalchemi::ModelSource &source;
  class ModelGraph &graph;             // of the latest compute(); whoever changes it restores it
  nvalchemi::MpiExchange &exchange;    // with the plan of the latest re-neighbouring
  const nvalchemi::Faults &faults;     // planted on purpose
};

class PairNvalchemi : public Pair {
 public:
  PairNvalchemi(class LAMMPS *);
  ~PairNvalchemi() override;

  void compute(int, int) override;
  void settings(int, char **) override;
  void coeff(int, char **) override;
  void init_style() override;
  double init_one(int, int) override;
  void finish() override;

  void *extract(const char *, int &) override;
  void *extract_peratom(const char *, int &) override;
  double memory_usage() override;

  // keep a copy of the contribution of each following compute(); same call on all ranks

  void record_contribution(bool enable);

  // the contribution of the latest compute(); empty vectors if nothing was recorded

  const NvalchemiContribution &contribution() const;

  NvalchemiParts parts();

  // the model's further outputs; null before pair_coeff

  ModelOutputs *outputs();
  bool keeps_outputs() const;    // somebody asks for one

  // called on all ranks before a compute() that failed stops them, each owner's own; null: no longer.
  // Collective

  void on_failure(const void *owner, std::function<void(const std::string &)> listener);

  // position of an atom type in ModelCard::species, or -1 if the type is not mapped

  int model_species(int itype) const;

  // factors from LAMMPS's units to the model's interface (Angstrom, eV)

  double angstrom_per_length() const;
  double ev_per_energy() const;

 protected:
  // one evaluation and what it adds, after ev_init()

  void evaluate_and_add();

  // something of LAMMPS's atoms, computes, fixes or variables is an input of the model

  bool reads_atoms() const;

  // the code for rows, edges and results in the memory of an execution space; the host's by default

  void use(std::unique_ptr<ModelGraph>, std::unique_ptr<Contribution>);

  // the device to load a model on: auto, cpu, cuda or cuda:N

  virtual std::string model_device(const std::string &keyword) { return keyword; }

  // does the session run on the host?

  bool model_on_host() const;

 private:
  struct Impl;    // keeps library types out of this header
  std::unique_ptr<Impl> impl;

  void allocate();
  void refuse_unavailable();
  bool only_default_pressure() const;
  void rebuild_rows();
  void give_inputs();
  nvalchemi::Evaluation evaluate();
  void accumulate(const nvalchemi::Evaluation &);
  void stop_together(const nvalchemi::RankOutcome &);
  void report_graphs();
  void report_setup();
};

}    // namespace LAMMPS_NS

#endif
#endif
