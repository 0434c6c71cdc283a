// SPDX-License-Identifier: GPL-2.0-only

#include "mpi_check.h"

#include <stdexcept>
#include <string>

namespace nvalchemi {

/* ---------------------------------------------------------------------- */

void check_mpi(int code, const char *call)
{
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {'\0'};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + " failed: " + std::string(text, length));
}

}    // namespace nvalchemi
