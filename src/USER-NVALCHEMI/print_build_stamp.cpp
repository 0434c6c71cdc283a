// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   Prints the stamp of a build. Compiled with the glue's own settings and
   run once at build time.
------------------------------------------------------------------------- */

#include "build_stamp.h"

#include "lmptype.h"

#include <mpi.h>

#include <cstdio>

namespace {

const char *mpi_family()
{
#if defined(OMPI_MAJOR_VERSION)
  return "openmpi";
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH_VERSION) || \
    defined(MVAPICH2_VERSION) || defined(CRAY_MPICH_VERSION)
  return "mpich";
#elif defined(LMP_MPI_STUBS) || defined(MPI_STUBS)
  return "stubs";
#else
#error "unknown MPI: expected mpi.h of MPICH, Intel MPI, MVAPICH, Cray MPICH or Open MPI"
#endif
}

}    // namespace

/* ---------------------------------------------------------------------- */

int main()
{
  nvalchemi::BuildStamp stamp;
  stamp.package_version = NVALCHEMI_PACKAGE_VERSION;
  stamp.lammps_version = NVALCHEMI_LAMMPS_VERSION_DATE;
  stamp.tagint_bytes = sizeof(LAMMPS_NS::tagint);
  stamp.imageint_bytes = sizeof(LAMMPS_NS::imageint);
  stamp.bigint_bytes = sizeof(LAMMPS_NS::bigint);
#if defined(LMP_KOKKOS)
  stamp.kokkos = true;
#endif
  stamp.mpi_family = mpi_family();
  stamp.torch_version = NVALCHEMI_TORCH_VERSION;
  std::fputs(nvalchemi::write_stamp(stamp).c_str(), stdout);
  return 0;
}
