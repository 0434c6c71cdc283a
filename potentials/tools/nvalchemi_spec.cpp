// SPDX-License-Identifier: GPL-2.0-only
// nvalchemi-spec: reads, checks, rewrites and explains distribution specs.
#include <exception>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/register_ops.hpp"
#include "potentials/explain_spec.hpp"
#include "potentials/model_card.hpp"
#include "potentials/session.hpp"
#include "potentials/tools/command_line.hpp"
#include "potentials/tools/model_files.hpp"
#include "spec/compose_mlip_specs.hpp"
#include "spec/diff_mlip_specs.hpp"
#include "spec/json_value.hpp"
#include "spec/parse_mlip_spec.hpp"
#include "spec/presets.hpp"
#include "spec/spec_error.hpp"
#include "spec/write_mlip_spec.hpp"

namespace {

using nlohmann::json;
using nvalchemi::Misuse;
using nvalchemi::MLIPSpec;

constexpr const char* kUsage =
    "usage: nvalchemi-spec check SPEC... [--archive M.pt] [--card C.json] [--ops LIB.so]...\n"
    "                                    [--lenient] [--json]\n"
    "       nvalchemi-spec show SPEC [--archive M.pt] [--card C.json] [--ops LIB.so]... "
    "[--lenient]\n"
    "       nvalchemi-spec canonical SPEC [--lenient]\n"
    "       nvalchemi-spec migrate SPEC [--output FILE]\n"
    "       nvalchemi-spec diff SPEC SPEC [--lenient] [--json]\n"
    "       nvalchemi-spec presets [--json]\n"
    "\n"
    "SPEC is a file (JSON, version 2) or the name of a preset.\n"
    "  check      say whether each SPEC is good: strict, or as the Python package reads it with\n"
    "             --lenient; with --ops, whether its operators are there; with --archive, whether\n"
    "             it makes that model right in parallel\n"
    "  show       the canonical form, what each adapter does, and with --archive every exchange\n"
    "  canonical  write the one canonical form\n"
    "  migrate    read an older file leniently and write the canonical form\n"
    "  diff       list what differs\n"
    "  presets    list the presets\n"
    "Exit status: 0 good (diff: the same), 1 refused (diff: different), 2 misuse.\n";

struct Arguments {
    std::string verb, archive, card, output;
    std::vector<std::string> specs, libraries;
    bool lenient = false, as_json = false;
};

Arguments parse_arguments(const std::vector<std::string>& words) {
    const nvalchemi::CommandLine line({words.begin() + 1, words.end()},
                                      {"--archive", "--card", "--output", "--ops"},
                                      {"--lenient", "--json"});
    return {words[0],      line.last("--archive"), line.last("--card"),   line.last("--output"),
            line.others(), line.all("--ops"),      line.has("--lenient"), line.has("--json")};
}

std::string read_spec_text(const std::string& path) {
    std::error_code error;
    if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error))
        return nvalchemi::read_file(path);
    throw std::runtime_error(path + ": cannot be read; expected a file or one of the presets " +
                             nvalchemi::quoted_list(nvalchemi::preset_names()));
}

MLIPSpec read_spec(const std::string& name, bool lenient, std::vector<std::string>& warnings) {
    if (const auto* preset = nvalchemi::find_preset(name)) return *preset;
    return nvalchemi::parse_mlip_spec(read_spec_text(name), name, "", {lenient, &warnings});
}

nvalchemi::Session load_model(const Arguments& arguments, const MLIPSpec& spec) {
    const auto archive = nvalchemi::read_file(arguments.archive);
    auto options = nvalchemi::options_with_card(archive, arguments.archive, arguments.card);
    options.device = "cpu";
    options.spec = spec;
    options.operator_libraries = arguments.libraries;
    return nvalchemi::Session(archive, options);
}

struct Verdict {
    std::string name, error, pointer, listing;
    std::vector<std::string> warnings;
    std::vector<nvalchemi::AdapterUse> adapters;
};

Verdict check_one(const Arguments& arguments, const std::string& name) {
    Verdict verdict;
    verdict.name = name;
    try {
        const auto spec = read_spec(name, arguments.lenient, verdict.warnings);
        verdict.adapters = nvalchemi::explain_adapters(spec);
        if (!arguments.libraries.empty()) nvalchemi::check_operators(spec);
        if (arguments.archive.empty()) return verdict;
        const auto session = load_model(arguments, spec);
        verdict.adapters = session.adapter_uses();
        verdict.listing = session.listing();
    } catch (const nvalchemi::SpecError& error) {
        verdict.pointer = error.pointer();
        verdict.error = error.what();
    } catch (const std::exception& error) {
        verdict.error = error.what();
    }
    return verdict;
}

json to_json(const Verdict& verdict) {
    json adapters = json::array();
    for (const auto& use : verdict.adapters)
        adapters.push_back({{"pointer", use.pointer},
                            {"target", use.target},
                            {"action", use.action},
                            {"places", use.places}});
    json record = {{"spec", verdict.name},
                   {"ok", verdict.error.empty()},
                   {"warnings", verdict.warnings},
                   {"adapters", adapters}};
    if (!verdict.error.empty())
        record["error"] = {{"pointer", verdict.pointer}, {"message", verdict.error}};
    return record;
}

/// A file's name can hold bytes that are no UTF-8.
void print(const json& document) {
    std::cout << document.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

void print(const Verdict& verdict) {
    std::cout << verdict.name << ": " << (verdict.error.empty() ? "good" : "refused") << "\n";
    if (!verdict.error.empty()) std::cout << "  " << verdict.error << "\n";
    for (const auto& warning : verdict.warnings) std::cout << "  warning: " << warning << "\n";
    for (const auto& use : verdict.adapters) {
        std::cout << "  " << use.pointer << " " << use.target << ": " << use.action;
        for (const auto& place : use.places)
            std::cout << (&place == &use.places[0] ? "; at " : ", ") << place;
        std::cout << "\n";
    }
}

int check(const Arguments& arguments) {
    if (arguments.specs.empty()) throw Misuse("check: got no SPEC, expected at least one");
    nvalchemi::load_operator_libraries(arguments.libraries);
    bool good = true;
    json records = json::array();
    for (const auto& name : arguments.specs) {
        const auto verdict = check_one(arguments, name);
        good = good && verdict.error.empty();
        if (arguments.as_json)
            records.push_back(to_json(verdict));
        else
            print(verdict);
    }
    if (arguments.as_json) print(records);
    return good ? 0 : 1;
}

const std::string& only_spec(const Arguments& arguments) {
    if (arguments.specs.size() != 1)
        throw Misuse(arguments.verb + ": got " + std::to_string(arguments.specs.size()) +
                     " SPECs, expected one");
    return arguments.specs[0];
}

void print_warnings(const std::vector<std::string>& warnings) {
    for (const auto& warning : warnings) std::cerr << "warning: " << warning << "\n";
}

int show(const Arguments& arguments) {
    nvalchemi::load_operator_libraries(arguments.libraries);
    std::vector<std::string> warnings;
    const auto spec = read_spec(only_spec(arguments), arguments.lenient, warnings);
    print_warnings(warnings);
    std::cout << nvalchemi::write_mlip_spec(spec) << "\n";
    if (!arguments.archive.empty()) {
        std::cout << "\n" << load_model(arguments, spec).listing();
        return 0;
    }
    for (const auto& use : nvalchemi::explain_adapters(spec))
        std::cout << use.pointer << " " << use.target << ": " << use.action << "\n";
    return 0;
}

int canonical(const Arguments& arguments) {
    std::vector<std::string> warnings;
    const auto spec = read_spec(only_spec(arguments), arguments.lenient, warnings);
    print_warnings(warnings);
    std::cout << nvalchemi::write_mlip_spec(spec);
    return 0;
}

/// What no rewriting puts right must not stand in a file that looks migrated.
void refuse_what_strict_refuses(const std::string& text, const std::string& name) {
    try {
        nvalchemi::parse_mlip_spec(text, name);
    } catch (const nvalchemi::SpecError& error) {
        throw std::runtime_error(std::string(error.what()) +
                                 ". Nothing was written: correct this by hand first");
    }
}

std::string migrated(const std::string& name, std::vector<std::string>& warnings) {
    if (const auto* preset = nvalchemi::find_preset(name))
        return nvalchemi::write_mlip_spec(*preset);
    return nvalchemi::migrate_mlip_spec(read_spec_text(name), name, warnings);
}

int migrate(const Arguments& arguments) {
    const auto& name = only_spec(arguments);
    std::vector<std::string> warnings;
    const auto text = migrated(name, warnings);
    print_warnings(warnings);
    refuse_what_strict_refuses(text, name);
    if (arguments.output.empty())
        std::cout << text;
    else
        nvalchemi::write_file(arguments.output, text);
    return 0;
}

int diff(const Arguments& arguments) {
    if (arguments.specs.size() != 2)
        throw Misuse("diff: got " + std::to_string(arguments.specs.size()) +
                     " SPECs, expected two");
    std::vector<std::string> warnings;
    const auto left = read_spec(arguments.specs[0], arguments.lenient, warnings);
    const auto right = read_spec(arguments.specs[1], arguments.lenient, warnings);
    print_warnings(warnings);
    const auto differences = nvalchemi::spec_diff(left, right);
    json records = json::array();
    for (const auto& found : differences) {
        records.push_back(
            {{"pointer", found.pointer}, {"left", found.left}, {"right", found.right}});
        if (!arguments.as_json)
            std::cout << found.pointer << ": " << found.left << " -> " << found.right << "\n";
    }
    if (arguments.as_json) print(records);
    return differences.empty() ? 0 : 1;
}

int presets(const Arguments& arguments) {
    if (!arguments.specs.empty())
        throw Misuse("presets: got '" + arguments.specs[0] + "', expected nothing more");
    const auto names = nvalchemi::preset_names();
    if (arguments.as_json) print(json(names));
    for (const auto& name : names)
        if (!arguments.as_json) std::cout << name << "\n";
    return 0;
}

int run(const Arguments& arguments) {
    if (arguments.verb == "check") return check(arguments);
    if (arguments.verb == "show") return show(arguments);
    if (arguments.verb == "canonical") return canonical(arguments);
    if (arguments.verb == "migrate") return migrate(arguments);
    if (arguments.verb == "diff") return diff(arguments);
    if (arguments.verb == "presets") return presets(arguments);
    throw Misuse("got '" + arguments.verb +
                 "', expected check, show, canonical, migrate, diff or presets");
}

}  // namespace

int main(int argc, char** argv) {
    return nvalchemi::run_tool("nvalchemi-spec", kUsage, {argv + 1, argv + argc},
                               [](const auto& words) {
                                   nvalchemi::register_operators();
                                   return run(parse_arguments(words));
                               });
}
