// SPDX-License-Identifier: GPL-2.0-only
// CUDA graphs by LibTorch: a library of its own, opened at run time where there is a GPU.
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include "potentials/graph_recorder.hpp"

namespace nvalchemi {

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

class CudaGraphRecorder final : public GraphRecorder {
  public:
    explicit CudaGraphRecorder(int device)
        : device_(static_cast<c10::DeviceIndex>(device)),
          stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_)) {}

    /// What runs on the stream took is of use to nobody else.
    ~CudaGraphRecorder() override {
        graph_.reset();
        allocator::emptyCache();
    }

    void warm_up(const std::function<void()>& work) override {
        const c10::cuda::CUDAGuard device_guard(device_);
        graph_.reset();
        on_own_stream(work);
        stream_.synchronize();
    }

    void record(const std::function<void()>& work) override {
        const c10::cuda::CUDAGuard device_guard(device_);
        // what the runs took, and what an earlier graph kept
        allocator::emptyCache();
        on_own_stream([&] { capture(work); });
    }

    void replay() override {
        const c10::cuda::CUDAGuard device_guard(device_);
        graph_->replay();
    }

  private:
    static void order(const c10::cuda::CUDAStream& before, const c10::cuda::CUDAStream& after) {
        at::cuda::CUDAEvent event;
        event.record(before);
        event.block(after);
    }

    /// The default stream cannot be recorded.
    template <typename Work>
    void on_own_stream(const Work& work) {
        const auto outer = c10::cuda::getCurrentCUDAStream(device_);
        order(outer, stream_);
        const c10::cuda::CUDAStreamGuard stream_guard(stream_);
        work();
        order(stream_, outer);
    }

    void capture(const std::function<void()>& work) {
        const auto pool = at::cuda::graph_pool_handle();
        auto graph = std::make_unique<at::cuda::CUDAGraph>();
        graph->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
        try {
            work();
            graph->capture_end();
        } catch (...) {
            give_up(pool);
            throw;
        }
        graph_ = std::move(graph);
    }

    /// CUDAGraph ends a capture that succeeds only.
    void give_up(const c10::cuda::MempoolId_t& pool) {
        cudaGraph_t broken = nullptr;
        if (cudaStreamEndCapture(stream_, &broken) == cudaSuccess && broken != nullptr)
            cudaGraphDestroy(broken);
        static_cast<void>(cudaGetLastError());
        try {
            allocator::endAllocateToPool(device_, pool);
            allocator::releasePool(device_, pool);
        } catch (const c10::Error&) {
            // capture_end() had come so far
        }
        allocator::emptyCache();
    }

    c10::DeviceIndex device_;
    c10::cuda::CUDAStream stream_;
    std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

}  // namespace

}  // namespace nvalchemi

extern "C" __attribute__((visibility("default"))) nvalchemi::GraphRecorder*
nvalchemi_make_graph_recorder(int device) {
    return new nvalchemi::CudaGraphRecorder(device);
}
