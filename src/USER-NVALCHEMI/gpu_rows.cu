// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   GpuRows with the CUDA runtime. No atomics: each sum has one thread for
   each element, which adds in the order of the plan, so that the bits are
   those of the sum on the host.
------------------------------------------------------------------------- */

#include "gpu_rows.h"

#include "nccl_library.cuh"
#include "stream_delays.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

namespace nvalchemi {

namespace {

constexpr int THREADS = 256;
constexpr std::int64_t MOST_BLOCKS = 1 << 16;

/* ---------------------------------------------------------------------- */

void check(cudaError_t code, const char *call)
{
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string("exchange of rows in GPU memory: ") + call + ": " +
                           cudaGetErrorString(code));
}

/* ----------------------------------------------------------------------
   A block works on whole rows, several at once where they are narrow:
   neighbouring threads are neighbouring words of a row, and no thread
   divides.
------------------------------------------------------------------------- */

struct RowGrid {
  dim3 blocks, threads;
};

RowGrid grid_for(std::int64_t rows, std::int64_t width)
{
  unsigned across = 1;
  while (across < THREADS && across < width) across *= 2;
  const unsigned at_once = THREADS / across;
  return {dim3(static_cast<unsigned>(std::min((rows + at_once - 1) / at_once, MOST_BLOCKS))),
          dim3(across, at_once)};
}

// rows[index[k]] to packed[k]

template <typename Word> __global__ void gather_rows(const Word *rows, const std::int64_t *index,
                                                     std::int64_t count, std::int64_t width,
                                                     Word *packed)
{
  for (std::int64_t k = blockIdx.x * std::int64_t(blockDim.y) + threadIdx.y; k < count;
       k += std::int64_t(gridDim.x) * blockDim.y) {
    const Word *from = rows + index[k] * width;
    Word *to = packed + k * width;
    for (std::int64_t column = threadIdx.x; column < width; column += blockDim.x)
      to[column] = from[column];
  }
}

// what one thread adds at once: as many numbers as a word of 16 bytes holds

template <typename T, int N> struct alignas(N * sizeof(T)) Numbers {
  T value[N];
};

template <typename T, int N>
__global__ void add_rows(Numbers<T, N> *rows, const Numbers<T, N> *received,
                         const Numbers<T, N> *copies, const std::int64_t *sum_rows,
                         const std::int64_t *offsets, const std::int64_t *sources,
                         std::int64_t count, std::int64_t width)
{
  for (std::int64_t entry = blockIdx.x * std::int64_t(blockDim.y) + threadIdx.y; entry < count;
       entry += std::int64_t(gridDim.x) * blockDim.y) {
    Numbers<T, N> *target = rows + sum_rows[entry] * width;
    const std::int64_t first = offsets[entry], last = offsets[entry + 1];
    if (first == last) continue;
    for (std::int64_t column = threadIdx.x; column < width; column += blockDim.x) {
      Numbers<T, N> sum = target[column];
      for (std::int64_t at = first; at < last; ++at) {
        const std::int64_t source = sources[at];
        const Numbers<T, N> term = source >= 0 ? received[source * width + column]
                                               : copies[(-source - 1) * width + column];
        for (int k = 0; k < N; ++k) sum.value[k] += term.value[k];
      }
      target[column] = sum;
    }
  }
}

bool is_aligned(const void *data)
{
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
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
  explicit CudaRows(int device) : device_(device)
  {
    enter();
    // what peers wait for goes before what fills the time
    int least = 0, most = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &most), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&side_, cudaStreamNonBlocking, most),
          "cudaStreamCreateWithPriority");
    check(cudaEventCreateWithFlags(&turn_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  ~CudaRows() override
  {
    if (link_) nccl_library().leave(link_);
    cudaEventDestroy(turn_);
    cudaStreamDestroy(side_);
  }

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

  void fork() override
  {
    main_ = stream_;
    if (delays_) delays_->stand_still(main_);
    go_on_in(side_);
    forked_ = true;
    if (delays_) delays_->stand_still(side_);
  }

  void join() override
  {
    if (!forked_) return;
    forked_ = false;
    if (delays_) delays_->stand_still(side_);
    go_on_in(main_);
  }

  const char *pack(const void *rows, std::size_t row_bytes) override
  {
    const char *on_device = gather_outgoing(rows, row_bytes);
    const std::size_t bytes = plan_.send_rows.size() * row_bytes;
    char *packed = outgoing_.reserve(bytes);
    copy(packed, on_device, bytes, cudaMemcpyDeviceToHost);
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
    copy_own_rows(rows, row_bytes);
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
    const std::size_t received_bytes = plan_.send_rows.size() * rows.row_bytes();
    copy(device_rows_.reserve(received_bytes), incoming_.reserve(received_bytes), received_bytes,
         cudaMemcpyHostToDevice);
    add_received(rows);
  }

  const char *pack_on_device(const void *rows, std::size_t row_bytes) override
  {
    const char *packed = gather_outgoing(rows, row_bytes);
    wait();
    return packed;
  }

  void copy_own_rows(void *rows, std::size_t row_bytes) override
  {
    enter();
    const auto own = static_cast<std::int64_t>(plan_.own_rows.size());
    if (own > 0)
      gather(rows, own_rows_, own, row_bytes,
             static_cast<char *>(rows) + plan_.own_first * row_bytes);
  }

  char *received_on_device(std::size_t row_bytes) override
  {
    enter();
    char *received = device_rows_.reserve(plan_.send_rows.size() * row_bytes);
    wait();
    return received;
  }

  void add_received(const RowBlock &rows) override
  {
    enter();
    const char *received = device_rows_.reserve(0);
    if (rows.type == ElementType::Float32)
      add<float>(rows, received);
    else
      add<double>(rows, received);
    if (halo_rows() > 0)
      check(cudaMemsetAsync(static_cast<char *>(rows.data) + plan_.owned_rows * rows.row_bytes(), 0,
                            halo_rows() * rows.row_bytes(), stream_),
            "cudaMemsetAsync");
  }

  std::string link_problem() override
  {
    return nccl_library().complete ? "" : "there is no NCCL library (libnccl.so.2)";
  }

  std::string new_link_id() override
  {
    enter();
    NcclId id;
    check_nccl(nccl_library().get_id(&id), "ncclGetUniqueId");
    return {id.bytes, sizeof(id.bytes)};
  }

  void join_link(const std::string &id, int ranks, int rank) override
  {
    enter();
    NcclId all;
    if (id.size() != sizeof(all.bytes))
      throw std::runtime_error("exchange of rows between GPUs: got an id of " +
                               std::to_string(id.size()) + " bytes, expected " +
                               std::to_string(sizeof(all.bytes)));
    std::memcpy(all.bytes, id.data(), sizeof(all.bytes));
    check_nccl(nccl_library().join(&link_, ranks, all, rank), "ncclCommInitRank");
  }

  void forward_by_link(void *rows, std::size_t row_bytes) override
  {
    const char *packed = gather_outgoing(rows, row_bytes);
    copy_own_rows(rows, row_bytes);
    transfer(packed, plan_.send_to, 0, static_cast<char *>(rows), plan_.receive_from, 0, row_bytes);
  }

  void reverse_by_link(const RowBlock &rows) override
  {
    enter();
    const std::size_t row_bytes = rows.row_bytes();
    char *received = device_rows_.reserve(plan_.send_rows.size() * row_bytes);
    transfer(static_cast<const char *>(rows.data), plan_.receive_from, 0, received, plan_.send_to,
             0, row_bytes);
    add_received(rows);
  }

  void forward_nothing_by_link(std::size_t row_bytes) override
  {
    enter();
    const char *packed = zeros(device_rows_, plan_.send_rows.size() * row_bytes);
    char *halo = unused_.reserve(halo_rows() * row_bytes);
    transfer(packed, plan_.send_to, 0, halo, plan_.receive_from, plan_.owned_rows, row_bytes);
  }

  void reverse_nothing_by_link(std::size_t row_bytes) override
  {
    enter();
    char *received = device_rows_.reserve(plan_.send_rows.size() * row_bytes);
    const char *halo = zeros(unused_, halo_rows() * row_bytes);
    transfer(halo, plan_.receive_from, plan_.owned_rows, received, plan_.send_to, 0, row_bytes);
  }

 private:
  void enter() { check(cudaSetDevice(device_), "cudaSetDevice"); }
  void wait() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  std::int64_t halo_rows() const { return plan_.total_rows - plan_.owned_rows; }

  // what follows is ordered after what is in the stream so far, also while a graph is recorded

  void go_on_in(cudaStream_t next)
  {
    const cudaStream_t before = stream_;
    stream_ = next;
    enter();
    check(cudaEventRecord(turn_, before), "cudaEventRecord");
    if (delays_ && delays_->unordered()) return;
    check(cudaStreamWaitEvent(next, turn_, 0), "cudaStreamWaitEvent");
  }

  const char *zeros(DeviceBuffer &buffer, std::size_t bytes)
  {
    char *data = buffer.reserve(bytes);
    if (bytes > 0) check(cudaMemsetAsync(data, 0, bytes, stream_), "cudaMemsetAsync");
    return data;
  }

  const char *gather_outgoing(const void *rows, std::size_t row_bytes)
  {
    enter();
    const auto count = static_cast<std::int64_t>(plan_.send_rows.size());
    char *packed = device_rows_.reserve(count * row_bytes);
    if (count > 0) gather(rows, send_rows_, count, row_bytes, packed);
    return packed;
  }

  // one group: no message waits for another. A buffer begins with the row `from_first`, `to_first`.

  void transfer(const char *from, const std::vector<GpuMessage> &sent, std::int64_t from_first,
                char *to, const std::vector<GpuMessage> &received, std::int64_t to_first,
                std::size_t row_bytes)
  {
    if (row_bytes == 0) return;
    const NcclLibrary &nccl = nccl_library();
    check_nccl(nccl.begin_group(), "ncclGroupStart");
    for (const GpuMessage &message : sent)
      check_nccl(nccl.send(from + (message.first - from_first) * row_bytes,
                           message.count * row_bytes, NCCL_BYTE, message.rank, link_, stream_),
                 "ncclSend");
    for (const GpuMessage &message : received)
      check_nccl(nccl.receive(to + (message.first - to_first) * row_bytes,
                              message.count * row_bytes, NCCL_BYTE, message.rank, link_, stream_),
                 "ncclRecv");
    check_nccl(nccl.end_group(), "ncclGroupEnd");
  }

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
    if (row_bytes % 16 == 0 && is_aligned(rows) && is_aligned(packed))
      gather_words<uint4>(rows, index, count, row_bytes, packed);
    else if (row_bytes % 8 == 0)
      gather_words<std::uint64_t>(rows, index, count, row_bytes, packed);
    else
      gather_words<std::uint32_t>(rows, index, count, row_bytes, packed);
    check(cudaGetLastError(), "gather_rows");
  }

  template <typename Word> void gather_words(const void *rows, DeviceBuffer &index,
                                             std::int64_t count, std::size_t row_bytes,
                                             void *packed)
  {
    const auto width = static_cast<std::int64_t>(row_bytes / sizeof(Word));
    const RowGrid grid = grid_for(count, width);
    gather_rows<<<grid.blocks, grid.threads, 0, stream_>>>(
        static_cast<const Word *>(rows), reinterpret_cast<const std::int64_t *>(index.reserve(0)),
        count, width, static_cast<Word *>(packed));
  }

  template <typename T> void add(const RowBlock &rows, const char *received)
  {
    constexpr int WIDEST = 16 / sizeof(T);
    if (plan_.sum_rows.empty() || rows.width == 0) return;
    if (rows.width % WIDEST == 0 && is_aligned(rows.data) && is_aligned(received))
      add_numbers<T, WIDEST>(rows, received);
    else
      add_numbers<T, 1>(rows, received);
    check(cudaGetLastError(), "add_rows");
  }

  template <typename T, int N> void add_numbers(const RowBlock &rows, const char *received)
  {
    const auto count = static_cast<std::int64_t>(plan_.sum_rows.size());
    const std::int64_t width = rows.width / N;
    const RowGrid grid = grid_for(count, width);
    auto *data = static_cast<Numbers<T, N> *>(rows.data);
    add_rows<T, N><<<grid.blocks, grid.threads, 0, stream_>>>(
        data, reinterpret_cast<const Numbers<T, N> *>(received), data + plan_.own_first * width,
        reinterpret_cast<const std::int64_t *>(sum_rows_.reserve(0)),
        reinterpret_cast<const std::int64_t *>(sum_offsets_.reserve(0)),
        reinterpret_cast<const std::int64_t *>(sum_sources_.reserve(0)), count, width);
  }

  int device_;
  cudaStream_t stream_ = nullptr, main_ = nullptr, side_ = nullptr;
  cudaEvent_t turn_ = nullptr;
  bool forked_ = false;
  std::unique_ptr<StreamDelays> delays_ = StreamDelays::wanted();
  GpuRowPlan plan_;
  NcclComm link_ = nullptr;
  DeviceBuffer send_rows_, own_rows_, sum_rows_, sum_offsets_, sum_sources_, device_rows_, unused_;
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
