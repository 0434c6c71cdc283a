// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   CUDA 13 changed the arguments of two functions that headers of Kokkos
   before 5.0 still call with the old ones. Included ahead of every source
   that nvcc compiles for Kokkos.
------------------------------------------------------------------------- */

#ifndef LMP_CUDA13_KOKKOS_H
#define LMP_CUDA13_KOKKOS_H

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 13000

inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                            const cudaGraphNode_t *to, size_t count)
{
  const cudaGraphEdgeData *const plain_edges = nullptr;
  return cudaGraphAddDependencies(graph, from, to, plain_edges, count);
}

inline cudaError_t cudaMemPrefetchAsync(const void *data, size_t bytes, int device,
                                        cudaStream_t stream)
{
  cudaMemLocation place = {};
  const bool host = device < 0;
  place.type = host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = host ? 0 : device;
  constexpr unsigned no_flags = 0;
  return cudaMemPrefetchAsync(data, bytes, place, no_flags, stream);
}

#endif
#endif
#endif
