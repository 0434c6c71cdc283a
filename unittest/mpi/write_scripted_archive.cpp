// SPDX-License-Identifier: GPL-2.0-only
// Writes a small scripted network, so that tests need no archive from elsewhere:
//
//     nvalchemi_write_scripted_archive NETWORK.pt [float32] < body
//
// The body is TorchScript text as described at message_network(). The card goes beside the archive.

#include <torch/script.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

#include "kernels/register_ops.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace {

void write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary);
    file << bytes;
    file.close();
    if (!file) throw std::runtime_error(path.string() + ": cannot be written");
}

std::string in_float32(const std::string& archive) {
    std::istringstream from(archive);
    auto module = torch::jit::load(from);
    module.to(torch::kFloat32);
    std::ostringstream to;
    module.save(to);
    return to.str();
}

void write_network(std::filesystem::path path, const std::string& body, bool float32) {
    auto archive = nvalchemi::scripted_archive(nvalchemi::message_network(body));
    auto card = nvalchemi::scripted_card();
    if (float32) {
        archive = in_float32(archive);
        card.replace(card.find("float64"), std::string("float64").size(), "float32");
    }
    write(path, archive);
    write(path.replace_extension(".card.json"), card);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        nvalchemi::register_operators();  // which a body may call
        const bool float32 = argc == 3 && std::string(argv[2]) == "float32";
        if (argc != 2 && !float32)
            throw std::invalid_argument(
                "expected the name of the archive to write, and nothing or "
                "float32");
        const std::string body{std::istreambuf_iterator<char>(std::cin), {}};
        write_network(argv[1], body, float32);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "nvalchemi_write_scripted_archive: " << error.what() << "\n";
        return 1;
    }
}
