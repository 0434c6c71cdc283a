// SPDX-License-Identifier: GPL-2.0-only

#include "halo_comm.h"

#include "mpi_check.h"
#include "rank_agreement.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace nvalchemi {

namespace {

constexpr HaloComm WAYS[] = {HaloComm::Auto, HaloComm::Mpi, HaloComm::MpiDevice, HaloComm::Nccl};
constexpr int UUID_BYTES = 64;

/* ----------------------------------------------------------------------
   the first rank whose GPU an earlier rank has too, -1 if there is none
------------------------------------------------------------------------- */

int rank_that_shares(const std::vector<char> &uuids, int ranks)
{
  for (int rank = 1; rank < ranks; ++rank)
    for (int earlier = 0; earlier < rank; ++earlier)
      if (std::memcmp(&uuids[rank * UUID_BYTES], &uuids[earlier * UUID_BYTES], UUID_BYTES) == 0)
        return rank;
  return -1;
}

}    // namespace

/* ---------------------------------------------------------------------- */

const char *halo_comm_name(HaloComm way)
{
  switch (way) {
    case HaloComm::Auto: return "auto";
    case HaloComm::Mpi: return "mpi";
    case HaloComm::MpiDevice: return "mpi/device";
    case HaloComm::Nccl: break;
  }
  return "nccl";
}

/* ---------------------------------------------------------------------- */

HaloComm parse_halo_comm(const std::string &word)
{
  for (const HaloComm way : WAYS)
    if (word == halo_comm_name(way)) return way;
  throw std::runtime_error("keyword halo_comm: got '" + word +
                           "', expected auto, mpi, mpi/device or nccl");
}

/* ---------------------------------------------------------------------- */

std::string mpi_device_problem()
{
  const auto supported =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  if (!supported) return "this MPI library does not tell whether it takes GPU memory";
  return supported() ? "" : "this MPI library does not take GPU memory";
}

/* ---------------------------------------------------------------------- */

std::string nccl_problem(MPI_Comm comm, const std::string &mine, const std::string &uuid)
{
  int ranks, rank;
  NVALCHEMI_MPI(MPI_Comm_size(comm, &ranks));
  NVALCHEMI_MPI(MPI_Comm_rank(comm, &rank));
  RankOutcome outcome;
  outcome.failure = mine;
  if (mine.empty() && uuid.empty()) outcome.failure = "the GPU has no UUID to tell it by";
  const std::string failure = agree_on_failure(comm, outcome);
  if (!failure.empty()) return failure;

  char own[UUID_BYTES] = {0};
  std::copy_n(uuid.data(), std::min<std::size_t>(uuid.size(), UUID_BYTES), own);
  std::vector<char> uuids(static_cast<std::size_t>(ranks) * UUID_BYTES);
  NVALCHEMI_MPI(MPI_Allgather(own, UUID_BYTES, MPI_CHAR, uuids.data(), UUID_BYTES, MPI_CHAR, comm));
  const int sharing = rank_that_shares(uuids, ranks);
  if (sharing < 0) return "";
  return "rank " + std::to_string(sharing) +
         " shares its GPU with another rank, expected a GPU for each";
}

}    // namespace nvalchemi
