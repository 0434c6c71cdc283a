// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   For tests of the order of streams. NVALCHEMI_GPU_DELAYS=SEED lets CUDA
   streams that go on side by side stand still for up to about two
   milliseconds, at random. With SEED,unordered one no longer waits for the
   other either.
------------------------------------------------------------------------- */

#ifndef LMP_STREAM_DELAYS_H
#define LMP_STREAM_DELAYS_H

#include <memory>
#include <random>
#include <string>

namespace nvalchemi {

class StreamDelays {
 public:
  static std::unique_ptr<StreamDelays> wanted();    // null: not asked for

  explicit StreamDelays(const std::string &words);

  // what follows in the stream, a cudaStream_t of the current device, begins later

  void stand_still(void *stream);
  bool unordered() const { return unordered_; }

 private:
  std::mt19937 random_;
  bool unordered_;
};

}    // namespace nvalchemi

#endif
