// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/tools/model_files.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace nvalchemi {

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path))
        throw std::runtime_error(path + ": cannot be read; check the path");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

SessionOptions options_with_card(const std::string& bytes, const std::string& path,
                                 const std::string& card) {
    SessionOptions options;
    options.path = path;
    options.card_path = card;
    if (card.empty() && !read_embedded_card(bytes, path)) {
        const auto beside = std::filesystem::path(path).replace_extension(".card.json");
        if (std::filesystem::exists(beside)) options.card_path = beside.string();
    }
    if (!options.card_path.empty()) options.card_text = read_file(options.card_path);
    return options;
}

double parse_charge(const std::string& word) {
    double charge = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, charge);
    if (error == std::errc() && stop == end && std::isfinite(charge)) return charge;
    throw std::runtime_error("--charge: got '" + word +
                             "', expected the total charge of the system, a number in e");
}

int run_tool(const std::string& name, const std::string& usage,
             const std::vector<std::string>& words,
             const std::function<void(const std::vector<std::string>&)>& run) {
    if (words.empty() || words[0] == "--help" || words[0] == "-h") {
        (words.empty() ? std::cerr : std::cout) << usage;
        return words.empty() ? 2 : 0;
    }
    try {
        run(words);
        return 0;
    } catch (const std::invalid_argument& error) {
        std::cerr << name << ": " << error.what() << "\n" << usage;
        return 2;
    } catch (const std::exception& error) {
        std::cerr << name << ": " << error.what() << "\n";
        return 1;
    }
}

}  // namespace nvalchemi
