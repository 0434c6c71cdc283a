// SPDX-License-Identifier: GPL-2.0-only

#include "root_text.h"

#include "mpi_check.h"

#include <unistd.h>

namespace nvalchemi {

namespace {

constexpr useconds_t POLL_MICROSECONDS = 500;

void sleep_until_complete(MPI_Request request)
{
  int done = 0;
  NVALCHEMI_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  while (!done) {
    usleep(POLL_MICROSECONDS);
    NVALCHEMI_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  }
}

}    // namespace

/* ---------------------------------------------------------------------- */

void share_root_text(MPI_Comm comm, std::string &text)
{
  MPI_Request request;
  int length = static_cast<int>(text.size());
  NVALCHEMI_MPI(MPI_Ibcast(&length, 1, MPI_INT, 0, comm, &request));
  sleep_until_complete(request);
  text.resize(length);
  if (length > 0) NVALCHEMI_MPI(MPI_Bcast(&text[0], length, MPI_CHAR, 0, comm));
}

}    // namespace nvalchemi
