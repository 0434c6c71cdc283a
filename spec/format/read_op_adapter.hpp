// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_FORMAT_READ_OP_ADAPTER_HPP
#define NVALCHEMI_SPEC_FORMAT_READ_OP_ADAPTER_HPP

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

class Doubts;
class JsonCursor;

/// Read one element of "custom_ops". Needs no operator to be registered: whether it exists, and has
/// such positions, is known when the spec is bound to a model. Throws SpecError.
OpAdapter read_op_adapter(const JsonCursor& adapter, const StoragePolicy& policy,
                          const Doubts& doubts);

}  // namespace nvalchemi

#endif
