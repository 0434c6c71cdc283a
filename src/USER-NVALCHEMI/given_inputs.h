// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What the user gives for a model's inputs, by the rows of a graph
------------------------------------------------------------------------- */

#ifndef LMP_GIVEN_INPUTS_H
#define LMP_GIVEN_INPUTS_H

#include <cstdint>
#include <vector>

namespace nvalchemi {

// in the columns of InputLayout

struct GivenInputs {
  std::int64_t columns = 0;       // of atoms
  std::vector<double> atoms;      // (n_rows, columns)
  std::vector<double> system;     // (system_columns,)
  bool has_charges = false;       // they do not come from LAMMPS's q
  std::vector<double> charges;    // (n_rows,)
};

}    // namespace nvalchemi

#endif
