// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What a build of the glue was made for. Written beside the library as
   text at build time, so that it can be read without opening the library
   (opening runs its constructors and those of LibTorch).
------------------------------------------------------------------------- */

#ifndef LMP_BUILD_STAMP_H
#define LMP_BUILD_STAMP_H

#include <string>

namespace nvalchemi {

struct BuildStamp {
  std::string package_version;
  int lammps_version = 0;    // year, month, day as one number, like lammps_version()
  int tagint_bytes = 0;
  int imageint_bytes = 0;
  int bigint_bytes = 0;
  bool kokkos = false;
  std::string mpi_family;       // "mpich", "openmpi" or "stubs": builds of one family share an ABI
  std::string torch_version;    // of LibTorch, for example "2.11.0"
  bool operator==(const BuildStamp &) const = default;
};

std::string write_stamp(const BuildStamp &stamp);

// false if the text is no complete stamp

bool read_stamp(const std::string &text, BuildStamp &stamp);

// family of an MPI from the text of MPI_Get_library_version(); "unknown" if none fits

std::string mpi_family_of(const std::string &library_version);

}    // namespace nvalchemi

#endif
