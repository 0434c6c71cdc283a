// SPDX-License-Identifier: GPL-2.0-only

#include "host_facts.h"

#include "build_stamp.h"

#include <cstdio>
#include <dlfcn.h>
#include <unistd.h>

namespace nvalchemi {

namespace {

constexpr int ERROR_FROM_ONE_RANK = 1;          // LMP_ERROR_ONE of LAMMPS's library.h
constexpr int MPI_VERSION_TEXT_LIMIT = 8192;    // MPI_MAX_LIBRARY_VERSION_STRING of every MPI fits
constexpr unsigned SECONDS_FOR_RANK_ZERO = 3;

template <typename Function> Function host_function(const char *name)
{
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

std::string mpi_library_version()
{
  const auto get = host_function<int (*)(char *, int *)>("MPI_Get_library_version");
  if (!get) return "";
  std::string text(MPI_VERSION_TEXT_LIMIT, '\0');
  int length = 0;
  get(text.data(), &length);
  text.resize(length > 0 ? length : 0);
  return text;
}

}    // namespace

/* ---------------------------------------------------------------------- */

HostFacts ask_host(void *lmp)
{
  HostFacts facts;
  const auto version = host_function<int (*)(void *)>("lammps_version");
  const auto setting = host_function<int (*)(void *, const char *)>("lammps_extract_setting");
  const auto package = host_function<int (*)(const char *)>("lammps_config_has_package");
  if (!version) facts.missing = "lammps_version";
  if (!setting) facts.missing = "lammps_extract_setting";
  if (!package) facts.missing = "lammps_config_has_package";
  if (!facts.missing.empty()) return facts;

  facts.lammps_version = version(lmp);
  facts.tagint_bytes = setting(lmp, "tagint");
  facts.imageint_bytes = setting(lmp, "imageint");
  facts.bigint_bytes = setting(lmp, "bigint");
  facts.kokkos = package("KOKKOS") != 0;

  const std::string text = mpi_library_version();
  facts.mpi_family = mpi_family_of(text);
  facts.mpi_library = text.substr(0, text.find('\n'));
  return facts;
}

/* ---------------------------------------------------------------------- */

int host_rank(void *lmp)
{
  const auto setting = host_function<int (*)(void *, const char *)>("lammps_extract_setting");
  return setting ? setting(lmp, "world_rank") : 0;
}

/* ----------------------------------------------------------------------
   LAMMPS goes on after a plugin that did not load, and a rank that leaves
   alone would hang the others. lammps_error() ends all of them. Usually
   every rank is here for the same reason: rank 0 gets time to say it once.
------------------------------------------------------------------------- */

void stop_host(void *lmp, const std::string &reason)
{
  if (host_rank(lmp) != 0) sleep(SECONDS_FOR_RANK_ZERO);
  const auto raise = host_function<void (*)(void *, int, const char *)>("lammps_error");
  if (raise)
    raise(lmp, ERROR_FROM_ONE_RANK, reason.c_str());
  else
    std::fprintf(stderr, "ERROR: %s\n", reason.c_str());
  std::fflush(nullptr);
  _exit(1);
}

}    // namespace nvalchemi
