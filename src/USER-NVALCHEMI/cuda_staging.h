// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Copies between host and GPU memory through the CUDA runtime that
   LibTorch has already loaded; nothing here is needed to run on a CPU
------------------------------------------------------------------------- */

#ifndef LMP_CUDA_STAGING_H
#define LMP_CUDA_STAGING_H

#include <cstddef>
#include <string>
#include <vector>

namespace nvalchemi {

class CudaStaging {
 public:
  // both wait for earlier work of the device's default stream; throw std::runtime_error

  void copy_to_host(void *host, const void *device_memory, std::size_t bytes, int device);
  void copy_to_device(void *device_memory, const void *host, std::size_t bytes, int device);

  // host memory of at least `bytes`, valid until the next call

  char *host_buffer(std::size_t bytes);

 private:
  std::vector<char> buffer_;
};

// number of GPUs that the CUDA runtime of this process sees; 0 if there is no runtime

int cuda_device_count();

// bytes of a GPU's memory in use, by any process, and in all; {0, 0} if the runtime cannot tell

struct GpuMemory {
  double used = 0.0, total = 0.0;
};

GpuMemory cuda_memory(int device);

// "GPU-1f0f4a2c-..." as nvidia-smi prints it; empty if there is no driver or no such GPU

std::string cuda_device_uuid(int device);

// make `device` the calling thread's current GPU

void set_cuda_device(int device);

}    // namespace nvalchemi

#endif
