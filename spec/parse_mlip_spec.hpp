// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_PARSE_MLIP_SPEC_HPP
#define NVALCHEMI_SPEC_PARSE_MLIP_SPEC_HPP

#include <string>

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

class JsonCursor;

/// Read a distribution spec, JSON version 2, strictly: an unknown key, a wrong type, an unknown
/// string, an unsorted or duplicate name is an error, and so is what this version cannot run
/// (adapters, policies other than "halo"): refused by name, never ignored.
/// `json_text` is the spec alone. `document` names its source in messages; `root` is the JSON
/// pointer of the spec within that source. Throws SpecError.
MLIPSpec parse_mlip_spec(const std::string& json_text, const std::string& document = "mlip_spec",
                         const std::string& root = "");

/// The same for a spec that is part of a document parsed already.
MLIPSpec read_mlip_spec(const JsonCursor& spec);

}  // namespace nvalchemi

#endif
