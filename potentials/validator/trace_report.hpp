// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_TRACE_REPORT_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_TRACE_REPORT_HPP

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "potentials/validator/attempt.hpp"
#include "potentials/validator/decomposed_run.hpp"
#include "potentials/validator/diagnosis.hpp"
#include "potentials/validator/finite_differences.hpp"

namespace nvalchemi {

/// Which model, by what it is and not by where it lies.
struct ModelIdentity {
    std::string name, family, dtype;
    double cutoff = 0;
    std::string hash;  ///< "fnv1a64:0123456789abcdef" of the archive's bytes
};

/// All that a validation found; the members of the JSON report have the same names.
struct TraceReport {
    bool ok = false;  ///< the spec that will be used reproduces the undecomposed model
    MLIPSpec spec;    ///< the best of all attempts
    std::vector<Attempt> attempts;
    std::string next_action;  ///< one or two sentences for a person
    std::string fix_applied;  ///< rule of the edit that mended the spec; empty: none
    std::string
        proposed_patch;  ///< RFC 6902 from the given spec to `spec`; "[]" if they are the same
    std::vector<Diagnostic> diagnostics;
    /// Of the given spec if it failed, else of the spec that passed.
    AttemptEvidence evidence;
    std::optional<FiniteDifferences> finite_differences;
    std::array<double, 4> noise{};  ///< of energy, atomic energies, forces, stress
    ModelIdentity model;
    std::int64_t atoms = 0, edges = 0;
    std::array<bool, 3> periodic{};
    int ranks = 1;
    std::string device, autofix;
    double seconds = 0;
    std::optional<DecomposedRun> run;  ///< the real run that the parts were taken from
};

/// "1 rank", "3 virtual ranks": `kind` is "" or an adjective with a blank after it.
std::string ranks_text(int ranks, const std::string& kind = "");

/// JSON text as trace_report.schema.json describes it, indented, with a final newline.
std::string write_trace_report(const TraceReport& report);

/// The same for a person: one page at most.
std::string summarize(const TraceReport& report);

}  // namespace nvalchemi

#endif
