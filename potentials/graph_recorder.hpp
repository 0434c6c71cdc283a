// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_GRAPH_RECORDER_HPP
#define NVALCHEMI_POTENTIALS_GRAPH_RECORDER_HPP

#include <functional>
#include <memory>
#include <string>

namespace nvalchemi {

/// Work that is recorded once and then done again in the same memory. The implementation for CUDA
/// graphs is a library of its own, because it needs LibTorch's CUDA library.
class GraphRecorder {
  public:
    virtual ~GraphRecorder() = default;

    /// Do `work` once without recording it, and wait for it: LibTorch chooses algorithms and makes
    /// work spaces in the first runs. What an earlier record kept is given back first. Passes on
    /// what `work` throws.
    virtual void warm_up(const std::function<void()>& work) = 0;

    /// Record `work`, which has been done before. Throws std::exception if it cannot be recorded:
    /// it waits for the device, or makes tensors whose shapes depend on numbers there. The device
    /// is usable afterwards.
    virtual void record(const std::function<void()>& work) = 0;

    /// Do the recorded work again, in the order of torch's current stream.
    virtual void replay() = 0;
};

/// What records the work of a GPU as a CUDA graph. Throws ModelError where the library that does so
/// is not beside this one.
std::unique_ptr<GraphRecorder> open_graph_recorder(int cuda_device);

}  // namespace nvalchemi

#endif
