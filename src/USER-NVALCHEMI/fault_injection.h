// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Faults planted on purpose in the decomposed evaluation, so that tests
   can show that the validator and the unit tests find them. Off unless
   the environment variable NVALCHEMI_FAULT names one.
------------------------------------------------------------------------- */

#ifndef LMP_FAULT_INJECTION_H
#define LMP_FAULT_INJECTION_H

#include <string>

#include "potentials/atom_graph.hpp"

namespace nvalchemi {

enum class Fault {
  None,
  DropForward,      // "drop_forward": the first forward exchange of a step does not happen
  NoZeroReverse,    // "no_zero_reverse": halo rows are not zeroed by a reverse and added once more
  SkipReverse,      // "skip_reverse": reverse exchanges do not happen
  CorrectTwice,     // "correct_twice": a reverse followed by a forward of the same rows, twice
  SwapEdges,        // "swap_edges": edges to halo rows point from receiver to sender
  WrongOwner,       // "wrong_owner": the first halo row of each rank holds another owner row
  SwapRows,         // "swap_rows": two owned rows of each rank travel in each other's place
  RoundRows,        // "round_rows": rows that are sent forward pass through float32
  SkipSum,          // "skip_sum": system sums do not happen
  DropLater,        // "drop_later_forward": later forward exchanges of a step do not happen
  MixOutputs,       // "mix_outputs": further outputs are those of other atoms, of the system others
  SwapEnergies,     // "swap_energies": of each twenty atomic energies of a rank two change places
  FailInCheck,      // "fail_in_check": the last rank throws while fix nvalchemi/validate checks
  WrongLayout,      // "wrong_layout": members of LAMMPS's classes seem to be elsewhere

  // a rank is killed

  DieInLoad,        // "die_in_load": when it has read the model
  DieInRows,        // "die_in_rows": at its third neighbour list, between the calls that make rows
  DieInModel,       // "die_in_model": in its first evaluation
  DieInExchange,    // "die_in_exchange": in its third exchange
  DieInCheck,       // "die_in_check": while fix nvalchemi/validate checks
};

// what the environment asks for; throws std::runtime_error for an unknown name

Fault fault_from_environment();

std::string fault_name(Fault fault);

// MixOutputs and SwapEnergies, in what a rank's model returned

void plant_in(Evaluation &evaluation, Fault fault);

// kills this process, as nothing else can, the `time`-th time that the planted fault is met here

void die_if(Fault planted, Fault here, int time = 1);

}    // namespace nvalchemi

#endif
