// SPDX-License-Identifier: GPL-2.0-only

#include "gpu_rows.h"

#include <dlfcn.h>

#include <filesystem>

namespace nvalchemi {

namespace {

using MakeGpuRows = GpuRows *(*) (int);

/* ----------------------------------------------------------------------
   beside this library, and only where the CUDA runtime that it was built
   for is in the process already: a second one would be blind to memory
   that LibTorch allocated
------------------------------------------------------------------------- */

MakeGpuRows find_factory()
{
  Dl_info info;
  if (dladdr(reinterpret_cast<const void *>(&open_gpu_rows), &info) == 0) return nullptr;
  if (!dlopen(NVALCHEMI_CUDA_RUNTIME, RTLD_LAZY | RTLD_NOLOAD)) return nullptr;
  const auto path = std::filesystem::path(info.dli_fname).parent_path() / "libnvalchemi_cuda.so";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  return reinterpret_cast<MakeGpuRows>(dlsym(library, "nvalchemi_make_gpu_rows"));
}

}    // namespace

/* ---------------------------------------------------------------------- */

std::unique_ptr<GpuRows> open_gpu_rows(int device)
{
  static const MakeGpuRows make = find_factory();
  return std::unique_ptr<GpuRows>(make ? make(device) : nullptr);
}

}    // namespace nvalchemi
