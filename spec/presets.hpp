// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_PRESETS_HPP
#define NVALCHEMI_SPEC_PRESETS_HPP

#include <string>
#include <vector>

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

/// The spec of that name, or null. It lives as long as the program. The folder spec/presets holds
/// the same specs as JSON.
const MLIPSpec* find_preset(const std::string& name);

/// The names of all presets, in the order of the documentation.
std::vector<std::string> preset_names();

}  // namespace nvalchemi

#endif
