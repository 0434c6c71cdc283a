// SPDX-License-Identifier: GPL-2.0-only

#include "node_share.h"

#include "cuda_staging.h"
#include "mpi_check.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace nvalchemi {

namespace {

// the ranks that share this rank's memory

class NodeCommunicator {
 public:
  explicit NodeCommunicator(MPI_Comm comm)
  {
    NVALCHEMI_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm_));
  }
  ~NodeCommunicator() { MPI_Comm_free(&comm_); }
  NodeCommunicator(const NodeCommunicator &) = delete;
  NodeCommunicator &operator=(const NodeCommunicator &) = delete;
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/* ---------------------------------------------------------------------- */

std::vector<int> usable_processors()
{
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> usable(CPU_SETSIZE, 0);
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) usable[cpu] = CPU_ISSET(cpu, &set) ? 1 : 0;
  return usable;
}

/* ---------------------------------------------------------------------- */

template <typename Function> Function openmp_function(const char *name)
{
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}    // namespace

/* ---------------------------------------------------------------------- */

int threads_for_rank(MPI_Comm comm)
{
  const NodeCommunicator node(comm);
  const std::vector<int> mine = usable_processors();
  std::vector<int> ranks_using(mine.size(), 0);
  NVALCHEMI_MPI(MPI_Allreduce(mine.data(), ranks_using.data(), static_cast<int>(mine.size()),
                              MPI_INT, MPI_SUM, node.get()));

  if (const char *text = std::getenv("OMP_NUM_THREADS"))
    if (const int requested = std::atoi(text); requested > 0) return requested;

  double share = 0.0;
  for (std::size_t cpu = 0; cpu < mine.size(); ++cpu)
    if (mine[cpu]) share += 1.0 / ranks_using[cpu];
  constexpr double ROUNDING = 1.0e-9;
  return std::max(1, static_cast<int>(share + ROUNDING));
}

/* ---------------------------------------------------------------------- */

std::string device_for_rank(MPI_Comm comm, const std::string &device)
{
  const NodeCommunicator node(comm);
  int rank_on_node;
  NVALCHEMI_MPI(MPI_Comm_rank(node.get(), &rank_on_node));
  if (device != "auto" && device != "cuda") return device;
  const int count = cuda_device_count();
  if (count < 2) return device;
  return "cuda:" + std::to_string(rank_on_node % count);
}

/* ---------------------------------------------------------------------- */

int gpu_number(const std::string &device)
{
  const std::string prefix = "cuda:";
  return device.rfind(prefix, 0) == 0 ? std::stoi(device.substr(prefix.size())) : -1;
}

/* ---------------------------------------------------------------------- */

OpenMPThreads::OpenMPThreads(int threads)
{
  const auto get = openmp_function<int (*)()>("omp_get_max_threads");
  const auto set = openmp_function<void (*)(int)>("omp_set_num_threads");
  if (!get || !set || threads < 1) return;
  before_ = get();
  if (before_ != threads) set(threads);
}

/* ---------------------------------------------------------------------- */

OpenMPThreads::~OpenMPThreads()
{
  if (before_ < 1) return;
  openmp_function<void (*)(int)>("omp_set_num_threads")(before_);
}

}    // namespace nvalchemi
