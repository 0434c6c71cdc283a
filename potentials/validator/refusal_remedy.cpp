// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/refusal_remedy.hpp"

#include <exception>
#include <fstream>
#include <sstream>

#include "potentials/validator/companion.hpp"
#include "potentials/validator/decomposed_run.hpp"
#include "potentials/validator/validate_in_parts.hpp"
#include "spec/parse_mlip_spec.hpp"

namespace nvalchemi {

namespace {

std::string command_line(const SessionOptions& options, const std::string& spec_name) {
    std::string text = "nvalchemi-validate --archive " + options.path;
    if (!options.card_path.empty()) text += " --card " + options.card_path;
    if (!spec_name.empty()) text += " --spec " + spec_name;
    for (const auto& library : options.operator_libraries) text += " --ops " + library;
    return text +
           " --structure STRUCTURE.json --ranks 4 --autofix apply --write-spec mended.spec.json";
}

MLIPSpec read_leniently(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return parse_mlip_spec(text.str(), path, "", {/*lenient=*/true, nullptr});
}

TraceReport look_for_edit(const std::string& archive, const SessionOptions& options,
                          const std::string& spec_name) {
    ValidationRequest request;
    request.archive = archive;
    request.session = options;
    request.session.device = "cpu";
    request.session.graphs = GraphUse::No;
    request.session.edge_moments = false;
    request.session.spec_reading.warnings = nullptr;
    if (!options.spec && !spec_name.empty()) request.session.spec = read_leniently(spec_name);
    auto undecomposed = request.session;
    undecomposed.distribute = undecomposed.self_test = false;
    undecomposed.spec.reset();
    request.system = companion_system(Session(archive, undecomposed).card());
    request.owners = companion_owners();
    request.ranks = kCompanionRanks;
    request.autofix = AutoFix::Report;
    return validate_in_parts(request);
}

}  // namespace

std::string remedy_of_refusal(const std::string& archive, const SessionOptions& options,
                              const std::string& spec_name) {
    TraceReport report;
    try {
        report = look_for_edit(archive, options, spec_name);
    } catch (const std::exception&) {
        return "";
    }
    const bool unread = !options.spec && !spec_name.empty();
    // with this spec the model runs: no other one mends what was refused
    if (report.ok && !unread) return "";
    if (report.ok)
        return "What was meant passes on a chain of atoms: write it anew by 'nvalchemi-spec "
               "migrate " +
               spec_name + " --output mended.spec.json'";
    std::string text;
    const auto& found = report.diagnostics;
    if (!proposes_spec(report) && !found.empty() && found[0].confidence >= 0.5)
        text = "Diagnosis (" + found[0].symptom + "): " + found[0].advice + " ";
    if (proposes_spec(report))
        text = "What would mend it (" + report.diagnostics[0].symptom + "): the edit " +
               report.proposed_patch + " of " +
               (spec_name.empty() ? std::string("the model card's spec") : spec_name) +
               " passes on a chain of atoms; make it, and check it on";
    else
        text += "Look for a spec that passes on";
    return text + " a structure of your own, by '" + command_line(options, spec_name) +
           "' and then 'pair_style nvalchemi spec mended.spec.json'";
}

}  // namespace nvalchemi
