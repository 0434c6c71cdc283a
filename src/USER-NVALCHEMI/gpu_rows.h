// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Rows in GPU memory on their way to and from other ranks: only rows that
   travel leave it. Three ways: packed through pinned host memory, handed to
   MPI where they are, or from GPU to GPU by NCCL. The implementation is a
   library of its own, opened where there is a GPU.

   All work goes to one stream of the device, which must be the one that
   LibTorch works on. Whatever the way, the bits are the same.
------------------------------------------------------------------------- */

#ifndef LMP_GPU_ROWS_H
#define LMP_GPU_ROWS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

// a run of rows that goes to or comes from one rank

struct GpuMessage {
  int rank = 0;
  std::int64_t first = 0, count = 0;
};

// which rows travel, and what is added to which row in which order

struct GpuRowPlan {
  std::int64_t owned_rows = 0, total_rows = 0;
  std::vector<GpuMessage> receive_from;     // halo rows [first, first + count)
  std::vector<GpuMessage> send_to;          // send_rows [first, first + count)
  std::vector<std::int64_t> send_rows;      // owned rows that go out, in the order of messages
  std::vector<std::int64_t> own_rows;       // owned rows with copies on this rank
  std::int64_t own_first = 0;               // their first halo row
  std::vector<std::int64_t> sum_rows;       // owned rows that get something in a reverse exchange
  std::vector<std::int64_t> sum_offsets;    // (sum_rows + 1,) into sum_sources
  std::vector<std::int64_t>
      sum_sources;    // k >= 0: received row k; -k - 1: halo row own_first + k
};

class GpuRows {
 public:
  virtual ~GpuRows() = default;
  virtual void set_plan(const GpuRowPlan &plan) = 0;

  // a cudaStream_t; null, as at first: the device's default stream

  virtual void use_stream(void *cuda_stream) = 0;

  // between these two, work goes to a stream of its own, which begins after what is in the stream
  // now, and which the stream waits for in the end. Without fork(), join() does nothing

  virtual void fork() = 0;
  virtual void join() = 0;

  // --- through pinned host memory ---

  // forward: outgoing rows, packed, in host memory; waits for the device

  virtual const char *pack(const void *rows, std::size_t row_bytes) = 0;

  // host memory for all halo rows; what is in it becomes the halo rows of `rows`, those that copy
  // own rows are made on the device

  virtual char *halo_buffer(std::size_t row_bytes) = 0;
  virtual void finish_forward(void *rows, std::size_t row_bytes) = 0;

  // reverse: all halo rows in host memory; waits for the device

  virtual const char *fetch_halo(const void *rows, std::size_t row_bytes) = 0;

  // host memory for received rows; they are added to owned rows, and halo rows become zero

  virtual char *received_buffer(std::size_t row_bytes) = 0;
  virtual void finish_reverse(const RowBlock &rows) = 0;

  // --- in GPU memory, for an MPI that reads and writes it ---

  // outgoing rows, packed; what was written before is complete when this returns

  virtual const char *pack_on_device(const void *rows, std::size_t row_bytes) = 0;

  // halo rows that copy own rows

  virtual void copy_own_rows(void *rows, std::size_t row_bytes) = 0;

  // memory for received rows; what was written before is complete when this returns

  virtual char *received_on_device(std::size_t row_bytes) = 0;
  virtual void add_received(const RowBlock &rows) = 0;

  // --- from GPU to GPU by NCCL; nothing waits for the device ---

  // why NCCL cannot be used by this rank; empty: it can

  virtual std::string link_problem() = 0;

  // rank 0 makes an id for all ranks, which then join: collective. Throw std::runtime_error

  virtual std::string new_link_id() = 0;
  virtual void join_link(const std::string &id, int ranks, int rank) = 0;
  virtual void forward_by_link(void *rows, std::size_t row_bytes) = 0;
  virtual void reverse_by_link(const RowBlock &rows) = 0;

  // the counterparts for a rank that has no data: its peers get zeros

  virtual void forward_nothing_by_link(std::size_t row_bytes) = 0;
  virtual void reverse_nothing_by_link(std::size_t row_bytes) = 0;
};

// null where the library is not there (a build without CUDA), or is for another CUDA runtime.
// `device`: number of the GPU. Throws std::runtime_error if the GPU cannot be used.

std::unique_ptr<GpuRows> open_gpu_rows(int device);

}    // namespace nvalchemi

#endif
