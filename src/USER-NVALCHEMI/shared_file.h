// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Files that rank 0 reads for all ranks: the others need not see the disk,
   and no two ranks can run different models
------------------------------------------------------------------------- */

#ifndef LMP_SHARED_FILE_H
#define LMP_SHARED_FILE_H

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>

namespace nvalchemi {

// the bytes of `path` as rank 0 reads them, on every rank. Collective. Throws the same
// std::runtime_error on every rank if rank 0 cannot read it or a rank received other bytes.
// `purpose` says in messages what the file is for.

std::string read_shared_file(MPI_Comm comm, const std::string &path, const std::string &purpose);

// the same, but nothing if the file does not exist on rank 0

std::optional<std::string> read_shared_file_if_present(MPI_Comm comm, const std::string &path,
                                                       const std::string &purpose);

// FNV-1a, 64 bits

std::uint64_t hash_bytes(const std::string &bytes);

}    // namespace nvalchemi

#endif
