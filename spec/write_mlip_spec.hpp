// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_WRITE_MLIP_SPEC_HPP
#define NVALCHEMI_SPEC_WRITE_MLIP_SPEC_HPP

#include <string>
#include <vector>

#include "spec/mlip_spec.hpp"

namespace nvalchemi {

/// The canonical JSON text of a spec, which is what the released Python package writes, byte for
/// byte: all keys in a fixed order, names sorted, "compile" always present. Absent shard fields, or
/// the default list, are not written; an empty list is. No final newline.
/// Reading the text back gives `spec` again (with default shard fields as absent ones); names must
/// be UTF-8. Throws SpecError.
std::string write_mlip_spec(const MLIPSpec& spec);

/// The canonical text of a spec in any form that the Python package reads. Warnings as in a lenient
/// reading, and one if "compile" is absent: who differentiates is not in the file then.
std::string migrate_mlip_spec(const std::string& json_text, const std::string& document,
                              std::vector<std::string>& warnings);

}  // namespace nvalchemi

#endif
