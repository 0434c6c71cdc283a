// SPDX-License-Identifier: GPL-2.0-only

#include "mpi_transport.h"

#include "mpi_check.h"

#include <cstring>
#include <string>

namespace nvalchemi {

namespace {

constexpr int ROW_TAG = 2;

/* ---------------------------------------------------------------------- */

template <typename T> void add(void *sum, const void *term, std::int64_t width)
{
  T *into = static_cast<T *>(sum);
  const T *from = static_cast<const T *>(term);
  for (std::int64_t k = 0; k < width; ++k) into[k] += from[k];
}

void add_row(const RowBlock &rows, std::int64_t row, const void *term)
{
  void *sum = static_cast<char *>(rows.data) + row * rows.row_bytes();
  if (rows.type == ElementType::Float32)
    add<float>(sum, term, rows.width);
  else
    add<double>(sum, term, rows.width);
}

}    // namespace

/* ---------------------------------------------------------------------- */

MpiTransport::MpiTransport(MPI_Comm world)
{
  NVALCHEMI_MPI(MPI_Comm_dup(world, &comm_));
  NVALCHEMI_MPI(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
  NVALCHEMI_MPI(MPI_Comm_size(comm_, &nprocs_));
  NVALCHEMI_MPI(MPI_Comm_rank(comm_, &rank_));
}

/* ---------------------------------------------------------------------- */

MpiTransport::~MpiTransport()
{
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return;
  for (auto &[row_bytes, type] : row_types_) MPI_Type_free(&type);
  MPI_Comm_free(&comm_);
}

/* ---------------------------------------------------------------------- */

void MpiTransport::set_plan(HaloPlan plan)
{
  plan_ = std::move(plan);
  sends_whole_blocks_ = plan_.own_rows.empty();
  for (const HaloMessage &message : plan_.send_to) {
    sends_whole_blocks_ = sends_whole_blocks_ && message.count == plan_.owned_rows;
    for (std::int64_t k = 0; sends_whole_blocks_ && k < message.count; ++k)
      sends_whole_blocks_ = plan_.send_rows[message.first + k] == k;
  }
}

/* ---------------------------------------------------------------------- */

std::int64_t MpiTransport::rows_received() const
{
  std::int64_t count = 0;
  for (const HaloMessage &message : plan_.receive_from) count += message.count;
  return count;
}

/* ---------------------------------------------------------------------- */

void MpiTransport::forward(char *data, std::size_t row_bytes)
{
  if (row_bytes == 0) return;
  if (sends_whole_blocks_) {
    const MPI_Datatype type = row_type(row_bytes);
    for (const HaloMessage &message : plan_.receive_from)
      post_receive(data + message.first * row_bytes, message, type);
    for (const HaloMessage &message : plan_.send_to) post_send(data, message, type, false);
    wait_for(plan_.receive_from, type);
    return;
  }
  pack(data, row_bytes);
  forward_packed(send_buffer_.data(), data + plan_.owned_rows * row_bytes, row_bytes);
}

/* ----------------------------------------------------------------------
   outgoing rows into the buffer, and copies of own rows into their places
------------------------------------------------------------------------- */

void MpiTransport::pack(char *data, std::size_t row_bytes)
{
  send_buffer_.resize(plan_.send_rows.size() * row_bytes);
  char *packed = send_buffer_.data();
  for (const std::int64_t row : plan_.send_rows) {
    std::memcpy(packed, data + row * row_bytes, row_bytes);
    packed += row_bytes;
  }
  char *copy = data + plan_.own_copies.first * row_bytes;
  for (const std::int64_t row : plan_.own_rows) {
    std::memcpy(copy, data + row * row_bytes, row_bytes);
    copy += row_bytes;
  }
}

/* ---------------------------------------------------------------------- */

void MpiTransport::start_forward(char *data, std::size_t row_bytes)
{
  if (row_bytes == 0) return;
  pack(data, row_bytes);
  receive_buffer_.resize((plan_.total_rows - plan_.owned_rows) * row_bytes);
  start_forward_packed(send_buffer_.data(), receive_buffer_.data(), row_bytes);
}

/* ---------------------------------------------------------------------- */

void MpiTransport::finish_forward(char *data, std::size_t row_bytes)
{
  if (row_bytes == 0) return;
  finish();
  for (const HaloMessage &message : plan_.receive_from)
    std::memcpy(data + message.first * row_bytes,
                receive_buffer_.data() + (message.first - plan_.owned_rows) * row_bytes,
                message.count * row_bytes);
}

/* ---------------------------------------------------------------------- */

void MpiTransport::forward_packed(const char *packed, char *halo, std::size_t row_bytes)
{
  start_forward_packed(packed, halo, row_bytes);
  finish();
}

/* ---------------------------------------------------------------------- */

void MpiTransport::start_forward_packed(const char *packed, char *halo, std::size_t row_bytes)
{
  if (row_bytes == 0) return;
  const MPI_Datatype type = row_type(row_bytes);
  for (const HaloMessage &message : plan_.receive_from)
    post_receive(halo + (message.first - plan_.owned_rows) * row_bytes, message, type);
  for (const HaloMessage &message : plan_.send_to)
    post_send(packed + message.first * row_bytes, message, type, false);
  awaited_ = &plan_.receive_from;
  awaited_type_ = type;
}

/* ---------------------------------------------------------------------- */

void MpiTransport::reverse_packed(const char *halo, char *received, std::size_t row_bytes)
{
  start_reverse_packed(halo, received, row_bytes);
  finish();
}

/* ---------------------------------------------------------------------- */

void MpiTransport::start_reverse_packed(const char *halo, char *received, std::size_t row_bytes)
{
  if (row_bytes == 0) return;
  const MPI_Datatype type = row_type(row_bytes);
  for (const HaloMessage &message : plan_.send_to)
    post_receive(received + message.first * row_bytes, message, type);
  for (const HaloMessage &message : plan_.receive_from)
    post_send(halo + (message.first - plan_.owned_rows) * row_bytes, message, type, false);
  awaited_ = &plan_.send_to;
  awaited_type_ = type;
}

/* ---------------------------------------------------------------------- */

void MpiTransport::finish()
{
  const std::vector<HaloMessage> *awaited = awaited_;
  awaited_ = nullptr;
  if (awaited) wait_for(*awaited, awaited_type_);
}

/* ---------------------------------------------------------------------- */

void MpiTransport::give_up()
{
  awaited_ = nullptr;
  wait_for_all();
}

/* ---------------------------------------------------------------------- */

void MpiTransport::reverse(const RowBlock &rows, bool zero_halo_rows)
{
  const std::size_t row_bytes = rows.row_bytes();
  if (row_bytes == 0) return;
  char *data = static_cast<char *>(rows.data);
  receive_buffer_.resize(plan_.send_rows.size() * row_bytes);
  reverse_packed(data + plan_.owned_rows * row_bytes, receive_buffer_.data(), row_bytes);
  take_home(rows, zero_halo_rows);
}

/* ---------------------------------------------------------------------- */

void MpiTransport::start_reverse(const RowBlock &rows)
{
  const std::size_t row_bytes = rows.row_bytes();
  if (row_bytes == 0) return;
  const char *data = static_cast<char *>(rows.data);
  send_buffer_.assign(data + plan_.owned_rows * row_bytes, data + plan_.total_rows * row_bytes);
  receive_buffer_.resize(plan_.send_rows.size() * row_bytes);
  start_reverse_packed(send_buffer_.data(), receive_buffer_.data(), row_bytes);
}

/* ---------------------------------------------------------------------- */

void MpiTransport::finish_reverse(const RowBlock &rows)
{
  if (rows.row_bytes() == 0) return;
  finish();
  take_home(rows, true);
}

/* ----------------------------------------------------------------------
   what came home to where it belongs
------------------------------------------------------------------------- */

void MpiTransport::take_home(const RowBlock &rows, bool zero_halo_rows)
{
  add_halo_rows(rows);
  const std::size_t row_bytes = rows.row_bytes();
  if (zero_halo_rows && plan_.total_rows > plan_.owned_rows)
    std::memset(static_cast<char *>(rows.data) + plan_.owned_rows * row_bytes, 0,
                (plan_.total_rows - plan_.owned_rows) * row_bytes);
}

/* ----------------------------------------------------------------------
   in the order of ranks, whatever order the messages came in: the same
   decomposition gives the same bits
------------------------------------------------------------------------- */

void MpiTransport::add_halo_rows(const RowBlock &rows)
{
  const std::size_t row_bytes = rows.row_bytes();
  const char *copies = static_cast<char *>(rows.data) + plan_.own_copies.first * row_bytes;
  for_each_contribution(
      plan_,
      [&](std::int64_t k, std::int64_t row) {
        add_row(rows, row, receive_buffer_.data() + k * row_bytes);
      },
      [&](std::int64_t k, std::int64_t row) { add_row(rows, row, copies + k * row_bytes); });
}

/* ---------------------------------------------------------------------- */

void MpiTransport::sum(std::vector<double> &values)
{
  if (nprocs_ > 1 && sum_with_status(values, false)) throw PeerFailure();
}

/* ---------------------------------------------------------------------- */

void MpiTransport::forward_nothing(std::size_t most_bytes)
{
  exchange_nothing(plan_.receive_from, plan_.send_to, most_bytes);
}

/* ---------------------------------------------------------------------- */

void MpiTransport::reverse_nothing(std::size_t most_bytes)
{
  exchange_nothing(plan_.send_to, plan_.receive_from, most_bytes);
}

/* ---------------------------------------------------------------------- */

void MpiTransport::sum_nothing(std::size_t length)
{
  std::vector<double> zeros(length, 0.0);
  if (nprocs_ > 1) sum_with_status(zeros, true);
}

/* ----------------------------------------------------------------------
   an empty message for every one that a peer waits for; what arrives is
   dropped
------------------------------------------------------------------------- */

void MpiTransport::exchange_nothing(const std::vector<HaloMessage> &expected,
                                    const std::vector<HaloMessage> &wanted, std::size_t most_bytes)
{
  if (most_bytes == 0) return;
  const MPI_Datatype type = row_type(most_bytes);
  std::int64_t count = 0;
  for (const HaloMessage &message : expected) count += message.count;
  receive_buffer_.resize(count * most_bytes);
  char *sink = receive_buffer_.data();
  for (const HaloMessage &message : expected) {
    post_receive(sink, message, type);
    sink += message.count * most_bytes;
  }
  for (const HaloMessage &message : wanted) post_send(nullptr, message, type, true);
  wait_for_all();
}

/* ----------------------------------------------------------------------
   one more word than the values counts the ranks that failed
------------------------------------------------------------------------- */

bool MpiTransport::sum_with_status(std::vector<double> &values, bool failed)
{
  values.push_back(failed ? 1.0 : 0.0);
  NVALCHEMI_MPI(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                              MPI_DOUBLE, MPI_SUM, comm_));
  const bool any_failed = values.back() > 0.0;
  values.pop_back();
  return any_failed;
}

/* ---------------------------------------------------------------------- */

void MpiTransport::post_receive(void *data, const HaloMessage &message, MPI_Datatype type)
{
  NVALCHEMI_MPI(MPI_Irecv(data, static_cast<int>(message.count), type, message.rank, ROW_TAG, comm_,
                          &requests_.emplace_back()));
}

/* ---------------------------------------------------------------------- */

void MpiTransport::post_send(const void *data, const HaloMessage &message, MPI_Datatype type,
                             bool empty)
{
  NVALCHEMI_MPI(MPI_Isend(data, empty ? 0 : static_cast<int>(message.count), type, message.rank,
                          ROW_TAG, comm_, &requests_.emplace_back()));
}

/* ----------------------------------------------------------------------
   an empty message where rows were expected is a peer's failure
------------------------------------------------------------------------- */

void MpiTransport::wait_for(const std::vector<HaloMessage> &received, MPI_Datatype type)
{
  wait_for_all();
  bool peer_failed = false;
  for (std::size_t k = 0; k < received.size(); ++k) {
    int count = 0;
    NVALCHEMI_MPI(MPI_Get_count(&statuses_[k], type, &count));
    if (count == received[k].count) continue;
    if (count != 0)
      throw std::runtime_error("exchange: rank " + std::to_string(received[k].rank) + " sent " +
                               std::to_string(count) + " rows, expected " +
                               std::to_string(received[k].count));
    peer_failed = true;
  }
  if (peer_failed) throw PeerFailure();
}

/* ---------------------------------------------------------------------- */

void MpiTransport::wait_for_all()
{
  statuses_.resize(requests_.size());
  const int code =
      MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data());
  requests_.clear();
  if (code == MPI_ERR_IN_STATUS)
    for (const MPI_Status &status : statuses_)
      if (status.MPI_ERROR != MPI_ERR_PENDING) check_mpi(status.MPI_ERROR, "exchange of rows");
  check_mpi(code, "exchange of rows");
}

/* ----------------------------------------------------------------------
   a whole row as one element keeps counts within int
------------------------------------------------------------------------- */

MPI_Datatype MpiTransport::row_type(std::size_t row_bytes)
{
  const auto found = row_types_.find(row_bytes);
  if (found != row_types_.end()) return found->second;
  MPI_Datatype type;
  NVALCHEMI_MPI(MPI_Type_contiguous(static_cast<int>(row_bytes), MPI_BYTE, &type));
  NVALCHEMI_MPI(MPI_Type_commit(&type));
  return row_types_[row_bytes] = type;
}

}    // namespace nvalchemi
