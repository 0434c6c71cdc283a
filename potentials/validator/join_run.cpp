// SPDX-License-Identifier: GPL-2.0-only
// What a real run and the parts that were played in one process say together.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>

#include "potentials/validator/decomposed_run.hpp"
#include "potentials/validator/diagnosis.hpp"
#include "potentials/validator/diagnosis_rules.hpp"
#include "potentials/validator/trace_report.hpp"
#include "potentials/validator/validate_in_parts.hpp"

namespace nvalchemi {

namespace {

/// Findings that rest on the run alone; the others need values from inside the model.
constexpr const char* kOfTheRun[] = {kBelowRounding, "incomplete_edges", "exchange_plan",
                                     "atoms_permuted", "reduced_precision"};
constexpr const char* kUnexplained = "run_differs_from_parts";
constexpr const char* kStale = "stale_data";

bool is_of_the_run(const Diagnostic& diagnostic) {
    return std::any_of(std::begin(kOfTheRun), std::end(kOfTheRun),
                       [&](const char* name) { return diagnostic.symptom == name; });
}

std::vector<Diagnostic> diagnose_run(const ModelCard& card, const DecomposedRun& run) {
    AttemptEvidence evidence;
    evidence.attempt.verdict = Verdict::Failed;
    evidence.attempt.quantities = run.quantities;
    evidence.ranks = run.ranks;
    evidence.completeness = run.completeness;
    evidence.plan = run.plan;
    evidence.health = run.health;
    evidence.errors = run.errors;
    std::vector<Diagnostic> found;
    for (auto& diagnostic : diagnose(card, evidence)) {
        if (!is_of_the_run(diagnostic)) continue;
        // small motions make differences as small as rounding does, but rounding shows at once
        if (run.agreed_before && run.plan.rounded == 0 && diagnostic.symptom == "reduced_precision")
            continue;
        diagnostic.evidence.emplace_back("seen in the run itself");
        found.push_back(std::move(diagnostic));
    }
    return found;
}

std::string parts_text(const TraceReport& report, const DecomposedRun& run) {
    return run.same_parts ? "the same atoms on the same " + ranks_text(run.ranks)
                          : ranks_text(report.ranks, "virtual ");
}

bool differs_by_rounding(const DecomposedRun& run) {
    return run.failure.empty() && run.completeness.complete && run.plan.good &&
           is_below_rounding(run.quantities);
}

bool played(const TraceReport& report) { return report.attempts[0].verdict != Verdict::Refused; }

Blame blame_of(const TraceReport& report, const DecomposedRun& run, bool run_is_sound) {
    // what only rounding makes differ is nobody's fault
    const bool parts_pass =
        report.attempts[0].verdict == Verdict::Passed ||
        (!report.diagnostics.empty() && report.diagnostics[0].symptom == kBelowRounding);
    const bool run_is_right = run.passed() || differs_by_rounding(run);
    if (run_is_right) return parts_pass ? Blame::Nothing : Blame::Spec;
    if (parts_pass) return Blame::Run;
    if (!run_is_sound) return Blame::Both;
    // a spec that is refused when it is loaded once more is no explanation of a run that began
    return played(report) || !report.diagnostics.empty() ? Blame::Spec : Blame::Unknown;
}

Diagnostic unexplained(const TraceReport& report, const DecomposedRun& run) {
    if (run.agreed_before && run.failure.empty())
        return {
            kStale,
            0.8,
            {"an earlier comparison of this run passed, neighbours and exchange are right now",
             parts_text(report, run) + ", played in one process, reproduce the undecomposed model"},
            "Rows or results of an earlier step are used: something that is kept between steps "
            "is not brought up to date. Report it with this file.",
            {},
            "[]"};
    return {kUnexplained,
            0.6,
            {parts_text(report, run) + ", played in one process, reproduce the undecomposed model",
             run.failure.empty() ? "neighbours and exchange of the run are right now"
                                 : "the run stopped: " + run.failure},
            "The spec is right and the fault is on the way from the model to LAMMPS, or on one "
            "rank's side: run on one rank to see whether it goes away, and report it with this "
            "file.",
            {},
            "[]"};
}

std::string action_on_spec(const TraceReport& report, const ProposedSpec& proposed) {
    if (!proposes_spec(report)) return report.next_action;
    const auto& found = report.diagnostics;
    const std::string why = found.empty() ? "" : " " + found[0].advice;
    if (proposed.file.empty()) return report.next_action;
    if (proposed.apply)
        return "Rerun with pair_style nvalchemi spec " + proposed.file +
               ": that spec passes, the present one does not." + why;
    return "The spec in " + proposed.file + " passes, the present one does not: look at it." + why;
}

std::string action_of(const TraceReport& report, const DecomposedRun& run,
                      const std::vector<Diagnostic>& of_run, const ProposedSpec& proposed) {
    const std::string advice = of_run.empty() ? "" : " " + of_run[0].advice;
    switch (run.blame) {
        case Blame::Nothing: return of_run.empty() ? report.next_action : of_run[0].advice;
        case Blame::Run:
            return "Do not change the spec: " + parts_text(report, run) +
                   ", played in one process, reproduce the undecomposed model, so the fault is in "
                   "the exchange, its plan or the neighbours of this run." +
                   advice;
        case Blame::Both:
            return "The run's own exchange or neighbours are wrong, and the spec too." + advice +
                   " Then: " + action_on_spec(report, proposed);
        case Blame::Spec:
            if (!run.passed() || report.evidence.divergence_on_chain)
                return action_on_spec(report, proposed);
            return "This run is right, but " + parts_text(report, run) +
                   ", played in one process, are not. " + action_on_spec(report, proposed);
        case Blame::Unknown: break;
    }
    return "The parts could not be played in one process: " + report.attempts[0].message +
           (run.failure.empty() ? "" : " The run stopped: " + run.failure);
}

/// What a sample cannot tell is left to the parts of a smaller system.
constexpr const char* kSmallerCell =
    "run nvalchemi-validate on a smaller cell of the same material";

std::string percent(double fraction) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %%", 100 * fraction);
    return text;
}

std::string action_of_sampled(const DecomposedRun& run, const std::vector<Diagnostic>& found) {
    const SampledRun& sampled = *run.sampled;
    const std::string rest = std::string(", ") + kSmallerCell;
    const std::string advice = found.empty() ? "" : found[0].advice + " ";
    if (!run.failure.empty())
        return "The run could not be compared: " + run.failure +
               ". To look at the spec apart from this run" + rest + ".";
    if (run.is_undecided())
        return "The exchanges are right, but no energies of atoms were compared (" +
               sampled.energies.not_compared + ") and no single forces (" +
               sampled.forces.not_compared +
               "): this proves the run neither right nor wrong. Compare a smaller cell of the same "
               "material with fix nvalchemi/validate and mode gathered, or " +
               kSmallerCell + ".";
    if (run.blame == Blame::Run)
        return "Do not change the spec: the exchange of this run is wrong. " +
               (found.empty() ? run.plan.failure : found[0].advice);
    if (run.blame != Blame::Nothing)
        return advice + "To learn whether the spec is to blame" + rest + " with --autofix report.";
    if (!sampled.energies.compared())
        return "The exchanges are right, but no energies of atoms were compared (" +
               sampled.energies.not_compared + "). To compare them" + rest + ".";
    return "Nothing to do: no sampled atom differs" +
           (sampled.stratum_bound > 0
                ? ", and a fault in more than " + percent(sampled.stratum_bound) +
                      " of the atoms of a stratum would have been seen"
                : std::string()) +
           ". To compare energy, stress and further outputs too" + rest + ".";
}

}  // namespace

bool DecomposedRun::numbers_agree() const {
    return failure.empty() && std::all_of(quantities.begin(), quantities.end(),
                                          [](const auto& quantity) { return quantity.passed(); });
}

bool DecomposedRun::passed() const { return numbers_agree() && completeness.complete && plan.good; }

const char* name_of(Blame blame) {
    switch (blame) {
        case Blame::Nothing: return "nothing";
        case Blame::Spec: return "spec";
        case Blame::Run: return "run";
        case Blame::Both: return "both";
        case Blame::Unknown: break;
    }
    return "unknown";
}

bool proposes_spec(const TraceReport& report) {
    return report.attempts[0].verdict != Verdict::Passed &&
           std::any_of(report.attempts.begin(), report.attempts.end(),
                       [](const auto& attempt) { return attempt.verdict == Verdict::Passed; });
}

void join_run(TraceReport& report, const ModelCard& card, DecomposedRun run,
              const ProposedSpec& proposed) {
    std::vector<Diagnostic> of_run;
    if (!run.passed()) of_run = diagnose_run(card, run);
    run.blame = blame_of(report, run, of_run.empty());
    if (run.blame == Blame::Run && of_run.empty()) of_run.push_back(unexplained(report, run));
    report.next_action = action_of(report, run, of_run, proposed);
    report.ok = report.ok && run.passed();
    report.diagnostics.insert(report.diagnostics.begin(), of_run.begin(), of_run.end());
    std::stable_sort(
        report.diagnostics.begin(), report.diagnostics.end(),
        [](const auto& left, const auto& right) { return left.confidence > right.confidence; });
    report.diagnostics = for_people(std::move(report.diagnostics), report.evidence);
    report.run = std::move(run);
}

TraceReport report_of_sampled_run(const ValidationRequest& request, const ModelCard& card,
                                  const std::string& device, DecomposedRun run) {
    auto report = report_of_refusal(request, card, device, run.failure);
    const SampledRun& sampled = *run.sampled;
    const bool passed = run.passed();
    if (!passed) {
        report.diagnostics = diagnose_run(card, run);
        if (run.plan.good && run.failure.empty()) {
            auto more = diagnose_sampled(sampled);
            std::move(more.begin(), more.end(), std::back_inserter(report.diagnostics));
        }
    }
    const bool undecided = run.is_undecided();
    run.blame = undecided        ? Blame::Unknown
                : passed         ? Blame::Nothing
                : !run.plan.good ? Blame::Run
                                 : Blame::Unknown;

    Attempt& attempt = report.attempts[0];
    attempt.rationale = "the spec of the run, where the run was sampled";
    attempt.bytes_per_step = sampled.bytes_per_step;
    if (run.failure.empty()) {
        attempt.verdict = passed ? Verdict::Passed : Verdict::Failed;
        attempt.quantities = run.quantities;
        attempt.score = score_of(run.quantities);
        if (!run.plan.good) attempt.message = "the exchange of the run is wrong";
        if (undecided) {
            attempt.verdict = Verdict::Refused;
            attempt.message = "no energies of atoms and no single forces were compared";
        }
    }
    AttemptEvidence& evidence = report.evidence;
    evidence.attempt = attempt;
    evidence.ranks = run.ranks;
    evidence.completeness = run.completeness;
    evidence.plan = run.plan;
    evidence.health = run.health;
    evidence.trace = sampled.trace;

    const double none = std::numeric_limits<double>::quiet_NaN();
    report.noise = {none, sampled.energies.noise, sampled.forces.noise, none};
    report.ok = passed && !undecided;
    report.next_action = action_of_sampled(run, report.diagnostics);
    report.atoms = sampled.natoms;
    for (const auto& part : run.health.parts) report.edges += part.edges;
    report.seconds = sampled.seconds;
    report.run = std::move(run);
    return report;
}

}  // namespace nvalchemi
