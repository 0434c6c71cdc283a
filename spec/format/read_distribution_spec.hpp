// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_FORMAT_READ_DISTRIBUTION_SPEC_HPP
#define NVALCHEMI_SPEC_FORMAT_READ_DISTRIBUTION_SPEC_HPP

#include <string>
#include <vector>

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

class Doubts;
class JsonCursor;

/// Read the object "core" of a spec: storage policy, adapters, shard fields. Throws SpecError.
DistributionSpec read_distribution_spec(const JsonCursor& core, const Doubts& doubts);

/// What an absent list of shard fields means. A list that says the same is read as absent and not
/// written.
const std::vector<std::string>& default_shard_fields();

}  // namespace nvalchemi

#endif
