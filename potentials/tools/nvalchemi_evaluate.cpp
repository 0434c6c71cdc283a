// SPDX-License-Identifier: GPL-2.0-only
// nvalchemi-evaluate: what an archive says about a structure, without LAMMPS and undecomposed.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "potentials/model_card.hpp"
#include "potentials/reference_check.hpp"
#include "potentials/session.hpp"
#include "potentials/structure_file.hpp"
#include "potentials/tools/command_line.hpp"
#include "potentials/tools/model_files.hpp"
#include "potentials/whole_system.hpp"

namespace {

using nlohmann::json;
using nvalchemi::CommandLine;

constexpr const char* kUsage =
    "usage: nvalchemi-evaluate --archive M.pt --structure CASE.json|CASE.extxyz [--card C.json]\n"
    "                          [--output OUT.json] [--device cpu|cuda|cuda:N] [--charge Q]\n"
    "                          [--ops LIB.so]...\n"
    "\n"
    "Evaluate a model archive alone, undecomposed, on the structure of a case file (symbols, cell\n"
    "with lattice vectors as rows, pbc, positions; Angstrom; where the model takes more, charges\n"
    "and inputs: {name: number | list | list of lists}), or of an extended XYZ file, whose name\n"
    "ends in xyz, as the command nvalchemi/write writes it, and write energy, energies, forces,\n"
    "virial (-dE/dstrain) and stress (dE/dstrain / V, null unless periodic in three directions)\n"
    "as JSON, in eV and Angstrom, and the model's further outputs by key, in its own units: a row\n"
    "for each atom, or the values of the system.\n";

CommandLine parse_arguments(const std::vector<std::string>& words) {
    return CommandLine(
        words, {"--archive", "--structure", "--card", "--output", "--device", "--charge", "--ops"});
}

/// Also a word by itself, which was the only way once.
std::string archive_of(const CommandLine& line) {
    line.expect_others(line.has("--archive") ? 0 : 1);
    return line.others().empty() ? line.required("--archive") : line.others()[0];
}

json rows_of_three(const std::vector<double>& values) {
    json rows = json::array();
    for (std::size_t k = 0; k + 2 < values.size(); k += 3)
        rows.push_back({values[k], values[k + 1], values[k + 2]});
    return rows;
}

json rows_of(const std::vector<double>& values, std::int64_t width) {
    json rows = json::array();
    for (std::size_t k = 0; k < values.size(); k += static_cast<std::size_t>(width))
        rows.push_back(std::vector<double>(&values[k], &values[k] + width));
    return rows;
}

json to_document(const nvalchemi::WholeSystem& system, const nvalchemi::WholeEvaluation& whole) {
    json document = {{"units", "eV, Angstrom, eV/A^3"},
                     {"energy", whole.energy},
                     {"energies", whole.atomic_energies},
                     {"forces", rows_of_three(whole.forces)},
                     {"virial", nullptr},
                     {"stress", nullptr},
                     {"outputs", json::object()}};
    for (const auto& [key, output] : whole.extras)
        document["outputs"][key] =
            output.per_node ? rows_of(output.values, output.width) : json(output.values);
    if (!whole.has_virial) return document;
    std::vector<double> virial(whole.virial, whole.virial + 9);
    document["virial"] = rows_of_three(virial);
    if (system.periodic[0] && system.periodic[1] && system.periodic[2]) {
        for (auto& component : virial) component /= -system.volume();
        document["stress"] = rows_of_three(virial);
    }
    return document;
}

int evaluate(const CommandLine& line) {
    const auto path = archive_of(line), structure = line.required("--structure");
    const auto archive = nvalchemi::read_file(path);
    auto options = nvalchemi::options_with_card(archive, path, line.last("--card"));
    options.device = line.last("--device", "cpu");
    options.self_test = false;
    options.element_test = true;
    if (line.has("--charge")) options.total_charge = nvalchemi::parse_charge(line.last("--charge"));
    options.operator_libraries = line.all("--ops");
    nvalchemi::Session session(archive, options);
    nvalchemi::check_reference(session);
    const auto system = nvalchemi::read_structure_file(structure, session.card());

    const auto text = to_document(system, nvalchemi::evaluate_whole(session, system)).dump() + "\n";

    if (line.has("--output"))
        nvalchemi::write_file(line.last("--output"), text);
    else
        std::cout << text;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return nvalchemi::run_tool("nvalchemi-evaluate", kUsage, {argv + 1, argv + argc},
                               [](const auto& words) { return evaluate(parse_arguments(words)); });
}
