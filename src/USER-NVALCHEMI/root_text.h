// SPDX-License-Identifier: GPL-2.0-only
#ifndef LMP_ROOT_TEXT_H
#define LMP_ROOT_TEXT_H

#include <mpi.h>

#include <string>

namespace nvalchemi {

// Rank 0's text on all ranks. Collective; ranks that wait for a long work of rank 0 sleep, because
// they may share its processors.

void share_root_text(MPI_Comm comm, std::string &text);

}    // namespace nvalchemi

#endif
