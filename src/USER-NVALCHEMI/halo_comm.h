// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The ways of rows in GPU memory to other ranks, and what each of them
   needs. All of them move the same bits.
------------------------------------------------------------------------- */

#ifndef LMP_HALO_COMM_H
#define LMP_HALO_COMM_H

#include <mpi.h>

#include <string>

namespace nvalchemi {

enum class HaloComm {
  Auto,         // the first of the following, from the last to the first, that can be used
  Mpi,          // packed through pinned host memory
  MpiDevice,    // an MPI that reads and writes GPU memory
  Nccl          // from GPU to GPU
};

// "auto", "mpi", "mpi/device", "nccl"

const char *halo_comm_name(HaloComm way);

// throws std::runtime_error for another word

HaloComm parse_halo_comm(const std::string &word);

// why MPI cannot be handed GPU memory; empty: it can. What the library itself says at run time: a
// header only tells what was built against.

std::string mpi_device_problem();

// why the GPUs of the ranks cannot be linked by NCCL, the same text on all ranks; empty: they can.
// `mine`: what stands in the way on this rank; `uuid`: of its GPU. Collective.

std::string nccl_problem(MPI_Comm comm, const std::string &mine, const std::string &uuid);

}    // namespace nvalchemi

#endif
