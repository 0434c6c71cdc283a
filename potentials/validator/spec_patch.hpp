// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_SPEC_PATCH_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_SPEC_PATCH_HPP

#include <string>

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

/// The JSON patch (RFC 6902) that turns the canonical form of one spec into that of another, on
/// one line.
std::string make_spec_patch(const MLIPSpec& from, const MLIPSpec& to);

/// The same for a file's text. Where it is no JSON, the patch leads from `read` instead, which was
/// read from it.
std::string make_text_patch(const std::string& text, const MLIPSpec& read, const MLIPSpec& to);

/// Apply such a patch. Throws SpecError if the result is no spec, and std::runtime_error if the
/// patch does not apply.
MLIPSpec apply_spec_patch(const MLIPSpec& spec, const std::string& patch);

}  // namespace nvalchemi

#endif
