// SPDX-License-Identifier: GPL-2.0-only
// nvalchemi-compose: several archives as one, whose energy is the sum of theirs.

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "potentials/composition/compose_archives.hpp"
#include "potentials/tools/model_files.hpp"

namespace {

constexpr const char* kUsage =
    "usage: nvalchemi-compose A.pt B.pt [...] -o C.pt [--name NAME] [--ops LIB.so]...\n"
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
    Arguments arguments;
    for (std::size_t k = 0; k < words.size(); ++k) {
        const auto& word = words[k];
        if (word[0] != '-') {
            arguments.parts.push_back(word);
            continue;
        }
        if (word != "-o" && word != "--output" && word != "--name" && word != "--ops")
            throw std::invalid_argument("got '" + word +
                                        "', expected archives and the options -o, --name, --ops");
        if (++k == words.size())
            throw std::invalid_argument(word + ": got nothing, expected a value");
        if (word == "--ops")
            arguments.libraries.push_back(words[k]);
        else
            (word == "--name" ? arguments.name : arguments.output) = words[k];
    }
    if (arguments.parts.size() < 2)
        throw std::invalid_argument("got " + std::to_string(arguments.parts.size()) +
                                    " archives, expected two or more");
    if (arguments.output.empty()) throw std::invalid_argument("got no -o, expected a file name");
    if (arguments.name.empty())
        arguments.name = std::filesystem::path(arguments.output).stem().string();
    return arguments;
}

/// The file appears whole or not at all.
void write_file(const std::string& path, const std::string& bytes) {
    const auto part = path + ".part";
    std::ofstream file(part, std::ios::binary);
    file << bytes;
    file.close();
    if (!file) throw std::runtime_error(path + ": cannot be written");
    std::filesystem::rename(part, path);
}

void compose(const Arguments& arguments) {
    std::vector<nvalchemi::ArchiveToCompose> parts;
    for (const auto& path : arguments.parts) {
        nvalchemi::ArchiveToCompose part;
        part.bytes = nvalchemi::read_file(path);
        part.options = nvalchemi::options_with_card(part.bytes, path, "");
        part.options.operator_libraries = arguments.libraries;
        parts.push_back(std::move(part));
    }
    const auto composed = nvalchemi::compose_archives(parts, arguments.name);
    write_file(arguments.output, composed.bytes);
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
}

}  // namespace

int main(int argc, char** argv) {
    return nvalchemi::run_tool("nvalchemi-compose", kUsage, {argv + 1, argv + argc},
                               [](const auto& words) { compose(parse_arguments(words)); });
}
