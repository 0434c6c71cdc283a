// SPDX-License-Identifier: GPL-2.0-only
// Writes a small scripted network, so that tests need no archive from elsewhere:
//
//     nvalchemi_write_scripted_archive NETWORK.pt < body
//
// The body is TorchScript text as described at message_network(). The card goes beside the archive.

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "unittest/potentials/scripted_network.hpp"

namespace {

void write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary);
    file << bytes;
    file.close();
    if (!file) throw std::runtime_error(path.string() + ": cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 2) throw std::invalid_argument("expected the name of the archive to write");
        const std::string body{std::istreambuf_iterator<char>(std::cin), {}};
        std::filesystem::path path(argv[1]);
        write(path, nvalchemi::scripted_archive(nvalchemi::message_network(body)));
        write(path.replace_extension(".card.json"), nvalchemi::scripted_card());
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "nvalchemi_write_scripted_archive: " << error.what() << "\n";
        return 1;
    }
}
