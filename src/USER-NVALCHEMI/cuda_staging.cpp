// SPDX-License-Identifier: GPL-2.0-only

#include "cuda_staging.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace nvalchemi {

namespace {

constexpr int HOST_TO_DEVICE = 1;    // values of cudaMemcpyKind
constexpr int DEVICE_TO_HOST = 2;

struct CudaRuntime {
  int (*copy)(void *, const void *, std::size_t, int) = nullptr;
  int (*set_device)(int) = nullptr;
  int (*count_devices)(int *) = nullptr;
  int (*memory)(std::size_t *, std::size_t *) = nullptr;    // free and in all, of the current GPU
  const char *(*error_text)(int) = nullptr;
};

/* ----------------------------------------------------------------------
   the runtime that is in the process already: a second one would be blind
   to memory that LibTorch allocated
------------------------------------------------------------------------- */

CudaRuntime find_runtime()
{
  CudaRuntime runtime;
  void *library = nullptr;
  for (const char *name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"})
    if (!library) library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return runtime;
  runtime.copy = reinterpret_cast<decltype(runtime.copy)>(dlsym(library, "cudaMemcpy"));
  runtime.set_device =
      reinterpret_cast<decltype(runtime.set_device)>(dlsym(library, "cudaSetDevice"));
  runtime.count_devices =
      reinterpret_cast<decltype(runtime.count_devices)>(dlsym(library, "cudaGetDeviceCount"));
  runtime.memory = reinterpret_cast<decltype(runtime.memory)>(dlsym(library, "cudaMemGetInfo"));
  runtime.error_text =
      reinterpret_cast<decltype(runtime.error_text)>(dlsym(library, "cudaGetErrorString"));
  return runtime;
}

const CudaRuntime &cuda_runtime()
{
  static const CudaRuntime runtime = find_runtime();
  return runtime;
}

/* ---------------------------------------------------------------------- */

void check_cuda(int code, const char *call)
{
  if (code == 0) return;
  const CudaRuntime &runtime = cuda_runtime();
  throw std::runtime_error(std::string(call) + " failed: " +
                           (runtime.error_text ? runtime.error_text(code) : "unknown error"));
}

void copy(void *to, const void *from, std::size_t bytes, int kind, int device)
{
  if (bytes == 0) return;
  const CudaRuntime &runtime = cuda_runtime();
  if (!runtime.copy || !runtime.set_device)
    throw std::runtime_error("exchange of rows in GPU memory: no CUDA runtime (libcudart) is "
                             "loaded in this process. Use 'device cpu', or a LibTorch for CUDA");
  check_cuda(runtime.set_device(device), "cudaSetDevice");
  check_cuda(runtime.copy(to, from, bytes, kind), "cudaMemcpy");
}

}    // namespace

/* ---------------------------------------------------------------------- */

void CudaStaging::copy_to_host(void *host, const void *device_memory, std::size_t bytes, int device)
{
  copy(host, device_memory, bytes, DEVICE_TO_HOST, device);
}

/* ---------------------------------------------------------------------- */

void CudaStaging::copy_to_device(void *device_memory, const void *host, std::size_t bytes,
                                 int device)
{
  copy(device_memory, host, bytes, HOST_TO_DEVICE, device);
}

/* ---------------------------------------------------------------------- */

char *CudaStaging::host_buffer(std::size_t bytes)
{
  if (buffer_.size() < bytes) buffer_.resize(bytes);
  return buffer_.data();
}

/* ---------------------------------------------------------------------- */

int cuda_device_count()
{
  int count = 0;
  const CudaRuntime &runtime = cuda_runtime();
  if (!runtime.count_devices || runtime.count_devices(&count) != 0) return 0;
  return count;
}

/* ---------------------------------------------------------------------- */

GpuMemory cuda_memory(int device)
{
  std::size_t unused = 0, total = 0;
  const CudaRuntime &runtime = cuda_runtime();
  if (!runtime.memory || !runtime.set_device || runtime.set_device(device) != 0 ||
      runtime.memory(&unused, &total) != 0)
    return {};
  return {double(total - unused), double(total)};
}

/* ---------------------------------------------------------------------- */

std::string cuda_device_uuid(int device)
{
  // the driver counts as the runtime does: both see what CUDA_VISIBLE_DEVICES leaves

  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!driver) return "";
  const auto get_device = reinterpret_cast<int (*)(int *, int)>(dlsym(driver, "cuDeviceGet"));
  const auto get_uuid =
      reinterpret_cast<int (*)(unsigned char *, int)>(dlsym(driver, "cuDeviceGetUuid_v2"));
  unsigned char bytes[16] = {0};
  int handle = 0;
  if (!get_device || !get_uuid || get_device(&handle, device) != 0 || get_uuid(bytes, handle) != 0)
    return "";
  std::string text = "GPU";
  for (int k = 0; k < 16; ++k) {
    if (k == 0 || k == 4 || k == 6 || k == 8 || k == 10) text += '-';
    constexpr char DIGITS[] = "0123456789abcdef";
    text += DIGITS[bytes[k] >> 4];
    text += DIGITS[bytes[k] & 15];
  }
  return text;
}

/* ---------------------------------------------------------------------- */

void set_cuda_device(int device)
{
  const CudaRuntime &runtime = cuda_runtime();
  if (!runtime.set_device) throw std::runtime_error("cannot choose a GPU: no CUDA runtime");
  check_cuda(runtime.set_device(device), "cudaSetDevice");
}

}    // namespace nvalchemi
