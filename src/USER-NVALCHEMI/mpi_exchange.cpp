// SPDX-License-Identifier: GPL-2.0-only

#include "mpi_exchange.h"

#include "gpu_row_plan.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace nvalchemi {

namespace {

constexpr std::size_t WIDEST_ELEMENT = 8;

using Kind = ExchangeEvent::Kind;

/* ---------------------------------------------------------------------- */

std::string describe(const ExchangeEvent &event)
{
  const char *kind = event.kind == Kind::Forward   ? "a forward exchange"
                     : event.kind == Kind::Reverse ? "a reverse exchange"
                                                   : "a system sum";
  std::string text = std::string(kind) + " of width " + std::to_string(event.width);
  if (event.type == ElementType::Float32) text += " in float32";
  if (event.type == ElementType::Int32 || event.type == ElementType::Int64) text += " in integers";
  return text;
}

/* ---------------------------------------------------------------------- */

void require_floating_point(const RowBlock &rows)
{
  if (rows.type != ElementType::Float32 && rows.type != ElementType::Float64)
    throw std::runtime_error("exchange: got integers to add, expected float32 or float64");
}

/* ---------------------------------------------------------------------- */

class Stopwatch {
 public:
  explicit Stopwatch(double &total) : total_(total), start_(MPI_Wtime()) {}
  ~Stopwatch() { total_ += MPI_Wtime() - start_; }

 private:
  double &total_;
  double start_;
};

}    // namespace

/* ---------------------------------------------------------------------- */

void MpiExchange::set_plan(HaloPlan plan)
{
  transport_.set_plan(std::move(plan));
  gpu_plan_is_old_ = true;
  ++plans_;
}

/* ---------------------------------------------------------------------- */

void MpiExchange::plant(std::vector<ExchangeFault> faults)
{
  faulty_.reset();
  if (!faults.empty()) faulty_ = std::make_unique<FaultyExchange>(*this, std::move(faults));
}

/* ---------------------------------------------------------------------- */

HaloExchange &MpiExchange::for_model()
{
  if (faulty_) return *faulty_;
  return *this;
}

/* ---------------------------------------------------------------------- */

void MpiExchange::use_stream(void *cuda_stream)
{
  cuda_stream_ = cuda_stream;
  if (gpu_rows_) gpu_rows_->use_stream(cuda_stream);
}

/* ----------------------------------------------------------------------
   what packs rows on the GPU, with the present plan; null if there is none
------------------------------------------------------------------------- */

GpuRows *MpiExchange::gpu_rows(const RowBlock &rows)
{
  if (rows.cuda_device < 0 || rows.cuda_device != device_) return nullptr;
  if (gpu_rows_ && gpu_plan_is_old_)
    gpu_rows_->set_plan(gpu_row_plan(transport_.plan(), keeps_extents_));
  gpu_plan_is_old_ = false;
  return gpu_rows_.get();
}

/* ---------------------------------------------------------------------- */

void MpiExchange::start_on_gpu(HaloMove move, GpuRows &gpu, const RowBlock &rows)
{
  const std::size_t row_bytes = rows.row_bytes();
  const bool forward = move == HaloMove::Forward;
  if (way_ == HaloComm::Nccl)
    return over_link(
        [&] { forward ? gpu.forward_by_link(rows.data, row_bytes) : gpu.reverse_by_link(rows); });
  if (way_ == HaloComm::MpiDevice) {
    char *halo_rows = static_cast<char *>(rows.data) + owned_rows() * row_bytes;
    if (forward)
      return transport_.start_forward_packed(gpu.pack_on_device(rows.data, row_bytes), halo_rows,
                                             row_bytes);
    return transport_.start_reverse_packed(halo_rows, gpu.received_on_device(row_bytes), row_bytes);
  }
  if (forward) {
    const char *packed = gpu.pack(rows.data, row_bytes);
    return transport_.start_forward_packed(packed, gpu.halo_buffer(row_bytes), row_bytes);
  }
  const char *halo = gpu.fetch_halo(rows.data, row_bytes);
  transport_.start_reverse_packed(halo, gpu.received_buffer(row_bytes), row_bytes);
}

/* ---------------------------------------------------------------------- */

void MpiExchange::finish_on_gpu(HaloMove move, GpuRows &gpu, const RowBlock &rows)
{
  if (way_ == HaloComm::Nccl) return;
  watch_peers([&] { transport_.finish(); });
  const bool forward = move == HaloMove::Forward;
  if (way_ == HaloComm::MpiDevice)
    return forward ? gpu.copy_own_rows(rows.data, rows.row_bytes()) : gpu.add_received(rows);
  forward ? gpu.finish_forward(rows.data, rows.row_bytes()) : gpu.finish_reverse(rows);
}

/* ---------------------------------------------------------------------- */

void MpiExchange::begin_evaluation(const std::vector<ExchangeEvent> &schedule, bool on_host)
{
  schedule_ = latest_schedule_ = &schedule;
  if (faulty_) faulty_->begin_evaluation();
  on_host_ = on_host;
  earlier_records_.swap(records_);
  records_.clear();
  peer_failed_ = false;
  agreement_expected_ = false;
}

/* ---------------------------------------------------------------------- */

void MpiExchange::end_evaluation()
{
  if (records_.size() != schedule_->size())
    throw std::runtime_error("exchange: the model made " + std::to_string(records_.size()) +
                             " calls in an evaluation, expected " +
                             std::to_string(schedule_->size()));
  schedule_ = nullptr;
}

/* ---------------------------------------------------------------------- */

void MpiExchange::forget_evaluation()
{
  if (!schedule_) return;
  records_.swap(earlier_records_);
  schedule_ = nullptr;
}

/* ---------------------------------------------------------------------- */

void MpiExchange::finish_poisoned()
{
  give_up();
  if (!schedule_) return;
  if (agreement_expected_) {
    agree(FAILED);
    schedule_ = nullptr;
    return;
  }
  for (std::size_t next = records_.size(); next < schedule_->size(); ++next)
    poison((*schedule_)[next]);
  schedule_ = nullptr;
}

/* ----------------------------------------------------------------------
   a call whose second half will not come: this rank's part of it is with its
   peers, or on its way there
------------------------------------------------------------------------- */

void MpiExchange::give_up()
{
  if (!is_under_way_) return;
  is_under_way_ = false;
  try {
    if (gpu_rows_) gpu_rows_->join();
  } catch (const std::exception &) {
    // a GPU that no longer works, or a graph that cannot be recorded: the caller's failure tells
  }
  transport_.give_up();
}

/* ----------------------------------------------------------------------
   NCCL has no empty messages: peers get zeros, and learn of the failure at
   the end of the evaluation. A GPU that no longer works cannot even send
   those, and peers would wait for ever.
------------------------------------------------------------------------- */

void MpiExchange::poison(const ExchangeEvent &event)
{
  if (event.kind == Kind::SystemSum) return transport_.sum_nothing(event.width);
  const bool forward = event.kind == Kind::Forward;
  if (way_ != HaloComm::Nccl || on_host_) {
    const std::size_t most = event.width * WIDEST_ELEMENT;
    return forward ? transport_.forward_nothing(most) : transport_.reverse_nothing(most);
  }
  if (nothing_to_move()) return;
  over_link([&] {
    if (gpu_plan_is_old_) gpu_rows_->set_plan(gpu_row_plan(transport_.plan(), keeps_extents_));
    gpu_plan_is_old_ = false;
    const std::size_t row_bytes = event.width * element_size(event.type);
    forward ? gpu_rows_->forward_nothing_by_link(row_bytes)
            : gpu_rows_->reverse_nothing_by_link(row_bytes);
  });
}

/* ---------------------------------------------------------------------- */

template <typename Work> void MpiExchange::over_link(const Work &work)
{
  try {
    work();
  } catch (const std::exception &problem) {
    std::fprintf(stderr, "nvalchemi: rank %d can no longer talk to other GPUs: %s\n", rank(),
                 problem.what());
    MPI_Abort(communicator(), 1);
  }
}

/* ----------------------------------------------------------------------
   a call that throws here has not taken place and is still to be poisoned
------------------------------------------------------------------------- */

void MpiExchange::enter(const ExchangeEvent &event, const RowBlock &rows, double bytes_sent)
{
  if (is_under_way_)
    throw std::runtime_error("exchange: got " + describe(event) +
                             " while another is under way, expected its second half before");
  if (event.kind != Kind::SystemSum && rows.rows != total_rows())
    throw std::runtime_error("exchange: got " + std::to_string(rows.rows) + " rows, expected " +
                             std::to_string(total_rows()) + " (owned and halo rows)");
  if (!schedule_) return;
  const std::size_t position = records_.size();
  if (position >= schedule_->size() || !((*schedule_)[position] == event))
    throw std::runtime_error(
        "exchange " + std::to_string(position + 1) + " of the evaluation: got " + describe(event) +
        ", expected " + (position < schedule_->size() ? describe((*schedule_)[position]) : "none"));
  records_.push_back({event, bytes_sent});
}

/* ----------------------------------------------------------------------
   torch does not keep the type of an exception that passes through it
------------------------------------------------------------------------- */

template <typename Work> void MpiExchange::watch_peers(const Work &work)
{
  try {
    work();
  } catch (const PeerFailure &) {
    peer_failed_ = true;
    throw;
  }
}

/* ----------------------------------------------------------------------
   one rank, or a part without neighbours: no copies to and from a GPU
------------------------------------------------------------------------- */

bool MpiExchange::nothing_to_move() const
{
  return transport_.plan().send_rows.empty() && total_rows() == owned_rows();
}

/* ---------------------------------------------------------------------- */

void MpiExchange::enter(HaloMove move, const RowBlock &rows)
{
  const bool forward = move == HaloMove::Forward;
  if (!forward) require_floating_point(rows);
  const std::int64_t sent = forward ? static_cast<std::int64_t>(transport_.plan().send_rows.size())
                                    : transport_.rows_received();
  enter({forward ? Kind::Forward : Kind::Reverse, rows.width, rows.type}, rows,
        double(sent) * rows.row_bytes());
}

/* ---------------------------------------------------------------------- */

void MpiExchange::move(HaloMove move, const RowBlock &rows)
{
  const Stopwatch stopwatch(seconds_);
  enter(move, rows);
  if (nothing_to_move()) return;
  GpuRows *gpu = gpu_rows(rows);
  if (!gpu) return move_on_host(move, rows);
  start_on_gpu(move, *gpu, rows);
  finish_on_gpu(move, *gpu, rows);
}

/* ----------------------------------------------------------------------
   rows in GPU memory are staged as a whole
------------------------------------------------------------------------- */

void MpiExchange::move_on_host(HaloMove move, const RowBlock &rows)
{
  const bool forward = move == HaloMove::Forward, staged = rows.cuda_device >= 0;
  const std::size_t owned_bytes = owned_rows() * rows.row_bytes();
  const std::size_t all_bytes = total_rows() * rows.row_bytes();
  RowBlock host = rows;
  if (staged) {
    host.data = staging_.host_buffer(all_bytes);
    staging_.copy_to_host(host.data, rows.data, forward ? owned_bytes : all_bytes,
                          rows.cuda_device);
  }
  char *data = static_cast<char *>(host.data);
  watch_peers([&] {
    forward ? transport_.forward(data, rows.row_bytes()) : transport_.reverse(host, true);
  });
  if (!staged) return;
  const std::size_t first = forward ? owned_bytes : 0;
  staging_.copy_to_device(static_cast<char *>(rows.data) + first, data + first, all_bytes - first,
                          rows.cuda_device);
}

/* ---------------------------------------------------------------------- */

void MpiExchange::start(HaloMove move, const RowBlock &rows)
{
  const Stopwatch stopwatch(seconds_);
  enter(move, rows);
  under_way_ = rows.data;
  is_under_way_ = true;
  if (nothing_to_move()) return;
  if (GpuRows *gpu = gpu_rows(rows)) {
    if (way_ == HaloComm::Nccl) over_link([&] { gpu->fork(); });
    return start_on_gpu(move, *gpu, rows);
  }
  if (rows.cuda_device >= 0) return;    // all of it in finish()
  move == HaloMove::Forward
      ? transport_.start_forward(static_cast<char *>(rows.data), rows.row_bytes())
      : transport_.start_reverse(rows);
}

/* ---------------------------------------------------------------------- */

void MpiExchange::finish(HaloMove move, const RowBlock &rows)
{
  const Stopwatch stopwatch(seconds_);
  if (!is_under_way_ || rows.data != under_way_)
    throw std::runtime_error("exchange: got the second half of a call for rows that are not under "
                             "way, expected it after the first half, with the same rows");
  is_under_way_ = false;
  if (nothing_to_move()) return;
  if (GpuRows *gpu = gpu_rows(rows)) {
    if (way_ == HaloComm::Nccl) over_link([&] { gpu->join(); });
    return finish_on_gpu(move, *gpu, rows);
  }
  if (rows.cuda_device >= 0) return move_on_host(move, rows);
  watch_peers([&] {
    move == HaloMove::Forward
        ? transport_.finish_forward(static_cast<char *>(rows.data), rows.row_bytes())
        : transport_.finish_reverse(rows);
  });
}

/* ----------------------------------------------------------------------
   sums are made in double precision whatever the values' type
------------------------------------------------------------------------- */

void MpiExchange::system_sum(const RowBlock &values)
{
  const Stopwatch stopwatch(seconds_);
  require_floating_point(values);
  const std::int64_t count = values.rows * values.width;
  enter({Kind::SystemSum, count}, values, ranks() > 1 ? count * sizeof(double) : 0.0);
  if (ranks() == 1) return;

  const std::size_t bytes = count * element_size(values.type);
  void *host = values.data;
  if (values.cuda_device >= 0) {
    host = staging_.host_buffer(bytes);
    staging_.copy_to_host(host, values.data, bytes, values.cuda_device);
  }
  auto *floats = static_cast<float *>(host);
  auto *doubles = static_cast<double *>(host);
  const bool single = values.type == ElementType::Float32;
  if (single)
    sum_buffer_.assign(floats, floats + count);
  else
    sum_buffer_.assign(doubles, doubles + count);

  watch_peers([&] { transport_.sum(sum_buffer_); });

  for (std::int64_t k = 0; k < count; ++k) {
    if (single)
      floats[k] = static_cast<float>(sum_buffer_[k]);
    else
      doubles[k] = sum_buffer_[k];
  }
  if (values.cuda_device >= 0)
    staging_.copy_to_device(values.data, host, bytes, values.cuda_device);
}

}    // namespace nvalchemi
