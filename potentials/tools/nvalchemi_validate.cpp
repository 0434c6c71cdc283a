// SPDX-License-Identifier: GPL-2.0-only
// nvalchemi-validate: a structure in virtual parts against the undecomposed model, without LAMMPS.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/register_ops.hpp"
#include "potentials/session.hpp"
#include "potentials/structure_file.hpp"
#include "potentials/tools/model_files.hpp"
#include "potentials/validator/validate_in_parts.hpp"
#include "spec/parse_mlip_spec.hpp"
#include "spec/presets.hpp"
#include "spec/spec_error.hpp"
#include "spec/write_mlip_spec.hpp"

namespace {

using nvalchemi::AutoFix;

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

struct Misuse : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Arguments {
    std::map<std::string, std::string> text{
        {"--archive", ""},   {"--structure", ""},  {"--card", ""},
        {"--spec", ""},      {"--ranks", "2"},     {"--device", "cpu"},
        {"--autofix", "no"}, {"--attempts", "12"}, {"--finite-differences", "0"},
        {"--output", ""},    {"--write-spec", ""}, {"--charge", ""}};
    std::vector<std::string> libraries;

    const std::string& operator[](const std::string& name) const { return text.at(name); }

    int count(const std::string& name, int least) const {
        const auto& word = text.at(name);
        std::size_t used = 0;
        int value = least - 1;
        try {
            value = std::stoi(word, &used);
        } catch (const std::exception&) {
            used = word.size() + 1;
        }
        if (used != word.size() || value < least)
            throw Misuse(name + ": got '" + word + "', expected a number of at least " +
                         std::to_string(least));
        return value;
    }
};

Arguments parse_arguments(const std::vector<std::string>& words) {
    Arguments arguments;
    for (std::size_t k = 0; k < words.size(); ++k) {
        const auto& word = words[k];
        const auto known = arguments.text.find(word);
        if (known == arguments.text.end() && word != "--ops")
            throw Misuse("got '" + word + "', expected one of the options below");
        if (++k == words.size()) throw Misuse(word + ": got nothing, expected a value");
        if (word == "--ops")
            arguments.libraries.push_back(words[k]);
        else
            known->second = words[k];
    }
    for (const char* name : {"--archive", "--structure"})
        if (arguments[name].empty()) throw Misuse(std::string("got no ") + name);
    return arguments;
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw std::runtime_error(path + ": cannot be written");
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

nvalchemi::SessionOptions session_options(const Arguments& arguments,
                                          nvalchemi::ValidationRequest& request) {
    auto options =
        nvalchemi::options_with_card(request.archive, arguments["--archive"], arguments["--card"]);
    options.device = arguments["--device"];
    options.operator_libraries = arguments.libraries;
    if (!arguments["--charge"].empty())
        options.total_charge = nvalchemi::parse_charge(arguments["--charge"]);
    const auto& spec = arguments["--spec"];
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

int validate(const Arguments& arguments) {
    nvalchemi::ValidationRequest request;
    request.autofix = parse_autofix(arguments["--autofix"]);
    request.ranks = arguments.count("--ranks", 1);
    request.max_attempts = arguments.count("--attempts", 1);
    request.finite_difference_atoms = arguments.count("--finite-differences", 0);
    request.spec_file = arguments["--write-spec"];
    request.report_file = arguments["--output"];
    nvalchemi::register_operators();
    request.archive = nvalchemi::read_file(arguments["--archive"]);
    request.session = session_options(arguments, request);
    {
        auto options = request.session;
        options.distribute = false;
        options.device = "cpu";
        const nvalchemi::Session session(request.archive, options);
        request.system = nvalchemi::read_structure_file(arguments["--structure"], session.card());
    }
    // one part may be empty, for the sake of the test
    if (request.ranks > request.system.size() + 1)
        throw std::runtime_error("--ranks: got " + std::to_string(request.ranks) +
                                 ", expected at most one more than the " +
                                 std::to_string(request.system.size()) + " atoms of the structure");
    const auto report = nvalchemi::validate_in_parts(request);
    std::cout << nvalchemi::summarize(report);
    if (!arguments["--output"].empty())
        write_file(arguments["--output"], nvalchemi::write_trace_report(report));
    if (!arguments["--write-spec"].empty())
        write_file(arguments["--write-spec"], nvalchemi::write_mlip_spec(report.spec));
    return report.ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty() || words[0] == "--help" || words[0] == "-h") {
        (words.empty() ? std::cerr : std::cout) << kUsage;
        return words.empty() ? 2 : 0;
    }
    try {
        return validate(parse_arguments(words));
    } catch (const Misuse& error) {
        std::cerr << "nvalchemi-validate: " << error.what() << "\n" << kUsage;
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "nvalchemi-validate: " << error.what() << "\n";
        return 1;
    }
}
