// SPDX-License-Identifier: GPL-2.0-only
#include "waiting_threads.h"

#include <cstdlib>
#include <dlfcn.h>

namespace nvalchemi {

namespace {

constexpr char POLICY[] = "OMP_WAIT_POLICY";

/* ---------------------------------------------------------------------- */

bool is_chosen()
{
  return std::getenv(POLICY) || std::getenv("GOMP_SPINCOUNT");
}

/* ----------------------------------------------------------------------
   LibTorch's calls go to the runtime that the program brought, if it did
------------------------------------------------------------------------- */

bool has_a_runtime()
{
  return dlsym(RTLD_DEFAULT, "omp_get_max_threads") != nullptr;
}

}    // namespace

/* ---------------------------------------------------------------------- */

void let_threads_sleep()
{
  if (!is_chosen() && !has_a_runtime()) setenv(POLICY, "passive", 0);
}

/* ---------------------------------------------------------------------- */

std::string describe_waiting(int threads)
{
  if (threads < 2 || is_chosen()) return {};
  return "  threads that wait keep their cores busy; if other work needs these, start LAMMPS "
         "with " +
         std::string(POLICY) + "=passive\n";
}

}    // namespace nvalchemi
