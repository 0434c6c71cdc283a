// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_EVALUATION_SCOPE_HPP
#define NVALCHEMI_POTENTIALS_EVALUATION_SCOPE_HPP

#include <optional>

#include "potentials/internal_torch.hpp"

namespace nvalchemi {

/// torch's state while a model is evaluated. Code that calls torch.zeros without a dtype means the
/// model's dtype: torch keeps one default for the whole process, so open a scope around threads
/// that evaluate at the same time. Gradients run on the calling thread, because the exchanges
/// inside them may only be made there.
class EvaluationScope {
  public:
    explicit EvaluationScope(torch::ScalarType dtype);
    ~EvaluationScope();
    EvaluationScope(const EvaluationScope&) = delete;
    EvaluationScope& operator=(const EvaluationScope&) = delete;

  private:
    caffe2::TypeMeta previous_dtype_;
    bool changes_dtype_;
    bool multithreading_;
};

/// Makes `cuda_stream`, a cudaStream_t that somebody else owns, torch's current stream on a GPU
/// for the lifetime of the scope. No effect for other devices and without a stream.
class StreamScope {
  public:
    StreamScope(const torch::Device& device, void* cuda_stream);
    ~StreamScope();
    StreamScope(const StreamScope&) = delete;
    StreamScope& operator=(const StreamScope&) = delete;

  private:
    std::optional<c10::Stream> previous_;
};

}  // namespace nvalchemi

#endif
