// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_PARSE_MLIP_SPEC_HPP
#define NVALCHEMI_SPEC_PARSE_MLIP_SPEC_HPP

#include <string>

#include "spec/mlip_spec.hpp"
#include "spec/read_options.hpp"

namespace nvalchemi {

class JsonCursor;

/// Read a distribution spec, JSON version 2, in the form that either public state of the Python
/// package writes. Strict unless the options say otherwise: an unknown key, a wrong type, an
/// unknown string, an unsorted or duplicate name, a transform that the policy has no rows for is an
/// error. No operator, model or library is needed: those are asked when the spec is bound to a
/// model. `json_text` is the spec alone. `document` names its source in messages; `root` is the
/// JSON pointer of the spec within that source. Throws SpecError.
MLIPSpec parse_mlip_spec(const std::string& json_text, const std::string& document = "mlip_spec",
                         const std::string& root = "", const ReadOptions& options = {});

/// The same for a spec that is part of a document parsed already.
MLIPSpec read_mlip_spec(const JsonCursor& spec, const ReadOptions& options = {});

}  // namespace nvalchemi

#endif
