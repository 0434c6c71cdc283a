// SPDX-License-Identifier: GPL-2.0-only
// nvalchemi-validate: a structure in virtual parts against the undecomposed model, without LAMMPS.
#include <charconv>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/register_ops.hpp"
#include "potentials/session.hpp"
#include "potentials/structure_file.hpp"
#include "potentials/tools/command_line.hpp"
#include "potentials/tools/model_files.hpp"
#include "potentials/validator/validate_in_parts.hpp"
#include "spec/parse_mlip_spec.hpp"
#include "spec/presets.hpp"
#include "spec/spec_error.hpp"
#include "spec/write_mlip_spec.hpp"

namespace {

using nvalchemi::AutoFix;
using nvalchemi::CommandLine;
using nvalchemi::Misuse;

constexpr const char* kUsage =
    "usage: nvalchemi-validate --archive M.pt --structure CASE.json|CASE.extxyz [--card C.json]\n"
    "                          [--spec SPEC|PRESET] [--ops LIB.so]... [--ranks K] [--charge Q]\n"
    "                          [--device cpu|cuda|cuda:N] [--autofix no|report|apply]\n"
    "                          [--attempts N] [--finite-differences N] [--output REPORT.json]\n"
    "                          [--write-spec FILE]\n"
    "\n"
    "Play K sub-domains (2 by default) of the structure in this process, compare energies, "
    "forces,\n"
    "stress and all declared outputs with the model on the whole structure, and say what is "
    "wrong.\n"
    "The structure has symbols, cell (lattice vectors as rows), pbc, positions; Angstrom; where\n"
    "the model takes more, charges and inputs: {name: number | list | list of lists}.\n"
    "A name that ends in xyz: extended XYZ, as the command nvalchemi/write writes it.\n"
    "  --autofix report  look for a spec that passes and propose it\n"
    "  --autofix apply   the same, and take it: the status is 0 if there is one\n"
    "  --write-spec      write the best spec in its canonical form\n"
    "  --finite-differences N  compare the model's own forces on N atoms with its energy\n"
    "Exit status: 0 passed, or mended with apply; 1 failed; 2 misuse.\n";

CommandLine parse_arguments(const std::vector<std::string>& words) {
    const CommandLine line(words, {"--archive", "--structure", "--card", "--spec", "--ops",
                                   "--ranks", "--charge", "--device", "--autofix", "--attempts",
                                   "--finite-differences", "--output", "--write-spec"});
    line.expect_others(0);
    for (const char* name : {"--archive", "--structure"}) line.required(name);
    return line;
}

int count(const CommandLine& line, const std::string& name, int otherwise, int least) {
    const auto word = line.last(name, std::to_string(otherwise));
    int value = least - 1;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc() && stop == end && value >= least) return value;
    throw Misuse(name + ": got '" + word + "', expected a number of at least " +
                 std::to_string(least));
}

/// What the strict reader refuses is read leniently if it is to be mended; the request keeps its
/// text and the refusal.
nvalchemi::MLIPSpec read_spec(const std::string& path, nvalchemi::ValidationRequest& request) {
    const auto text = nvalchemi::read_file(path);
    try {
        return nvalchemi::parse_mlip_spec(text, path);
    } catch (const nvalchemi::SpecError& refusal) {
        if (request.autofix == AutoFix::No) throw;
        request.refused_text = text;
        request.refusal = refusal.what();
        std::cerr << "nvalchemi-validate: " << refusal.what()
                  << "; read as far as it is understood\n";
    }
    return nvalchemi::parse_mlip_spec(text, path, "", {/*lenient=*/true, nullptr});
}

nvalchemi::SessionOptions session_options(const CommandLine& line,
                                          nvalchemi::ValidationRequest& request) {
    auto options =
        nvalchemi::options_with_card(request.archive, line.last("--archive"), line.last("--card"));
    options.device = line.last("--device", "cpu");
    options.operator_libraries = line.all("--ops");
    if (line.has("--charge")) options.total_charge = nvalchemi::parse_charge(line.last("--charge"));
    const auto spec = line.last("--spec");
    if (const auto* preset = nvalchemi::find_preset(spec))
        options.spec = *preset;
    else if (!spec.empty())
        options.spec = read_spec(spec, request);
    return options;
}

AutoFix parse_autofix(const std::string& word) {
    if (word == "no") return AutoFix::No;
    if (word == "report") return AutoFix::Report;
    if (word == "apply") return AutoFix::Apply;
    throw Misuse("--autofix: got '" + word + "', expected no, report or apply");
}

int validate(const CommandLine& line) {
    nvalchemi::ValidationRequest request;
    request.autofix = parse_autofix(line.last("--autofix", "no"));
    request.ranks = count(line, "--ranks", 2, 1);
    request.max_attempts = count(line, "--attempts", 12, 1);
    request.finite_difference_atoms = count(line, "--finite-differences", 0, 0);
    request.spec_file = line.last("--write-spec");
    request.report_file = line.last("--output");
    nvalchemi::register_operators();
    request.archive = nvalchemi::read_file(line.last("--archive"));
    request.session = session_options(line, request);
    {
        auto options = request.session;
        options.distribute = false;
        options.device = "cpu";
        options.element_test = true;
        const nvalchemi::Session session(request.archive, options);
        request.system = nvalchemi::read_structure_file(line.last("--structure"), session.card());
    }
    // one part may be empty, for the sake of the test
    if (request.ranks > request.system.size() + 1)
        throw std::runtime_error("--ranks: got " + std::to_string(request.ranks) +
                                 ", expected at most one more than the " +
                                 std::to_string(request.system.size()) + " atoms of the structure");
    const auto report = nvalchemi::validate_in_parts(request);
    std::cout << nvalchemi::summarize(report);
    if (line.has("--output"))
        nvalchemi::write_file(line.last("--output"), nvalchemi::write_trace_report(report));
    if (line.has("--write-spec"))
        nvalchemi::write_file(line.last("--write-spec"), nvalchemi::write_mlip_spec(report.spec));
    return report.ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return nvalchemi::run_tool("nvalchemi-validate", kUsage, {argv + 1, argv + argc},
                               [](const auto& words) { return validate(parse_arguments(words)); });
}
