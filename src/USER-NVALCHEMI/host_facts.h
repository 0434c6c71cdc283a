// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The LAMMPS that loads the plugin, seen through its C interface only:
   safe to use whatever its version, compiler or settings.
------------------------------------------------------------------------- */

#ifndef LMP_HOST_FACTS_H
#define LMP_HOST_FACTS_H

#include <string>

namespace nvalchemi {

struct HostFacts {
  int lammps_version = 0;
  int tagint_bytes = 0;
  int imageint_bytes = 0;
  int bigint_bytes = 0;
  bool kokkos = false;
  std::string mpi_family;
  std::string mpi_library;    // first line of MPI_Get_library_version()
  std::string missing;        // name of a needed C function that the host does not export
};

// ask the LAMMPS instance `lmp`; not collective

HostFacts ask_host(void *lmp);

// rank of this process in the instance's world

int host_rank(void *lmp);

// print the reason and end every rank with a non-zero status; any single rank may call it

[[noreturn]] void stop_host(void *lmp, const std::string &reason);

}    // namespace nvalchemi

#endif
