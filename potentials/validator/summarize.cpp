// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "potentials/validator/trace_report.hpp"

namespace nvalchemi {

namespace {

constexpr std::size_t kShownLists = 5;
constexpr std::size_t kPageWidth = 120;

std::string format(const char* layout, double value) {
    char text[48];
    std::snprintf(text, sizeof text, layout, value);
    return text;
}

/// Words of a text that follows `used` columns, in lines of the page's width that begin with
/// `indent`. Words that are longer stay whole.
std::string wrapped(const std::string& text, std::size_t used, const std::string& indent) {
    std::istringstream words(text);
    std::string lines, word;
    while (words >> word) {
        if (!lines.empty()) {
            const bool fits = used + 1 + word.size() <= kPageWidth;
            lines += fits ? " " : "\n" + indent;
            used = fits ? used + 1 : indent.size();
        }
        lines += word;
        used += word.size();
    }
    return lines;
}

/// JSON text after `used` columns, broken after commas outside of strings: it stays the same JSON.
std::string wrapped_json(const std::string& text, std::size_t used, const std::string& indent) {
    std::string lines, piece;
    bool in_string = false;
    for (std::size_t k = 0; k < text.size(); ++k) {
        piece += text[k];
        if (in_string && text[k] == '\\' && k + 1 < text.size())
            piece += text[++k];
        else if (text[k] == '"')
            in_string = !in_string;
        if (k + 1 < text.size() && (in_string || text[k] != ',')) continue;
        if (used + piece.size() > kPageWidth && !lines.empty()) {
            lines += "\n" + indent;
            used = indent.size();
        }
        lines += piece;
        used += piece.size();
        piece.clear();
    }
    return lines;
}

void write_wrapped(const std::string& lead, const std::string& text, const std::string& indent,
                   std::ostringstream& page) {
    page << lead << wrapped(text, lead.size(), indent) << "\n";
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
             << format("%.2f", found.confidence) << ")\n";
        write_wrapped("  ", found.advice, "  ", page);
        if (!found.evidence.empty()) write_wrapped("  because ", found.evidence[0], "    ", page);
        if (found.patch != "[]" && !found.patch.empty()) {
            const std::string lead = "  spec edit ";
            page << lead << wrapped_json(found.patch, lead.size(), "    ") << "\n";
        }
    }
}

void write_errors(const ErrorMap& map, const char* other, std::ostringstream& page) {
    if (map.atoms_wrong == 0) return;
    page << "errors: " << map.atoms_wrong << " atoms wrong, " << map.wrong_near_face
         << " of them near a face (" << map.atoms_near_face << " atoms are)\n";
    for (std::size_t k = 0; k < std::min<std::size_t>(3, map.worst.size()); ++k) {
        const auto& atom = map.worst[k];
        if (atom.force_error == 0 && atom.energy_error == 0) break;
        page << "  atom " << atom.atom << " of rank " << atom.rank << ": force off by "
             << format("%.2e", atom.force_error) << " eV/A";
        if (atom.force_error == 0)
            page << ", energy by " << format("%.2e", atom.energy_error) << " eV";
        if (atom.face_distance)
            page << ", " << format("%.2f", *atom.face_distance) << " A from " << other;
        page << "\n";
    }
    page << "  largest of rank";
    for (std::size_t rank = 0; rank < std::min(kShownLists, map.largest_of_rank.size()); ++rank)
        page << (rank > 0 ? "," : "") << " " << rank << ": "
             << format("%.2e", map.largest_of_rank[rank]);
    page << (map.largest_of_rank.size() > kShownLists ? ", ... eV/A\n" : " eV/A\n");
}

void write_neighbors(const Completeness& found, const PlanCheck& plan, std::ostringstream& page) {
    page << "neighbours: " << found.edges_seen << " edges of " << found.edges_expected;
    if (found.atoms_wrong > 0) {
        page << ", " << found.atoms_wrong << " atoms with others than they have:";
        for (std::size_t k = 0; k < std::min<std::size_t>(3, found.first.size()); ++k)
            page << (k > 0 ? "," : "") << " atom " << found.first[k].atom << " of rank "
                 << found.first[k].rank << " sees " << found.first[k].seen << " of "
                 << found.first[k].expected;
    }
    page << "; exchange " << (plan.good ? "good" : "WRONG: " + plan.failure + plan.first) << "\n";
}

/// The run itself; what follows it on the page is of the parts that were played.
void write_run(const DecomposedRun& run, const TraceReport& report, std::ostringstream& page) {
    page << "the run, " << run.label << " at step " << run.step << ": "
         << (run.passed() ? "passed" : "FAILED") << "\n";
    if (!run.failure.empty()) write_wrapped("stopped: ", run.failure, "  ", page);
    write_quantities(run.quantities, page);
    if (run.errors && !run.passed()) write_errors(*run.errors, "a face of its sub-domain", page);
    write_neighbors(run.completeness, run.plan, page);
    write_parts(run.health, page);
    page << "played in one process, "
         << (run.same_parts ? "the same atoms on the same ranks: "
                            : ranks_text(report.ranks, "virtual ") + ": ")
         << word_of(report.attempts[0].verdict) << "\n";
}

/// "attempt 1, the given spec: failed"
std::string title_of(const Attempt& attempt) {
    return "attempt " + std::to_string(attempt.number) +
           (attempt.rule.empty() ? ", the given spec: " : ", mended: ") + word_of(attempt.verdict);
}

/// Where several specs were tried, whose numbers are shown: first those of the one that passes.
void write_tables(const TraceReport& report, std::ostringstream& page) {
    const auto& shown = report.evidence.attempt;
    const bool several = report.attempts.size() > 1;
    if (several && shown.verdict != Verdict::Passed)
        for (const auto& attempt : report.attempts)
            if (attempt.verdict == Verdict::Passed && attempt.spec == report.spec) {
                page << title_of(attempt) << "\n";
                write_quantities(attempt.quantities, page);
                break;
            }
    if (several) page << title_of(shown) << "\n";
    write_quantities(shown.quantities, page);
    if (!shown.message.empty())
        write_wrapped(shown.verdict == Verdict::Refused ? "refused: " : "failed: ", shown.message,
                      "  ", page);
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

std::string ranks_text(int ranks, const std::string& kind) {
    return std::to_string(ranks) + " " + kind + (ranks == 1 ? "rank" : "ranks");
}

std::string summarize(const TraceReport& report) {
    std::ostringstream page;
    page << (report.ok ? "PASSED" : "FAILED") << ": model '" << report.model.name << "' ("
         << report.model.hash << "), " << report.atoms << " atoms on " << ranks_text(report.ranks)
         << ", " << report.device << ", " << format("%.1f", report.seconds) << " s\n"
         << "next: " << report.next_action << "\n";
    if (report.run) write_run(*report.run, report, page);
    write_tables(report, page);
    write_diagnosis(report, page);
    if (report.evidence.errors && report.evidence.attempt.verdict != Verdict::Passed)
        write_errors(*report.evidence.errors, "another part", page);
    if (!report.run || !report.run->same_parts || report.attempts[0].verdict != Verdict::Passed) {
        write_neighbors(report.evidence.completeness, report.evidence.plan, page);
        write_parts(report.evidence.health, page);
    }
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
