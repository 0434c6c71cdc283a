// SPDX-License-Identifier: GPL-2.0-only
// nvalchemi-evaluate: what an archive says about a structure, without LAMMPS and undecomposed.

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "potentials/model_card.hpp"
#include "potentials/reference_check.hpp"
#include "potentials/session.hpp"
#include "potentials/structure_file.hpp"
#include "potentials/tools/model_files.hpp"
#include "potentials/whole_system.hpp"

namespace {

using nlohmann::json;

constexpr const char* kUsage =
    "usage: nvalchemi-evaluate ARCHIVE [--card CARD.json] --case CASE.json [--output OUT.json]\n"
    "                          [--device cpu|cuda|cuda:N] [--charge Q] [--ops LIBRARY.so]\n"
    "\n"
    "Evaluate a model archive alone, undecomposed, on the structure of a case file (symbols, cell\n"
    "with lattice vectors as rows, pbc, positions; Angstrom; where the model takes more, charges\n"
    "and inputs: {name: number | list | list of lists}), or of an extended XYZ file, whose name\n"
    "ends in xyz, as the command nvalchemi/write writes it, and write energy, energies, forces,\n"
    "virial (-dE/dstrain) and stress (dE/dstrain / V, null unless periodic in three directions)\n"
    "as JSON, in eV and Angstrom, and the model's further outputs by key, in its own units: a row\n"
    "for each atom, or the values of the system.\n";

struct Arguments {
    std::string archive, card, structure, output;
    std::string device = "cpu", charge, library;
};

Arguments parse_arguments(const std::vector<std::string>& words) {
    Arguments arguments;
    for (std::size_t k = 0; k < words.size(); ++k) {
        const auto& word = words[k];
        auto* target = word == "--card"     ? &arguments.card
                       : word == "--case"   ? &arguments.structure
                       : word == "--output" ? &arguments.output
                       : word == "--device" ? &arguments.device
                       : word == "--charge" ? &arguments.charge
                       : word == "--ops"    ? &arguments.library
                                            : nullptr;
        if (target) {
            if (++k == words.size())
                throw std::invalid_argument(word + ": got nothing, expected a value");
            *target = words[k];
        } else if (word.rfind("--", 0) == 0 || !arguments.archive.empty()) {
            throw std::invalid_argument("got '" + word +
                                        "', expected one archive and the options "
                                        "--card, --case, --output, --device, --charge, --ops");
        } else {
            arguments.archive = word;
        }
    }
    if (arguments.archive.empty() || arguments.structure.empty())
        throw std::invalid_argument("got no archive or no --case, expected both");
    return arguments;
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

void evaluate(const Arguments& arguments) {
    const auto archive = nvalchemi::read_file(arguments.archive);
    auto options = nvalchemi::options_with_card(archive, arguments.archive, arguments.card);
    options.device = arguments.device;
    options.self_test = false;
    if (!arguments.charge.empty()) options.total_charge = nvalchemi::parse_charge(arguments.charge);
    if (!arguments.library.empty()) options.operator_libraries = {arguments.library};
    nvalchemi::Session session(archive, options);
    nvalchemi::check_reference(session);
    const auto system = nvalchemi::read_structure_file(arguments.structure, session.card());

    const auto document = to_document(system, nvalchemi::evaluate_whole(session, system));

    if (arguments.output.empty()) {
        std::cout << document.dump() << "\n";
        return;
    }
    std::ofstream output(arguments.output);
    output << document.dump() << "\n";
    output.close();
    if (!output) throw std::runtime_error(arguments.output + ": cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
    return nvalchemi::run_tool("nvalchemi-evaluate", kUsage, {argv + 1, argv + argc},
                               [](const auto& words) { evaluate(parse_arguments(words)); });
}
