// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_FORMAT_READ_HELPER_ADAPTER_HPP
#define NVALCHEMI_SPEC_FORMAT_READ_HELPER_ADAPTER_HPP

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

class Doubts;
class JsonCursor;

/// Read one element of "third_party_helpers". Whether the named code is in a model, and the
/// replacement known, shows when the spec is bound to one. Throws SpecError.
HelperAdapter read_helper_adapter(const JsonCursor& adapter, const Doubts& doubts);

}  // namespace nvalchemi

#endif
