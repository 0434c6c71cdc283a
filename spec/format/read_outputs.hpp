// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_FORMAT_READ_OUTPUTS_HPP
#define NVALCHEMI_SPEC_FORMAT_READ_OUTPUTS_HPP

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

class Doubts;
class JsonCursor;

/// Read what a spec says of its outputs into `result`: "owned_only_outputs", "all_reduce_outputs"
/// and "output_kinds". Throws SpecError.
void read_outputs(const JsonCursor& spec, MLIPSpec& result, const Doubts& doubts);

}  // namespace nvalchemi

#endif
