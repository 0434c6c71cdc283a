// SPDX-License-Identifier: GPL-2.0-only
// nvalchemi-compose: several archives as one, whose energy is the sum of theirs.

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "potentials/composition/compose_archives.hpp"
#include "potentials/tools/command_line.hpp"
#include "potentials/tools/model_files.hpp"

namespace {

constexpr const char* kUsage =
    "usage: nvalchemi-compose A.pt B.pt [...] --output C.pt [--name NAME] [--ops LIB.so]...\n"
    "\n"
    "Write one archive whose energy is the sum of the energies of the given ones. Each part keeps\n"
    "its cutoff: it sees the edges within it. Charges that one part returns are what the others\n"
    "read. The composition is run in parts and compared with the sum of its parts before it is\n"
    "written.\n";

struct Arguments {
    std::vector<std::string> parts, libraries;
    std::string output, name;
};

Arguments parse_arguments(const std::vector<std::string>& words) {
    const nvalchemi::CommandLine line(words, {"--output", "--name", "--ops"});
    const auto& parts = line.others();
    if (parts.size() < 2)
        throw nvalchemi::Misuse("got " + std::to_string(parts.size()) +
                                " archives, expected two or more");
    const auto output = line.required("--output");
    return {parts, line.all("--ops"), output,
            line.last("--name", std::filesystem::path(output).stem().string())};
}

int compose(const Arguments& arguments) {
    std::vector<nvalchemi::ArchiveToCompose> parts;
    for (const auto& path : arguments.parts) {
        nvalchemi::ArchiveToCompose part;
        part.bytes = nvalchemi::read_file(path);
        part.options = nvalchemi::options_with_card(part.bytes, path, "");
        part.options.operator_libraries = arguments.libraries;
        parts.push_back(std::move(part));
    }
    const auto composed = nvalchemi::compose_archives(parts, arguments.name);
    nvalchemi::write_file(arguments.output, composed.bytes);
    const auto card = nvalchemi::parse_model_card(composed.card, arguments.output);
    std::cout << "wrote " << arguments.output << ": " << parts.size() << " models, "
              << card.species.size() << " elements, cutoff " << card.cutoff << " A, " << card.dtype
              << "\n";
    if (composed.energy_difference >= 0)
        std::cout << "differences from the sum of its parts on a small structure: "
                  << composed.energy_difference << " eV, " << composed.force_difference
                  << " eV/Angstrom\n";
    else
        std::cout << "charges go from one part to others; not compared with the parts alone\n";
    std::cout << composed.listing;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return nvalchemi::run_tool("nvalchemi-compose", kUsage, {argv + 1, argv + argc},
                               [](const auto& words) { return compose(parse_arguments(words)); });
}
