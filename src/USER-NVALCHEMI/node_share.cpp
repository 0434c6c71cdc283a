// SPDX-License-Identifier: GPL-2.0-only

#include "node_share.h"

#include "cuda_staging.h"
#include "mpi_check.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace nvalchemi {

namespace {

// what launchers tell a rank: its number on its node, and how many there are

constexpr std::pair<const char *, const char *> LAUNCHERS[] = {
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
};

/* ---------------------------------------------------------------------- */

NodePlace place_in(MPI_Comm comm)
{
  NodePlace place;
  NVALCHEMI_MPI(MPI_Comm_rank(comm, &place.rank));
  NVALCHEMI_MPI(MPI_Comm_size(comm, &place.ranks));
  return place;
}

/* ---------------------------------------------------------------------- */

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

NodePlace place_on_node(MPI_Comm comm)
{
  const NodeCommunicator node(comm);
  NodePlace place = place_in(node.get());
  const NodePlace all = place_in(MPI_COMM_WORLD);
  if (place_in(comm).ranks == all.ranks) return place;

  for (const auto &[rank, ranks] : LAUNCHERS) {
    const char *const number = std::getenv(rank);
    const char *const count = std::getenv(ranks);
    if (number && count && std::atoi(count) >= place.ranks)
      return {std::atoi(number), std::atoi(count)};
  }
  return all;
}

/* ---------------------------------------------------------------------- */

int threads_for_rank(MPI_Comm comm)
{
  const NodePlace place = place_on_node(comm);
  const NodeCommunicator node(comm);
  const std::vector<int> mine = usable_processors();
  std::vector<int> ranks_using(mine.size(), 0);
  NVALCHEMI_MPI(MPI_Allreduce(mine.data(), ranks_using.data(), static_cast<int>(mine.size()),
                              MPI_INT, MPI_SUM, node.get()));

  // ranks outside of `comm` use processors as its own ranks do, unless each has its own

  const int seen = place_in(node.get()).ranks;
  const long usable = std::count(mine.begin(), mine.end(), 1);
  const bool shared = usable * place.ranks > sysconf(_SC_NPROCESSORS_ONLN);
  const double more = shared ? double(place.ranks) / seen : 1.0;

  if (const char *text = std::getenv("OMP_NUM_THREADS"))
    if (const int requested = std::atoi(text); requested > 0) return requested;

  double share = 0.0;
  for (std::size_t cpu = 0; cpu < mine.size(); ++cpu)
    if (mine[cpu]) share += 1.0 / (more * ranks_using[cpu]);
  constexpr double ROUNDING = 1.0e-9;
  return std::max(1, static_cast<int>(share + ROUNDING));
}

/* ---------------------------------------------------------------------- */

std::string device_for_rank(MPI_Comm comm, const std::string &device)
{
  return device_at(place_on_node(comm).rank, cuda_device_count(), device);
}

/* ---------------------------------------------------------------------- */

std::string device_at(int place, int gpus, const std::string &device)
{
  if (gpus < 2 || (device != "auto" && device != "cuda")) return device;
  return "cuda:" + std::to_string(place % gpus);
}

/* ---------------------------------------------------------------------- */

void keep_freed_memory()
{
#if defined(__GLIBC__)
  for (const char *name : {"GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"})
    if (std::getenv(name)) return;
  constexpr int LARGEST_MMAP_THRESHOLD = 32 << 20;    // that glibc takes
  constexpr int KEPT_AT_MOST = 512 << 20;             // of the heap, on each rank
  mallopt(M_MMAP_THRESHOLD, LARGEST_MMAP_THRESHOLD);
  mallopt(M_TRIM_THRESHOLD, KEPT_AT_MOST);
#endif
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
