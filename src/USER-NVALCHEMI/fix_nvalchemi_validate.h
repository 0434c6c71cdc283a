// SPDX-License-Identifier: GPL-2.0-only

#ifdef FIX_CLASS
// clang-format off
FixStyle(nvalchemi/validate,FixNvalchemiValidate);
// clang-format on
#else

#ifndef LMP_FIX_NVALCHEMI_VALIDATE_H
#define LMP_FIX_NVALCHEMI_VALIDATE_H

#include "fix.h"

#include <array>
#include <memory>
#include <string>

namespace LAMMPS_NS {

struct JudgedRun;
struct Judgement;
struct ValidationVerdict;

// compares what pair style nvalchemi adds under the decomposition with the
// undecomposed model, evaluated on rank 0 for all atoms at once

class FixNvalchemiValidate : public Fix {
 public:
  FixNvalchemiValidate(class LAMMPS *, int, char **);
  ~FixNvalchemiValidate() override;

  int setmask() override;
  void init() override;
  void setup_pre_force(int) override;
  void setup(int) override;
  void min_setup(int) override;
  void pre_force(int) override;
  void post_force(int) override;
  void min_pre_force(int) override;
  void min_post_force(int) override;
  void post_run() override;
  double compute_vector(int) override;

  // the force errors travel with their atoms

  void grow_arrays(int) override;
  void copy_arrays(int, int, int) override;
  void set_arrays(int) override;
  int pack_exchange(int, double *) override;
  int unpack_exchange(int, double *) override;
  double memory_usage() override;

 private:
  // elements of the global vector, from 0

  enum Figure {
    DIFFERENCE = 0,     // energy, atomic energies, forces, stress
    TOLERANCE = 4,      // the same
    PASSED = 8,         // 1 or 0; -1: neither is proved
    WORST_RATIO = 9,    // largest difference / tolerance of all comparisons so far
    ATOMS = 10,
    SECONDS = 11,
    COMPARISONS = 12,
    VIRIAL_DIFFERENCE = 13,    // of atomic virials
    VIRIAL_TOLERANCE = 14,
    INCOMPLETE_ATOMS = 15,
    EXCHANGE_GOOD = 16,    // 1 or 0
    OUTPUT_RATIO = 17,     // largest difference / tolerance of further outputs; -1: none
    FIGURES = 18
  };

  static constexpr int COLUMNS = 4;    // dfx dfy dfz |df|

  struct Impl;    // keeps the reference and its options
  std::unique_ptr<Impl> impl;

  class PairNvalchemi *pair;
  std::array<double, FIGURES> figures;
  double **errors;         // (nmax, 4) force error and its length, eV/Angstrom; array_atom
  bigint compared_step;    // step of the latest comparison
  bool due;                // the evaluation to come is compared

  void refuse_shared_report() const;
  void report_trouble(const Judgement &);
  bool is_due();
  bool sub_domains_changed() const;
  void prepare(bool at_setup);
  void compare(bool at_setup);
  void check_contribution() const;
  Judgement judge(bool at_setup, const std::string &stopped);
  Judgement judge_sampled(const JudgedRun &, const std::string &stopped);
  void conclude(Judgement &);
  void store(const ValidationVerdict &);
  void store_errors(const std::vector<double> &local);
};

}    // namespace LAMMPS_NS

#endif
#endif
