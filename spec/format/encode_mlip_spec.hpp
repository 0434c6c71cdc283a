// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_FORMAT_ENCODE_MLIP_SPEC_HPP
#define NVALCHEMI_SPEC_FORMAT_ENCODE_MLIP_SPEC_HPP

#include "spec/json_value.hpp"
#include "spec/mlip_spec.hpp"

namespace nvalchemi {

/// The canonical JSON tree of a spec: every key that the format always writes, in its order.
JsonValue encode_mlip_spec(const MLIPSpec& spec);

/// The records of the two kinds of adapters.
JsonValue encode_op_adapter(const OpAdapter& adapter);
JsonValue encode_helper_adapter(const HelperAdapter& helper);

/// The object "compile", or null.
JsonValue encode_compile(const std::optional<CompilePolicy>& compile);

}  // namespace nvalchemi

#endif
