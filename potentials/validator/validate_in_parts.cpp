// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/validate_in_parts.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "potentials/validator/diagnosis_rules.hpp"
#include "potentials/validator/spec_patch.hpp"
#include "potentials/validator/spec_repair.hpp"
#include "potentials/validator/spec_trial.hpp"

namespace nvalchemi {

namespace {

const char* name_of(AutoFix autofix) {
    switch (autofix) {
        case AutoFix::No: return "no";
        case AutoFix::Report: return "report";
        case AutoFix::Apply: break;
    }
    return "apply";
}

/// FNV-1a, 64 bits: tells files apart, proves nothing.
std::string hash_of(const std::string& bytes) {
    std::uint64_t hash = 14695981039346656037ull;
    for (const char byte : bytes) {
        hash ^= static_cast<unsigned char>(byte);
        hash *= 1099511628211ull;
    }
    char text[40];
    std::snprintf(text, sizeof text, "fnv1a64:%016llx", static_cast<unsigned long long>(hash));
    return text;
}

std::string why_not(const TraceReport& report) {
    if (!report.diagnostics.empty() && report.diagnostics[0].confidence > 0.15)
        return report.diagnostics[0].advice;
    return report.attempts[0].verdict == Verdict::Refused
               ? "Read the refusal of attempt 1: " + report.attempts[0].message
               : "Nothing that is known explains the differences; look at the first value that "
                 "differs and at where the errors are.";
}

/// Where a person finds the spec that passes; empty: nowhere.
std::string place_of_spec(const ValidationRequest& request) {
    if (!request.spec_file.empty()) return "the spec in " + request.spec_file;
    if (!request.report_file.empty()) return "the member spec of " + request.report_file;
    return "";
}

constexpr const char* kKeepIt = "give --write-spec FILE to keep it";

std::string next_action_of(const TraceReport& report, const ValidationRequest& request,
                           bool repaired) {
    const auto count = std::to_string(report.attempts.size());
    const auto place = place_of_spec(request);
    if (report.finite_differences && !report.finite_differences->forces_are_slopes)
        return "The model's own forces are not the slopes of its energy, on one process already: "
               "ask its author; the decomposition is " +
               std::string(report.ok ? "right." : "to be mended apart from that.");
    if (repaired && report.ok)
        return "The spec was mended (" + report.fix_applied +
               "): " + (place.empty() ? kKeepIt : "use " + place + " from now on") + ".";
    if (repaired)
        return (place.empty() ? std::string("A spec was found that passes, ") + kKeepIt
                              : "Use " + place + ": it passes") +
               "; the given one does not. " + why_not(report);
    if (report.ok)
        return report.evidence.health.sees_everything && report.ranks > 1
                   ? "Nothing to do for this structure; validate a larger one too, because here a "
                     "part sees every atom."
                   : "Nothing to do: the parts reproduce the undecomposed model.";
    return (report.attempts.size() > 1 ? "None of " + count + " specs passes. " : "") +
           (report.evidence.divergence_on_chain && report.ranks == 1
                ? report.attempts[0].message + ". "
                : "") +
           why_not(report);
}

void identify(const ValidationRequest& request, const ModelCard& card, const std::string& device,
              TraceReport& report) {
    report.model = {card.name, card.family, card.dtype, card.cutoff, hash_of(request.archive)};
    report.atoms = request.system.size();
    std::copy_n(request.system.periodic, 3, report.periodic.begin());
    report.ranks = request.ranks;
    report.device = device;
    report.autofix = name_of(request.autofix);
}

/// The rules of the edits that led from the given spec to an attempt's, in their order.
std::string rules_of(const std::vector<AttemptEvidence>& tried, std::size_t at) {
    std::string rules;
    for (; tried[at].attempt.parent > 0;
         at = static_cast<std::size_t>(tried[at].attempt.parent) - 1)
        rules = tried[at].attempt.rule + (rules.empty() ? "" : ", ") + rules;
    return rules;
}

std::string patch_to(const ValidationRequest& request, const MLIPSpec& given, const MLIPSpec& to) {
    return request.refused_text.empty() ? make_spec_patch(given, to)
                                        : make_text_patch(request.refused_text, given, to);
}

/// What is meant passes, but no strict reader takes it as it is written.
Diagnostic text_refused(const ValidationRequest& request, const MLIPSpec& spec) {
    return {"spec_text_refused",
            0.98,
            {request.refusal},
            "Write the spec in its canonical form: what it means passes, but pair_style refuses "
            "it as it is written.",
            {spec},
            patch_to(request, spec, spec)};
}

/// Keep what was found out: of the attempt that was given if it failed, else of the one that won.
void conclude(const ValidationRequest& request, SpecTrial& trial, Repair repair,
              TraceReport& report) {
    const auto& best = repair.tried[repair.best].attempt;
    const bool meant_passed = repair.tried[0].attempt.verdict == Verdict::Passed;
    const bool given_passed = meant_passed && request.refused_text.empty();
    const bool repaired = !given_passed && best.verdict == Verdict::Passed;
    report.spec = best.spec;
    report.proposed_patch = patch_to(request, repair.tried[0].attempt.spec, best.spec);
    report.ok = given_passed || (repaired && request.autofix == AutoFix::Apply);
    if (repaired && request.autofix == AutoFix::Apply)
        report.fix_applied = meant_passed ? "canonical_form" : rules_of(repair.tried, repair.best);
    report.diagnostics = for_people(diagnose(trial.card(), repair.tried[0]), repair.tried[0]);
    if (meant_passed && repaired) report.diagnostics.push_back(text_refused(request, best.spec));
    if (report.finite_differences)
        for (auto& found : diagnose_slopes(*report.finite_differences))
            report.diagnostics.push_back(std::move(found));
    for (const auto& tried : repair.tried) report.attempts.push_back(tried.attempt);
    // a spec that could not be loaded has shown nothing: then the best that ran says more
    const bool shows = repair.tried[0].attempt.verdict != Verdict::Refused;
    report.evidence = std::move(repair.tried[shows ? 0 : repair.best]);
    report.next_action = next_action_of(report, request, repaired);
}

}  // namespace

TraceReport validate_in_parts(const ValidationRequest& request) {
    const auto start = std::chrono::steady_clock::now();
    SpecTrial trial(request);
    TraceReport report;
    identify(request, trial.card(), trial.undecomposed().device_name(), report);
    report.edges = trial.parts().structure.edges.size();
    report.noise = trial.reference().noise;
    if (request.finite_difference_atoms > 0)
        report.finite_differences =
            check_slopes(trial.undecomposed(), request.system, trial.reference().whole,
                         request.finite_difference_atoms);

    auto first =
        trial.run(request.session.spec ? *request.session.spec : trial.card().distribution());
    Repair repair;
    // no spec mends parts that are not those of the system, nor a tolerance
    const bool sound = first.completeness.complete && first.plan.good &&
                       !is_below_rounding(first.attempt.quantities);
    if (request.autofix != AutoFix::No && first.attempt.verdict != Verdict::Passed && sound)
        repair = repair_spec(trial, std::move(first), request.max_attempts);
    else
        repair.tried.push_back(std::move(first));
    conclude(request, trial, std::move(repair), report);
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

TraceReport report_of_refusal(const ValidationRequest& request, const ModelCard& card,
                              const std::string& device, const std::string& reason) {
    TraceReport report;
    identify(request, card, device, report);
    Attempt attempt;
    attempt.spec = request.session.spec ? *request.session.spec : card.distribution();
    attempt.message = reason;
    attempt.score = std::numeric_limits<double>::infinity();
    report.spec = attempt.spec;
    report.proposed_patch = "[]";
    report.attempts.push_back(attempt);
    report.evidence.attempt = attempt;
    report.next_action = "The validation could not be made: " + reason;
    return report;
}

}  // namespace nvalchemi
