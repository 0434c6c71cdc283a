// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   The choice of the way that rows go
------------------------------------------------------------------------- */

#include "mpi_exchange.h"

#include "rank_agreement.h"
#include "root_text.h"

#include <stdexcept>

namespace nvalchemi {

/* ---------------------------------------------------------------------- */

void MpiExchange::choose_way(HaloComm wanted, int device)
{
  gpu_rows_.reset();
  gpu_plan_is_old_ = true;
  way_ = HaloComm::Mpi;
  device_ = device;
  RankOutcome outcome;
  try {
    if (device >= 0) gpu_rows_ = open_gpu_rows(device);
    if (gpu_rows_) gpu_rows_->use_stream(cuda_stream_);
  } catch (const std::exception &problem) {
    outcome.failure = problem.what();
  }
  const std::string failure = agree_on_failure(communicator(), outcome);
  if (!failure.empty()) throw std::runtime_error(failure);
  way_ = possible_way(wanted, device);
  if (way_ == HaloComm::Nccl) link_gpus();
}

/* ----------------------------------------------------------------------
   one rank alone has nobody to talk to: any way will do
------------------------------------------------------------------------- */

HaloComm MpiExchange::possible_way(HaloComm wanted, int device)
{
  if (wanted == HaloComm::Mpi || ranks() == 1) return HaloComm::Mpi;
  std::string mine;
  if (device < 0)
    mine = "the model runs on the CPU";
  else if (!gpu_rows_)
    mine = "this package was built without CUDA, or for another CUDA (libnvalchemi_cuda.so)";

  std::string link = mine;
  if (link.empty()) link = gpu_rows_->link_problem();
  const std::string no_nccl = nccl_problem(communicator(), link, cuda_device_uuid(device));
  if (no_nccl.empty() && wanted != HaloComm::MpiDevice) return HaloComm::Nccl;

  RankOutcome outcome;
  outcome.failure = mine.empty() ? mpi_device_problem() : mine;
  const std::string no_device = agree_on_failure(communicator(), outcome);
  if (no_device.empty() && wanted == HaloComm::MpiDevice) return HaloComm::MpiDevice;

  // never mpi/device unasked: libraries have said that they take GPU memory, and crashed

  if (wanted == HaloComm::Auto) return HaloComm::Mpi;
  throw std::runtime_error(std::string("keyword halo_comm: got ") + halo_comm_name(wanted) +
                           ", expected auto or mpi, because " +
                           (wanted == HaloComm::Nccl ? no_nccl : no_device));
}

/* ---------------------------------------------------------------------- */

void MpiExchange::link_gpus()
{
  RankOutcome outcome;
  std::string id;
  try {
    if (rank() == 0) id = gpu_rows_->new_link_id();
  } catch (const std::exception &problem) {
    outcome.failure = problem.what();
  }
  std::string failure = agree_on_failure(communicator(), outcome);
  if (!failure.empty()) throw std::runtime_error(failure);
  share_root_text(communicator(), id);
  try {
    gpu_rows_->join_link(id, ranks(), rank());
  } catch (const std::exception &problem) {
    outcome.failure = problem.what();
  }
  failure = agree_on_failure(communicator(), outcome);
  if (!failure.empty()) throw std::runtime_error(failure);
}

/* ---------------------------------------------------------------------- */

std::string MpiExchange::transport_name() const
{
  if (ranks() == 1) return "none";
  if (way_ == HaloComm::Nccl) return "NCCL from GPU to GPU, one hop";
  if (way_ == HaloComm::MpiDevice) return "MPI on GPU memory, one hop";
  if (gpu_rows_) return "MPI, rows packed on the GPU, one hop";
  return device_ < 0 ? "MPI on host memory, one hop" : "MPI, all rows staged on the host, one hop";
}

}    // namespace nvalchemi
