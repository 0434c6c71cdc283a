// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_READ_DISTRIBUTION_SPEC_HPP
#define NVALCHEMI_SPEC_READ_DISTRIBUTION_SPEC_HPP

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

class JsonCursor;

/// Read the object "core" of a spec: storage policy and shard fields. Throws SpecError.
DistributionSpec read_distribution_spec(const JsonCursor& core);

}  // namespace nvalchemi

#endif
