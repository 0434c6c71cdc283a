// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_PARSE_MLIP_SPEC_HPP
#define NVALCHEMI_SPEC_PARSE_MLIP_SPEC_HPP

#include <string>

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

/// Read a distribution spec, JSON version 2, strictly: an unknown key, a wrong type, an unknown
/// string, an unsorted or duplicate name is an error, and so is what this version cannot run
/// (adapters, policies other than "halo"): refused by name, never ignored.
/// `document` names the source in messages; `root` is the JSON pointer of the spec within it.
/// Throws SpecError.
MLIPSpec parse_mlip_spec(const std::string& json_text, const std::string& document = "mlip_spec",
                         const std::string& root = "");

}  // namespace nvalchemi

#endif
