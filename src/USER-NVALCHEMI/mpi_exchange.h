// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The exchange that a model's operators call, over MPI.

   A call in two halves, start() and finish(), does not wait in between: MPI
   without blocking, NCCL on a stream of its own. One at a time.

   Failure protocol. A rank that fails during an evaluation calls
   finish_poisoned(): it takes part in every remaining call of the schedule
   without data. Peers that notice throw and do the same, so all ranks
   leave the evaluation together and can then agree on what to report.
   Where evaluations are replayed, ranks agree before they do so instead:
   see expect_agreement().
------------------------------------------------------------------------- */

#ifndef LMP_MPI_EXCHANGE_H
#define LMP_MPI_EXCHANGE_H

#include "cuda_staging.h"
#include "gpu_rows.h"
#include "halo_comm.h"
#include "mpi_transport.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/faulty_exchange.hpp"
#include "kernels/halo_exchange.hpp"
#include "kernels/in_memory_exchange.hpp"
#include "potentials/recordable_exchange.hpp"

namespace nvalchemi {

// one call of the latest evaluation

struct ExchangeRecord {
  ExchangeEvent event;
  double bytes_sent = 0.0;    // by this rank
};

class MpiExchange final : public RecordableExchange {
 public:
  explicit MpiExchange(MPI_Comm world) : transport_(world) {}    // collective

  MPI_Comm communicator() const { return transport_.communicator(); }
  void set_plan(HaloPlan plan);
  const HaloPlan &plan() const { return transport_.plan(); }

  // from now on for_model() is faulty on purpose; none: right again

  void plant(std::vector<ExchangeFault> faults);

  // what evaluations and checks of the rows of a model go through

  HaloExchange &for_model();

  // decide how rows in the memory of GPU `device` travel (-1: they are in host memory). Collective;
  // throws the same on all ranks if the wanted way cannot be gone

  void choose_way(HaloComm wanted, int device);
  std::string transport_name() const;

  // where rows of the model are: the number of a GPU, -1 for host memory

  int row_device() const { return device_; }

  // the cudaStream_t that orders work on rows in GPU memory; null: the device's default stream

  void use_stream(void *cuda_stream);

  // between these two, each call is checked against the schedule and recorded; end_evaluation()
  // throws if calls are missing. `on_host`: rows are in host memory, whatever choose_way() was told

  void begin_evaluation(const std::vector<ExchangeEvent> &schedule, bool on_host = false);
  void end_evaluation();

  // peers call any() before they replay what they recorded: so does a rank that ends here early

  void expect_agreement() { agreement_expected_ = ranks() > 1; }

  // an evaluation that makes no calls, because a record of its work is replayed: as if it had not
  // begun; the records of the one before are kept

  void forget_evaluation();

  // end an evaluation that failed on this rank

  void finish_poisoned();

  bool peer_failed() const { return peer_failed_; }
  const std::vector<ExchangeRecord> &records() const { return records_; }
  double seconds() const { return seconds_; }    // spent here since the start

  std::int64_t owned_rows() const override { return transport_.plan().owned_rows; }
  std::int64_t total_rows() const override { return transport_.plan().total_rows; }
  int ranks() const override { return transport_.ranks(); }
  int rank() const override { return transport_.rank(); }
  void forward(const RowBlock &rows) override { move(HaloMove::Forward, rows); }
  void reverse(const RowBlock &rows) override { move(HaloMove::Reverse, rows); }
  void system_sum(const RowBlock &values) override;
  void start(HaloMove move, const RowBlock &rows) override;
  void finish(HaloMove move, const RowBlock &rows) override;

  std::string obstacle() const override;
  void open_room() override;
  bool fit(std::int64_t owned_rows, std::int64_t sink) override;
  const RoomyRows &roomy_rows() const override { return roomy_rows_; }
  void run_with_room(void *stream, const std::function<void(HaloExchange &)> &work) override;
  bool any(bool mine) override;
  void settle() override { forget_evaluation(); }

 private:
  enum Answer { NO, YES, FAILED };    // of several, the last counts
  Answer agree(Answer mine);
  void renew_gpu_plan(void *stream);
  void enter(const ExchangeEvent &event, const RowBlock &rows, double bytes_sent);
  void enter(HaloMove move, const RowBlock &rows);
  template <typename Work> void watch_peers(const Work &work);
  bool nothing_to_move() const;
  GpuRows *gpu_rows(const RowBlock &rows);
  HaloComm possible_way(HaloComm wanted, int device);
  void link_gpus();
  void poison(const ExchangeEvent &event);
  template <typename Work> void over_link(const Work &work);
  void move(HaloMove move, const RowBlock &rows);
  void move_on_host(HaloMove move, const RowBlock &rows);
  void start_on_gpu(HaloMove move, GpuRows &gpu, const RowBlock &rows);
  void finish_on_gpu(HaloMove move, GpuRows &gpu, const RowBlock &rows);
  void give_up();

  MpiTransport transport_;
  CudaStaging staging_;
  std::unique_ptr<GpuRows> gpu_rows_;    // null: rows in GPU memory are staged as a whole
  void *cuda_stream_ = nullptr;
  HaloComm way_ = HaloComm::Mpi;
  int device_ = -1;
  bool gpu_plan_is_old_ = true, on_host_ = false;
  bool keeps_extents_ = false;    // of all arrays on the GPU, as long as messages keep theirs
  std::vector<double> sum_buffer_;
  const std::vector<ExchangeEvent> *schedule_ = nullptr;    // set during an evaluation
  const std::vector<ExchangeEvent> *latest_schedule_ = nullptr;
  std::vector<ExchangeRecord> records_, earlier_records_;
  const void *under_way_ = nullptr;    // rows between start() and finish()
  bool is_under_way_ = false;
  bool peer_failed_ = false;
  double seconds_ = 0.0;
  std::unique_ptr<FaultyExchange> faulty_;    // null: for_model() is *this

  std::unique_ptr<MpiExchange> roomy_;    // the form whose messages have room
  RoomyRows roomy_rows_;
  std::map<int, std::int64_t> send_room_, receive_room_;    // by rank, in rows
  std::int64_t plans_ = 0;                                  // set so far
  bool agreement_expected_ = false;
};

}    // namespace nvalchemi

#endif
