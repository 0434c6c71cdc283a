// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/evaluation_scope.hpp"

#include <c10/core/AutogradState.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace nvalchemi {

EvaluationScope::EvaluationScope(torch::ScalarType dtype)
    : previous_dtype_(torch::get_default_dtype()),
      changes_dtype_(torch::scalarTypeToTypeMeta(dtype) != previous_dtype_),
      multithreading_(c10::AutogradState::get_tls_state().get_multithreading_enabled()) {
    if (changes_dtype_) torch::set_default_dtype(torch::scalarTypeToTypeMeta(dtype));
    c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
}

EvaluationScope::~EvaluationScope() {
    if (changes_dtype_) torch::set_default_dtype(previous_dtype_);
    c10::AutogradState::get_tls_state().set_multithreading_enabled(multithreading_);
}

// c10 numbers a stream that it did not make by the stream's address.
StreamScope::StreamScope(const torch::Device& device, void* cuda_stream) {
    if (!device.is_cuda() || cuda_stream == nullptr) return;
    const c10::impl::VirtualGuardImpl guard(device.type());
    const auto where = device.has_index() ? device : guard.getDevice();
    previous_ = guard.exchangeStream(
        c10::Stream(c10::Stream::UNSAFE, where, reinterpret_cast<std::intptr_t>(cuda_stream)));
}

StreamScope::~StreamScope() {
    if (previous_) c10::impl::VirtualGuardImpl(previous_->device_type()).exchangeStream(*previous_);
}

}  // namespace nvalchemi
