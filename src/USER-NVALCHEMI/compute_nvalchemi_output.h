// SPDX-License-Identifier: GPL-2.0-only

#ifdef COMPUTE_CLASS
// clang-format off
ComputeStyle(nvalchemi/output,ComputeNvalchemiOutput);
// clang-format on
#else

#ifndef LMP_COMPUTE_NVALCHEMI_OUTPUT_H
#define LMP_COMPUTE_NVALCHEMI_OUTPUT_H

#include "compute.h"

#include <string>
#include <vector>

namespace LAMMPS_NS {

struct StoredOutput;

// one declared output of the model of a pair style nvalchemi, as it was returned at this step

class ComputeNvalchemiOutput : public Compute {
 public:
  ComputeNvalchemiOutput(class LAMMPS *, int, char **);

  void init() override;
  double compute_scalar() override;
  void compute_vector() override;
  void compute_peratom() override;
  double memory_usage() override;

 private:
  std::string key;
  int instance;                  // of the pair style under hybrid; 0: the only one
  int width;                     // values of an atom, or of the system
  bool of_system;                // not per atom
  std::vector<double> values;    // (nmax, width) or (width,)
  std::vector<double *> rows;    // (nmax,) of a per-atom array

  void parse(int, char **);
  StoredOutput find_output();
  StoredOutput find_current();
  void check_atoms();
  void take_global();
};

}    // namespace LAMMPS_NS

#endif
#endif
