// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Faults planted on purpose in the decomposed evaluation, so that tests
   can show that the validator and the unit tests find them. Off unless
   the environment variable NVALCHEMI_FAULT names some.
------------------------------------------------------------------------- */

#ifndef LMP_FAULT_INJECTION_H
#define LMP_FAULT_INJECTION_H

#include <cstdint>
#include <string>
#include <vector>

#include "halo_plan.h"
#include "kernels/faulty_exchange.hpp"
#include "potentials/atom_graph.hpp"

namespace nvalchemi {

// where a fault is planted; those of Exchange are kinds of ExchangeFault

enum class Fault {
  Exchange,

  // in the plan

  WrongOwner,        // "wrong_owner": the first row that is sent is another owned row
  WrongLastOwner,    // "wrong_last_owner": the last one
  SwapRows,          // "swap_rows": two owned rows of each rank travel in each other's place

  // in the map from ghosts to rows

  SwapHaloRows,    // "swap_ghost_rows": ghosts of the first and the last halo row, of two partner
                   // ranks if there are several, have each other's row

  // in the edges, of nvalchemi/kk only the first

  SwapEdges,      // "swap_edges": edges to halo rows point from receiver to sender
  LoseEdge,       // "lose_edge": the last edge of each rank is missing
  RepeatEdge,     // "repeat_edge": the one before it is there in its place
  ShiftImage,     // "shift_image": the first halo row shows an atom one lattice vector away
  WrongSender,    // "wrong_sender": edges to the last halo row read the first one

  // in what a model returns

  MixOutputs,      // "mix_outputs": further outputs are those of other atoms, of the system others
  SwapEnergies,    // "swap_energies": of each twenty atomic energies of a rank two change places
  RoundResults,    // "round_results": energies and gradients pass through float32
  StaleResults,    // "stale_results": atomic energies are those of the evaluation before

  // elsewhere

  FailInCheck,    // "fail_in_check": the last rank throws while fix nvalchemi/validate checks
  WrongLayout,    // "wrong_layout": members of LAMMPS's classes seem to be elsewhere

  // a rank is killed, also by "die_in_exchange" in the second exchange of an evaluation

  DieInLoad,     // "die_in_load": when it has read the model
  DieInRows,     // "die_in_rows": at its third neighbour list, between the calls that make rows
  DieInModel,    // "die_in_model": in its first evaluation
  DieInCheck,    // "die_in_check": while fix nvalchemi/validate checks
};

// NAME[#CALL][@RANK], several with + between them: only the CALL-th call of its kind in an
// evaluation (from 1; of faults of the exchange alone), only on rank RANK

class Faults {
 public:
  Faults() = default;

  // what the environment asks for; throws std::runtime_error for what it does not know

  static Faults from_environment();

  const std::string &text() const { return text_; }    // empty: none, on any rank
  bool planted() const { return !text_.empty(); }

  // whether it is planted on rank `rank`

  bool has(Fault fault, int rank) const;

  // those of the exchange, of all ranks

  std::vector<ExchangeFault> of_exchange() const;

 private:
  struct Planted {
    Fault fault;
    ExchangeFault in_exchange;
    int rank;
  };

  std::string text_;
  std::vector<Planted> planted_;
};

// the edges and positions of a graph on the host, before they become an AtomGraph

struct FaultyEdges {
  std::int64_t n_owned, n_rows;
  std::int64_t *n_edges;
  std::int64_t *receiver, *sender;
  int *sender_atom;
  double *vector, *position;
  const double *cell;    // (3, 3)
};

void plant_in(HaloPlan &plan, const Faults &faults, int rank);
void plant_in(HaloRows &rows, const Faults &faults, int rank);
void plant_in(const FaultyEdges &edges, const Faults &faults, int rank);

// `before`: where an instance keeps the evaluation before

void plant_in(Evaluation &evaluation, const Faults &faults, int rank, Evaluation &before);

// kills this process, as nothing else can, the `time`-th time that the planted fault is met here

void die_if(const Faults &faults, Fault here, int rank, int time = 1);

}    // namespace nvalchemi

#endif
