// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Messages of rows in host memory: one hop, receives are posted straight
   into halo rows. Every call is collective.
------------------------------------------------------------------------- */

#ifndef LMP_MPI_TRANSPORT_H
#define LMP_MPI_TRANSPORT_H

#include "halo_plan.h"

#include <mpi.h>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <vector>

#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

// a peer took part in a call without data, because it failed

class PeerFailure : public std::runtime_error {
 public:
  PeerFailure() : std::runtime_error("another rank failed") {}
};

class MpiTransport {
 public:
  explicit MpiTransport(MPI_Comm world);    // duplicates the communicator
  ~MpiTransport();
  MpiTransport(const MpiTransport &) = delete;
  MpiTransport &operator=(const MpiTransport &) = delete;

  MPI_Comm communicator() const { return comm_; }
  int ranks() const { return nprocs_; }
  int rank() const { return rank_; }
  void set_plan(HaloPlan plan);
  const HaloPlan &plan() const { return plan_; }
  std::int64_t rows_received() const;    // halo rows that other ranks own

  // owned rows to their halo rows

  void forward(char *data, std::size_t row_bytes);

  // the same where sends are packed already and halo rows lie elsewhere; own copies are not made

  void forward_packed(const char *packed, char *halo, std::size_t row_bytes);

  // send halo rows to their owners, receive others' into `received` (send_rows, *)

  void reverse_packed(const char *halo, char *received, std::size_t row_bytes);

  // add halo rows to their owners, rank after rank, then zero them if wanted

  void reverse(const RowBlock &rows, bool zero_halo_rows);

  // forward() and reverse() in two halves, between which the caller does something else. What is
  // under way is in memory of this object, so that rows of a caller who fails may go away

  void start_forward(char *data, std::size_t row_bytes);
  void finish_forward(char *data, std::size_t row_bytes);
  void start_reverse(const RowBlock &rows);
  void finish_reverse(const RowBlock &rows);

  // the same of forward_packed() and reverse_packed(), in the caller's memory

  void start_forward_packed(const char *packed, char *halo, std::size_t row_bytes);
  void start_reverse_packed(const char *halo, char *received, std::size_t row_bytes);
  void finish();

  // wait for what is under way and drop it: peers still need this rank's part, and it theirs

  void give_up();

  // sum over ranks; the vector may be of any length, the same on all ranks

  void sum(std::vector<double> &values);

  // the counterparts for a rank that has no data: its peers get a PeerFailure.
  // `most_bytes`: the largest row that a peer can send

  void forward_nothing(std::size_t most_bytes);
  void reverse_nothing(std::size_t most_bytes);
  void sum_nothing(std::size_t length);

 private:
  void pack(char *data, std::size_t row_bytes);
  void take_home(const RowBlock &rows, bool zero_halo_rows);
  void add_halo_rows(const RowBlock &rows);
  void exchange_nothing(const std::vector<HaloMessage> &expected,
                        const std::vector<HaloMessage> &wanted, std::size_t most_bytes);
  bool sum_with_status(std::vector<double> &values, bool failed);
  void post_receive(void *data, const HaloMessage &message, MPI_Datatype type);
  void post_send(const void *data, const HaloMessage &message, MPI_Datatype type, bool empty);
  void wait_for(const std::vector<HaloMessage> &received, MPI_Datatype type);
  void wait_for_all();
  MPI_Datatype row_type(std::size_t row_bytes);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int nprocs_ = 1;
  int rank_ = 0;
  HaloPlan plan_;
  bool sends_whole_blocks_ = false;    // each peer gets all owned rows: they need no packing
  std::map<std::size_t, MPI_Datatype> row_types_;
  std::vector<MPI_Request> requests_;                    // receives first
  const std::vector<HaloMessage> *awaited_ = nullptr;    // what is received between two halves
  MPI_Datatype awaited_type_ = MPI_DATATYPE_NULL;
  std::vector<MPI_Status> statuses_;
  std::vector<char> send_buffer_, receive_buffer_;
};

}    // namespace nvalchemi

#endif
