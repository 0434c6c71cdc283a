// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_VALIDATE_IN_PARTS_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_VALIDATE_IN_PARTS_HPP

#include <functional>
#include <string>
#include <vector>

#include "potentials/session.hpp"
#include "potentials/validation.hpp"
#include "potentials/validator/trace_report.hpp"
#include "potentials/validator/virtual_parts.hpp"
#include "potentials/whole_system.hpp"

namespace nvalchemi {

/// Whether specs other than the given one are tried when it fails.
enum class AutoFix {
    No,
    Report,  ///< the repaired spec is proposed
    Apply,   ///< the repaired spec takes its place
};

struct ValidationRequest {
    std::string archive;     ///< bytes
    SessionOptions session;  ///< `spec` is the one to start from; absent: the card's
    /// Where the file of `session.spec` is refused by a strict reader and was read leniently: its
    /// text, and what the strict reader says. Such a file has to be written anew to be used.
    std::string refused_text, refusal;
    WholeSystem system;
    int ranks = 2;
    std::vector<int> owners;  ///< (n,) rank of each atom; empty: bisect()
    /// (n,) what the report calls the atoms; empty: their positions in the structure, from 0
    std::vector<std::int64_t> names;
    AutoFix autofix = AutoFix::No;
    int max_attempts = 12;
    int finite_difference_atoms = 0;
    ValidationTolerance tolerance;
    /// Where the caller will write the spec that is found, and the report; empty: nowhere. Only the
    /// advice on what to do next names them.
    std::string spec_file, report_file;
    /// For tests: change what the ranks are given, and what carries their rows.
    std::function<void(VirtualParts&)> alter_parts;
    PartsOptions parts;
};

/// Compare a system in parts, all of them played in this process, with the archive as it is; say
/// what is wrong; on request look for a spec that is right. Throws ModelError or SpecError if the
/// archive or its card cannot be read, and std::invalid_argument for a request that makes no sense.
/// A spec that is refused is an attempt, not an error.
TraceReport validate_in_parts(const ValidationRequest& request);

/// The report of a validation that could not be made: one attempt, refused with `reason`.
TraceReport report_of_refusal(const ValidationRequest& request, const ModelCard& card,
                              const std::string& device, const std::string& reason);

}  // namespace nvalchemi

#endif
