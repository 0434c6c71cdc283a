// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   GpuRows with the CUDA runtime. No atomics: each sum has one thread for
   each element, which adds in the order of the plan, so that the bits are
   those of the sum on the host.
------------------------------------------------------------------------- */

#include "gpu_rows.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace nvalchemi {

namespace {

constexpr int THREADS = 256;
constexpr std::int64_t MOST_BLOCKS = 1 << 20;

/* ---------------------------------------------------------------------- */

void check(cudaError_t code, const char *call)
{
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string("exchange of rows in GPU memory: ") + call + ": " +
                           cudaGetErrorString(code));
}

unsigned blocks_for(std::int64_t elements)
{
  return static_cast<unsigned>(std::min((elements + THREADS - 1) / THREADS, MOST_BLOCKS));
}

/* ----------------------------------------------------------------------
   rows[index[k]] to packed[k]; neighbouring threads copy neighbouring words
------------------------------------------------------------------------- */

template <typename Word> __global__ void gather_rows(const Word *rows, const std::int64_t *index,
                                                     std::int64_t count, std::int64_t width,
                                                     Word *packed)
{
  const std::int64_t elements = count * width;
  for (std::int64_t k = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; k < elements;
       k += std::int64_t(gridDim.x) * blockDim.x)
    packed[k] = rows[index[k / width] * width + k % width];
}

/* ---------------------------------------------------------------------- */

template <typename T>
__global__ void add_rows(T *rows, const T *received, const T *copies, const std::int64_t *sum_rows,
                         const std::int64_t *offsets, const std::int64_t *sources,
                         std::int64_t count, std::int64_t width)
{
  const std::int64_t elements = count * width;
  for (std::int64_t k = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; k < elements;
       k += std::int64_t(gridDim.x) * blockDim.x) {
    const std::int64_t entry = k / width, column = k % width;
    T *target = rows + sum_rows[entry] * width + column;
    T sum = *target;
    for (std::int64_t at = offsets[entry]; at < offsets[entry + 1]; ++at) {
      const std::int64_t source = sources[at];
      sum +=
          source >= 0 ? received[source * width + column] : copies[(-source - 1) * width + column];
    }
    *target = sum;
  }
}

/* ---------------------------------------------------------------------- */

class DeviceBuffer {
 public:
  ~DeviceBuffer() { cudaFree(data_); }
  char *reserve(std::size_t bytes)
  {
    if (bytes > size_) {
      check(cudaFree(data_), "cudaFree");
      data_ = nullptr;
      size_ = 0;
      check(cudaMalloc(&data_, bytes), "cudaMalloc");
      size_ = bytes;
    }
    return static_cast<char *>(data_);
  }

 private:
  void *data_ = nullptr;
  std::size_t size_ = 0;
};

class PinnedBuffer {
 public:
  ~PinnedBuffer() { cudaFreeHost(data_); }
  char *reserve(std::size_t bytes)
  {
    if (bytes > size_) {
      check(cudaFreeHost(data_), "cudaFreeHost");
      data_ = nullptr;
      size_ = 0;
      check(cudaMallocHost(&data_, bytes), "cudaMallocHost");
      size_ = bytes;
    }
    return static_cast<char *>(data_);
  }

 private:
  void *data_ = nullptr;
  std::size_t size_ = 0;
};

/* ---------------------------------------------------------------------- */

class CudaRows final : public GpuRows {
 public:
  explicit CudaRows(int device) : device_(device) { enter(); }

  void use_stream(void *cuda_stream) override { stream_ = static_cast<cudaStream_t>(cuda_stream); }

  void set_plan(const GpuRowPlan &plan) override
  {
    enter();
    plan_ = plan;
    upload(send_rows_, plan_.send_rows);
    upload(own_rows_, plan_.own_rows);
    upload(sum_rows_, plan_.sum_rows);
    upload(sum_offsets_, plan_.sum_offsets);
    upload(sum_sources_, plan_.sum_sources);
  }

  const char *pack(const void *rows, std::size_t row_bytes) override
  {
    enter();
    const auto count = static_cast<std::int64_t>(plan_.send_rows.size());
    char *packed = outgoing_.reserve(count * row_bytes);
    if (count > 0) {
      char *on_device = device_rows_.reserve(count * row_bytes);
      gather(rows, send_rows_, count, row_bytes, on_device);
      copy(packed, on_device, count * row_bytes, cudaMemcpyDeviceToHost);
    }
    wait();    // also for the last exchange's copy out of the buffer of halo rows
    return packed;
  }

  char *halo_buffer(std::size_t row_bytes) override
  {
    return halo_.reserve(halo_rows() * row_bytes);
  }

  void finish_forward(void *rows, std::size_t row_bytes) override
  {
    enter();
    char *data = static_cast<char *>(rows);
    const auto own = static_cast<std::int64_t>(plan_.own_rows.size());
    // copies of own rows stand in one block: what comes before and after it came from the host
    copy_halo_part(data, plan_.owned_rows, plan_.own_first, row_bytes);
    copy_halo_part(data, plan_.own_first + own, plan_.total_rows, row_bytes);
    if (own > 0) gather(rows, own_rows_, own, row_bytes, data + plan_.own_first * row_bytes);
  }

  const char *fetch_halo(const void *rows, std::size_t row_bytes) override
  {
    enter();
    char *host = halo_.reserve(halo_rows() * row_bytes);
    copy(host, static_cast<const char *>(rows) + plan_.owned_rows * row_bytes,
         halo_rows() * row_bytes, cudaMemcpyDeviceToHost);
    wait();
    return host;
  }

  char *received_buffer(std::size_t row_bytes) override
  {
    return incoming_.reserve(plan_.send_rows.size() * row_bytes);
  }

  void finish_reverse(const RowBlock &rows) override
  {
    enter();
    const std::size_t row_bytes = rows.row_bytes();
    const std::size_t received_bytes = plan_.send_rows.size() * row_bytes;
    char *received = device_rows_.reserve(received_bytes);
    copy(received, incoming_.reserve(received_bytes), received_bytes, cudaMemcpyHostToDevice);
    if (rows.type == ElementType::Float32)
      add<float>(rows, received);
    else
      add<double>(rows, received);
    if (halo_rows() > 0)
      check(cudaMemsetAsync(static_cast<char *>(rows.data) + plan_.owned_rows * row_bytes, 0,
                            halo_rows() * row_bytes, stream_),
            "cudaMemsetAsync");
  }

 private:
  void enter() { check(cudaSetDevice(device_), "cudaSetDevice"); }
  void wait() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  std::int64_t halo_rows() const { return plan_.total_rows - plan_.owned_rows; }

  void copy(void *to, const void *from, std::size_t bytes, cudaMemcpyKind kind)
  {
    if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "cudaMemcpyAsync");
  }

  void copy_halo_part(char *rows, std::int64_t first, std::int64_t last, std::size_t row_bytes)
  {
    if (last <= first) return;
    const char *host = halo_.reserve(halo_rows() * row_bytes);
    copy(rows + first * row_bytes, host + (first - plan_.owned_rows) * row_bytes,
         (last - first) * row_bytes, cudaMemcpyHostToDevice);
  }

  void upload(DeviceBuffer &buffer, const std::vector<std::int64_t> &numbers)
  {
    const std::size_t bytes = numbers.size() * sizeof(std::int64_t);
    char *data = buffer.reserve(bytes);
    // pageable memory: the call returns once it has been read
    copy(data, numbers.data(), bytes, cudaMemcpyHostToDevice);
  }

  void gather(const void *rows, DeviceBuffer &index, std::int64_t count, std::size_t row_bytes,
              void *packed)
  {
    const auto *numbers = reinterpret_cast<const std::int64_t *>(index.reserve(0));
    if (row_bytes % 8 == 0)
      gather_rows<<<blocks_for(count * (row_bytes / 8)), THREADS, 0, stream_>>>(
          static_cast<const std::uint64_t *>(rows), numbers, count, row_bytes / 8,
          static_cast<std::uint64_t *>(packed));
    else
      gather_rows<<<blocks_for(count * (row_bytes / 4)), THREADS, 0, stream_>>>(
          static_cast<const std::uint32_t *>(rows), numbers, count, row_bytes / 4,
          static_cast<std::uint32_t *>(packed));
    check(cudaGetLastError(), "gather_rows");
  }

  template <typename T> void add(const RowBlock &rows, const char *received)
  {
    const auto count = static_cast<std::int64_t>(plan_.sum_rows.size());
    if (count == 0) return;
    T *data = static_cast<T *>(rows.data);
    add_rows<<<blocks_for(count * rows.width), THREADS, 0, stream_>>>(
        data, reinterpret_cast<const T *>(received), data + plan_.own_first * rows.width,
        reinterpret_cast<const std::int64_t *>(sum_rows_.reserve(0)),
        reinterpret_cast<const std::int64_t *>(sum_offsets_.reserve(0)),
        reinterpret_cast<const std::int64_t *>(sum_sources_.reserve(0)), count, rows.width);
    check(cudaGetLastError(), "add_rows");
  }

  int device_;
  cudaStream_t stream_ = nullptr;
  GpuRowPlan plan_;
  DeviceBuffer send_rows_, own_rows_, sum_rows_, sum_offsets_, sum_sources_, device_rows_;
  PinnedBuffer outgoing_, incoming_, halo_;
};

}    // namespace

}    // namespace nvalchemi

/* ---------------------------------------------------------------------- */

extern "C" __attribute__((visibility("default"))) nvalchemi::GpuRows *
nvalchemi_make_gpu_rows(int device)
{
  return new nvalchemi::CudaRows(device);
}
