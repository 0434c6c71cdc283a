// SPDX-License-Identifier: GPL-2.0-only

#include "build_stamp.h"

#include <cstdlib>
#include <map>
#include <sstream>

namespace nvalchemi {

/* ---------------------------------------------------------------------- */

std::string write_stamp(const BuildStamp &stamp)
{
  std::ostringstream text;
  text << "package_version " << stamp.package_version << "\n"
       << "lammps_version " << stamp.lammps_version << "\n"
       << "tagint_bytes " << stamp.tagint_bytes << "\n"
       << "imageint_bytes " << stamp.imageint_bytes << "\n"
       << "bigint_bytes " << stamp.bigint_bytes << "\n"
       << "kokkos " << (stamp.kokkos ? "yes" : "no") << "\n"
       << "mpi_family " << stamp.mpi_family << "\n"
       << "torch_version " << stamp.torch_version << "\n";
  return text.str();
}

/* ---------------------------------------------------------------------- */

bool read_stamp(const std::string &text, BuildStamp &stamp)
{
  std::istringstream words(text);
  std::map<std::string, std::string> fields;
  std::string key, value;
  while (words >> key >> value) fields[key] = value;

  for (const char *name : {"package_version", "lammps_version", "tagint_bytes", "imageint_bytes",
                           "bigint_bytes", "kokkos", "mpi_family", "torch_version"})
    if (!fields.count(name)) return false;

  stamp.package_version = fields["package_version"];
  stamp.lammps_version = std::atoi(fields["lammps_version"].c_str());
  stamp.tagint_bytes = std::atoi(fields["tagint_bytes"].c_str());
  stamp.imageint_bytes = std::atoi(fields["imageint_bytes"].c_str());
  stamp.bigint_bytes = std::atoi(fields["bigint_bytes"].c_str());
  stamp.kokkos = fields["kokkos"] == "yes";
  stamp.mpi_family = fields["mpi_family"];
  stamp.torch_version = fields["torch_version"];
  return true;
}

/* ----------------------------------------------------------------------
   Intel MPI, MVAPICH and Cray MPICH keep MPICH's binary interface
------------------------------------------------------------------------- */

std::string mpi_family_of(const std::string &library_version)
{
  const auto has = [&](const char *word) {
    return library_version.find(word) != std::string::npos;
  };
  if (has("Open MPI")) return "openmpi";
  if (has("MPICH") || has("Intel(R) MPI") || has("MVAPICH")) return "mpich";
  if (has("LAMMPS MPI") || has("STUBS")) return "stubs";
  return "unknown";
}

}    // namespace nvalchemi
