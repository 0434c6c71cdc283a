// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "potentials/validator/trace_report.hpp"

namespace nvalchemi {

namespace {

constexpr std::size_t kShownLists = 5;
constexpr std::size_t kShownText = 160;

std::string format(const char* layout, double value) {
    char text[48];
    std::snprintf(text, sizeof text, layout, value);
    return text;
}

std::string shortened(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    if (text.size() > kShownText) text = text.substr(0, kShownText) + "...";
    return text;
}

const char* word_of(Verdict verdict) {
    return verdict == Verdict::Passed   ? "passed"
           : verdict == Verdict::Failed ? "failed"
                                        : "refused";
}

void write_quantities(const std::vector<Deviation>& quantities, std::ostringstream& page) {
    for (const auto& quantity : quantities) {
        char line[160];
        if (quantity.compared)
            std::snprintf(
                line, sizeof line, "  %-4s %-18s difference %9.2e of %9.2e %s, tolerance %8.1e",
                quantity.passed() ? "ok" : "FAIL", quantity.quantity.c_str(), quantity.difference,
                quantity.largest, quantity.unit.c_str(), quantity.tolerance);
        else
            std::snprintf(line, sizeof line, "  --   %-18s the archive gives no reference",
                          quantity.quantity.c_str());
        page << line;
        if (quantity.worst >= 0 && !quantity.passed()) page << ", atom " << quantity.worst;
        page << "\n";
    }
}

void write_parts(const PartitionHealth& health, std::ostringstream& page) {
    for (std::size_t rank = 0; rank < std::min(kShownLists, health.parts.size()); ++rank) {
        const auto& part = health.parts[rank];
        page << "  rank " << rank << ": " << part.owned << " owned, " << part.halo << " halo, "
             << part.remote << " elsewhere; " << part.edges << " edges\n";
    }
    if (health.parts.size() > kShownLists)
        page << "  ... " << health.parts.size() - kShownLists << " more\n";
    for (const auto& advice : health.advice) page << "  note: " << advice << "\n";
}

void write_trace(const AttemptEvidence& evidence, std::ostringstream& page) {
    if (evidence.trace.events.empty()) return;
    page << "exchanges: " << evidence.trace.planned.size() << " forward in the model, "
         << evidence.trace.events.size() << " calls in all, " << evidence.attempt.bytes_per_step
         << " bytes a step; "
         << (evidence.trace.same_on_all_ranks ? "the same on all ranks"
                                              : "NOT the same on all ranks")
         << "\n";
    for (std::size_t k = 0; k < std::min(kShownLists, evidence.trace.planned.size()); ++k) {
        const auto& exchange = evidence.trace.planned[k];
        page << "  " << exchange.name << ", width " << exchange.width << ", " << exchange.source
             << "\n";
    }
}

void write_diagnosis(const TraceReport& report, std::ostringstream& page) {
    const auto& evidence = report.evidence;
    if (evidence.divergence && evidence.divergence->found)
        page << "first difference: " << evidence.divergence->call.op << " ("
             << evidence.divergence->call.source << ")\n";
    for (std::size_t k = 0; k < std::min<std::size_t>(3, report.diagnostics.size()); ++k) {
        const auto& found = report.diagnostics[k];
        page << "diagnosis: " << found.symptom << " (confidence "
             << format("%.2f", found.confidence) << ")\n  " << shortened(found.advice) << "\n";
        if (!found.evidence.empty()) page << "  because " << shortened(found.evidence[0]) << "\n";
        if (found.patch != "[]" && !found.patch.empty())
            page << "  spec edit " << shortened(found.patch) << "\n";
    }
}

void write_errors(const AttemptEvidence& evidence, std::ostringstream& page) {
    if (!evidence.errors || evidence.attempt.verdict == Verdict::Passed) return;
    const auto& map = *evidence.errors;
    page << "errors: " << map.atoms_wrong << " atoms wrong, " << map.wrong_near_face
         << " of them near a face (" << map.atoms_near_face << " atoms are)\n";
    for (std::size_t k = 0; k < std::min<std::size_t>(3, map.worst.size()); ++k) {
        const auto& atom = map.worst[k];
        page << "  atom " << atom.atom << " of rank " << atom.rank << ": force off by "
             << format("%.2e", atom.force_error) << " eV/A";
        if (atom.face_distance)
            page << ", " << format("%.2f", *atom.face_distance) << " A from another part";
        page << "\n";
    }
}

void write_attempts(const TraceReport& report, std::ostringstream& page) {
    if (report.attempts.size() < 2) return;
    for (const auto& attempt : report.attempts) {
        page << "attempt " << attempt.number << ": " << word_of(attempt.verdict);
        if (!attempt.rule.empty()) page << ", " << attempt.rule;
        if (attempt.verdict == Verdict::Passed)
            page << ", " << attempt.bytes_per_step << " bytes a step";
        if (attempt.verdict == Verdict::Failed)
            page << ", worst difference " << format("%.2g", attempt.score) << " tolerances";
        page << "\n";
    }
}

}  // namespace

std::string summarize(const TraceReport& report) {
    std::ostringstream page;
    page << (report.ok ? "PASSED" : "FAILED") << ": model '" << report.model.name << "' ("
         << report.model.hash << "), " << report.atoms << " atoms on " << report.ranks << " ranks, "
         << report.device << ", " << format("%.1f", report.seconds) << " s\n"
         << "next: " << report.next_action << "\n";
    write_quantities(report.evidence.attempt.quantities, page);
    if (!report.evidence.attempt.message.empty())
        page << "refused: " << shortened(report.evidence.attempt.message) << "\n";
    write_diagnosis(report, page);
    write_errors(report.evidence, page);
    page << "neighbours: " << report.evidence.completeness.edges_seen << " edges of "
         << report.evidence.completeness.edges_expected << "; exchange plan "
         << (report.evidence.plan.good ? "good" : "WRONG: " + report.evidence.plan.first) << "\n";
    write_parts(report.evidence.health, page);
    write_trace(report.evidence, page);
    if (report.finite_differences)
        page << "finite differences: forces off by "
             << format("%.1e", report.finite_differences->largest_force_difference)
             << " eV/A (tolerance " << format("%.1e", report.finite_differences->force_tolerance)
             << ")\n";
    write_attempts(report, page);
    return page.str();
}

}  // namespace nvalchemi
