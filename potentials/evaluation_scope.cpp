// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/evaluation_scope.hpp"

#include <c10/core/AutogradState.h>

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

}  // namespace nvalchemi
