// SPDX-License-Identifier: GPL-2.0-only
#ifndef LMP_MPI_CHECK_H
#define LMP_MPI_CHECK_H

#include <mpi.h>

namespace nvalchemi {

// throw std::runtime_error with MPI's own text unless `code` is MPI_SUCCESS

void check_mpi(int code, const char *call);

}    // namespace nvalchemi

#define NVALCHEMI_MPI(call) nvalchemi::check_mpi((call), #call)

#endif
