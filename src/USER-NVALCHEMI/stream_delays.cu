// SPDX-License-Identifier: GPL-2.0-only

#include "stream_delays.h"

#include <cuda_runtime.h>

#include <cstdlib>
#include <stdexcept>

using namespace nvalchemi;

namespace {

constexpr unsigned MOST_CYCLES = 4000000;

__global__ void spin(long long cycles)
{
  const long long start = clock64();
  while (clock64() - start < cycles) {}
}

}    // namespace

/* ---------------------------------------------------------------------- */

std::unique_ptr<StreamDelays> StreamDelays::wanted()
{
  const char *words = std::getenv("NVALCHEMI_GPU_DELAYS");
  return words ? std::make_unique<StreamDelays>(words) : nullptr;
}

/* ---------------------------------------------------------------------- */

StreamDelays::StreamDelays(const std::string &words) :
    random_(std::strtoul(words.c_str(), nullptr, 10)),
    unordered_(words.find(",unordered") != std::string::npos)
{
}

/* ---------------------------------------------------------------------- */

void StreamDelays::stand_still(void *stream)
{
  spin<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(random_() % MOST_CYCLES);
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess)
    throw std::runtime_error(std::string("NVALCHEMI_GPU_DELAYS: ") + cudaGetErrorString(code));
}
