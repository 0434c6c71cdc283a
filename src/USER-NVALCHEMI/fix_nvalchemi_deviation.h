// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   fix nvalchemi/deviation: how far several models disagree on the forces,
   and, on request, their mean as the potential
------------------------------------------------------------------------- */

#ifdef FIX_CLASS
// clang-format off
FixStyle(nvalchemi/deviation,FixNvalchemiDeviation);
// clang-format on
#else

#ifndef LMP_FIX_NVALCHEMI_DEVIATION_H
#define LMP_FIX_NVALCHEMI_DEVIATION_H

#include "fix.h"

#include <memory>
#include <string>
#include <vector>

namespace nvalchemi {
class Session;
}

namespace LAMMPS_NS {

class FixNvalchemiDeviation : public Fix {
 public:
  FixNvalchemiDeviation(class LAMMPS *, int, char **);
  ~FixNvalchemiDeviation() override;

  int setmask() override;
  void init() override;
  void setup_pre_force(int) override;
  void pre_force(int) override;
  void min_pre_force(int) override;
  void setup(int) override;
  void min_setup(int) override;
  void post_force(int) override;
  void min_post_force(int) override;
  double compute_scalar() override;
  double compute_vector(int) override;
  double memory_usage() override;

 private:
  struct Impl;    // keeps library types out of this header
  std::unique_ptr<Impl> impl;
  class PairNvalchemi *pair;
  bool due;

  void parse(int, char **);
  void load_members();
  void compare(int vflag);
  void evaluate(std::size_t member);
  void store_deviation();
  void judge();
  void use_mean(int vflag);
};

}    // namespace LAMMPS_NS

#endif
#endif
