// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   The form of the exchange that can be recorded: each message has room for
   some more rows than travel. Both of its ends see the same sequence of
   counts, so they choose the same room without talking about it.
------------------------------------------------------------------------- */

#include "gpu_row_plan.h"
#include "mpi_exchange.h"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "potentials/capacity.hpp"

namespace nvalchemi {

namespace {

// fit the room for each rank to what travels now; true: it has changed

bool fit_room(std::map<int, std::int64_t> &room, const std::vector<HaloMessage> &messages)
{
  std::map<int, std::int64_t> counts;
  for (const auto &[rank, rows] : room) counts[rank] = 0;
  for (const HaloMessage &message : messages) counts[message.rank] = message.count;
  bool changed = false;
  for (const auto &[rank, count] : counts) {
    const std::int64_t present = room.count(rank) ? room[rank] : 0;
    room[rank] = capacity_for(count, present);
    changed |= room[rank] != present;
  }
  return changed;
}

// messages of the size of their room, one after the other from row `first`

std::vector<HaloMessage> roomy_messages(const std::map<int, std::int64_t> &room, std::int64_t first)
{
  std::vector<HaloMessage> messages;
  for (const auto &[rank, rows] : room) {
    messages.push_back({rank, first, rows});
    first += rows;
  }
  return messages;
}

// the message to or from the same rank; null: nothing travels now

const HaloMessage *same_rank(const std::vector<HaloMessage> &messages, int rank)
{
  for (const HaloMessage &message : messages)
    if (message.rank == rank) return &message;
  return nullptr;
}

std::int64_t end_of(const std::vector<HaloMessage> &messages, std::int64_t first)
{
  return messages.empty() ? first : messages.back().first + messages.back().count;
}

}    // namespace

/* ---------------------------------------------------------------------- */

std::string MpiExchange::obstacle() const
{
  if (device_ >= 0 && way_ != HaloComm::Nccl)
    return "rows travel between " + std::to_string(ranks()) +
           " ranks through host memory, which is no part of a graph (keyword halo_comm)";
  if (!plan().own_rows.empty()) return "the model sees copies of atoms as rows of their own";
  return {};
}

/* ---------------------------------------------------------------------- */

void MpiExchange::open_room()
{
  roomy_ = std::make_unique<MpiExchange>(communicator());
  roomy_->keeps_extents_ = true;
  roomy_->choose_way(device_ < 0 ? HaloComm::Mpi : HaloComm::Nccl, device_);
  send_room_.clear();
  receive_room_.clear();
  roomy_rows_ = {};
}

/* ---------------------------------------------------------------------- */

bool MpiExchange::fit(std::int64_t owned_rows, std::int64_t sink)
{
  if (roomy_rows_.version == plans_ && roomy_->owned_rows() == owned_rows) return false;
  bool changed = fit_room(receive_room_, plan().receive_from);
  changed |= fit_room(send_room_, plan().send_to);

  HaloPlan roomy;
  roomy.owned_rows = owned_rows;
  roomy.receive_from = roomy_messages(receive_room_, owned_rows);
  roomy.total_rows = end_of(roomy.receive_from, owned_rows);
  roomy.send_to = roomy_messages(send_room_, 0);
  roomy.send_rows.assign(end_of(roomy.send_to, 0), sink);
  for (const HaloMessage &message : roomy.send_to)
    if (const HaloMessage *present = same_rank(plan().send_to, message.rank))
      std::copy_n(plan().send_rows.begin() + present->first, present->count,
                  roomy.send_rows.begin() + message.first);
  roomy.own_copies.first = roomy.total_rows;

  roomy_rows_.halo_rows = roomy.total_rows - owned_rows;
  roomy_rows_.places.assign(total_rows() - this->owned_rows(), 0);
  for (const HaloMessage &message : roomy.receive_from)
    if (const HaloMessage *present = same_rank(plan().receive_from, message.rank))
      for (std::int64_t k = 0; k < present->count; ++k)
        roomy_rows_.places[present->first - this->owned_rows() + k] =
            message.first - owned_rows + k;
  roomy_rows_.version = plans_;
  roomy_->set_plan(std::move(roomy));
  roomy_->renew_gpu_plan(cuda_stream_);
  return changed;
}

/* ----------------------------------------------------------------------
   work that is replayed never calls for it
------------------------------------------------------------------------- */

void MpiExchange::renew_gpu_plan(void *stream)
{
  if (!gpu_rows_) return;
  use_stream(stream);
  gpu_rows_->set_plan(gpu_row_plan(transport_.plan(), keeps_extents_));
  gpu_plan_is_old_ = false;
}

/* ---------------------------------------------------------------------- */

void MpiExchange::run_with_room(void *stream, const std::function<void(HaloExchange &)> &work)
{
  roomy_->use_stream(stream);
  roomy_->begin_evaluation(*latest_schedule_, on_host_);
  try {
    work(*roomy_);
    roomy_->end_evaluation();
  } catch (...) {
    roomy_->finish_poisoned();
    throw;
  }
}

/* ---------------------------------------------------------------------- */

MpiExchange::Answer MpiExchange::agree(Answer mine)
{
  agreement_expected_ = false;
  int answer = mine;
  MPI_Allreduce(MPI_IN_PLACE, &answer, 1, MPI_INT, MPI_MAX, communicator());
  return static_cast<Answer>(answer);
}

/* ---------------------------------------------------------------------- */

bool MpiExchange::any(bool mine)
{
  const Answer all = agree(mine ? YES : NO);
  if (all == FAILED) {
    peer_failed_ = true;
    schedule_ = nullptr;    // who failed makes none of its calls
    throw PeerFailure();
  }
  return all == YES;
}

}    // namespace nvalchemi
