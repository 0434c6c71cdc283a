// SPDX-License-Identifier: GPL-2.0-only

#include "shared_file.h"

#include "mpi_check.h"
#include "rank_agreement.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace nvalchemi {

namespace {

constexpr std::uint64_t BROADCAST_CHUNK = std::uint64_t(1) << 30;    // MPI counts are int

/* ---------------------------------------------------------------------- */

std::string read_here(const std::string &path, const std::string &purpose)
{
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw std::runtime_error("cannot read " + purpose + " '" + path +
                             "': it is a folder. Give the name of a file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (file) bytes << file.rdbuf();
  if (!file)
    throw std::runtime_error("cannot read " + purpose + " '" + path +
                             "': " + (errno ? std::strerror(errno) : "it is empty") +
                             ". Check the name and its permissions on the machine of rank 0");
  return bytes.str();
}

/* ---------------------------------------------------------------------- */

void broadcast(MPI_Comm comm, std::string &bytes)
{
  std::uint64_t size = bytes.size();
  NVALCHEMI_MPI(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, comm));
  bytes.resize(size);
  for (std::uint64_t done = 0; done < size; done += BROADCAST_CHUNK) {
    const int count = static_cast<int>(std::min(BROADCAST_CHUNK, size - done));
    NVALCHEMI_MPI(MPI_Bcast(bytes.data() + done, count, MPI_BYTE, 0, comm));
  }
}

}    // namespace

/* ---------------------------------------------------------------------- */

std::uint64_t hash_bytes(const std::string &bytes)
{
  std::uint64_t hash = 14695981039346656037u;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  return hash;
}

/* ---------------------------------------------------------------------- */

std::string read_shared_file(MPI_Comm comm, const std::string &path, const std::string &purpose)
{
  int me;
  NVALCHEMI_MPI(MPI_Comm_rank(comm, &me));

  std::string bytes;
  RankOutcome outcome;
  try {
    if (me == 0) bytes = read_here(path, purpose);
  } catch (const std::exception &problem) {
    outcome.failure = problem.what();
  }
  std::string failure = agree_on_failure(comm, outcome);
  if (!failure.empty()) throw std::runtime_error(failure);

  broadcast(comm, bytes);
  const std::uint64_t mine = hash_bytes(bytes);
  std::uint64_t expected = mine;
  NVALCHEMI_MPI(MPI_Bcast(&expected, 1, MPI_UINT64_T, 0, comm));
  if (mine != expected)
    outcome.failure = "received other bytes of '" + path + "' than rank 0 read; check the network";
  failure = agree_on_failure(comm, outcome);
  if (!failure.empty()) throw std::runtime_error(failure);
  return bytes;
}

/* ---------------------------------------------------------------------- */

std::optional<std::string> read_shared_file_if_present(MPI_Comm comm, const std::string &path,
                                                       const std::string &purpose)
{
  int me, present = 0;
  NVALCHEMI_MPI(MPI_Comm_rank(comm, &me));
  std::error_code ignored;
  if (me == 0) present = std::filesystem::exists(path, ignored) ? 1 : 0;
  NVALCHEMI_MPI(MPI_Bcast(&present, 1, MPI_INT, 0, comm));
  if (!present) return std::nullopt;
  return read_shared_file(comm, path, purpose);
}

}    // namespace nvalchemi
