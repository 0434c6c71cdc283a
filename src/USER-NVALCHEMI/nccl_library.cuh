// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What is used of NCCL, found at run time: LibTorch for CUDA brings it. Its
   header is not needed, so that a build does not depend on it
------------------------------------------------------------------------- */

#ifndef LMP_NCCL_LIBRARY_CUH
#define LMP_NCCL_LIBRARY_CUH

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace nvalchemi {

struct NcclId {
  char bytes[128];
};

using NcclComm = void *;

struct NcclLibrary {
  int (*get_id)(NcclId *) = nullptr;
  int (*join)(NcclComm *, int ranks, NcclId, int rank) = nullptr;
  int (*leave)(NcclComm) = nullptr;
  int (*begin_group)() = nullptr;
  int (*end_group)() = nullptr;
  int (*send)(const void *, std::size_t, int type, int peer, NcclComm, cudaStream_t) = nullptr;
  int (*receive)(void *, std::size_t, int type, int peer, NcclComm, cudaStream_t) = nullptr;
  const char *(*error_text)(int) = nullptr;
  bool complete = false;
};

constexpr int NCCL_BYTE = 0;    // ncclChar

inline NcclLibrary find_nccl()
{
  NcclLibrary nccl;
  void *library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return nccl;
  nccl.complete = true;
  const auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    nccl.complete = nccl.complete && function != nullptr;
  };
  find(nccl.get_id, "ncclGetUniqueId");
  find(nccl.join, "ncclCommInitRank");
  find(nccl.leave, "ncclCommDestroy");
  find(nccl.begin_group, "ncclGroupStart");
  find(nccl.end_group, "ncclGroupEnd");
  find(nccl.send, "ncclSend");
  find(nccl.receive, "ncclRecv");
  find(nccl.error_text, "ncclGetErrorString");
  return nccl;
}

inline const NcclLibrary &nccl_library()
{
  static const NcclLibrary nccl = find_nccl();
  return nccl;
}

inline void check_nccl(int code, const char *call)
{
  if (code == 0) return;
  throw std::runtime_error(std::string("exchange of rows between GPUs: ") + call + ": " +
                           nccl_library().error_text(code) +
                           ". NCCL_DEBUG=INFO in the environment tells more; 'halo_comm mpi' goes "
                           "another way");
}

}    // namespace nvalchemi

#endif
