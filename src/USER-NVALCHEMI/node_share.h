// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   This rank's share of the node that it runs on
------------------------------------------------------------------------- */

#ifndef LMP_NODE_SHARE_H
#define LMP_NODE_SHARE_H

#include <mpi.h>

#include <string>

namespace nvalchemi {

// This rank among those that share its node. Ranks outside of `comm` (LAMMPS's other partitions, or
// what else a Python program runs) count too, but cannot be asked: they may be anywhere in their
// inputs. For them the launcher's word is taken, or else the order of all ranks. Collective.

struct NodePlace {
  int rank = 0;
  int ranks = 1;
};

NodePlace place_on_node(MPI_Comm comm);

// number of threads for this rank: OMP_NUM_THREADS if it is set, else each logical processor that
// it may use, divided by the number of ranks that may use it; at least 1. Collective.

int threads_for_rank(MPI_Comm comm);

// `device` with a number where it leaves the choice open and the node has several GPUs: ranks of a
// node take them in turn. Collective.

std::string device_for_rank(MPI_Comm comm, const std::string &device);

// the same for a given place and number of GPUs

std::string device_at(int place, int gpus, const std::string &device);

// the number of "cuda:N", -1 for other devices

int gpu_number(const std::string &device);

// Lets the C library keep the memory that a step frees for the next one, which asks for as much. By
// default it goes back to the system and is fetched anew, many times a step. That costs time, and
// UCX, which MPI libraries use, keeps a note of each return and drops none as long as nothing is
// registered: 0.6 kB each, with no end. The user's own MALLOC_* and GLIBC_TUNABLES come first.

void keep_freed_memory();

// While it lives, OpenMP's thread number is LibTorch's; afterwards it is LAMMPS's again. Both may
// use the same OpenMP runtime, and LAMMPS's threaded styles rely on theirs.

class OpenMPThreads {
 public:
  explicit OpenMPThreads(int threads);
  ~OpenMPThreads();
  OpenMPThreads(const OpenMPThreads &) = delete;
  OpenMPThreads &operator=(const OpenMPThreads &) = delete;

 private:
  int before_ = 0;
};

}    // namespace nvalchemi

#endif
