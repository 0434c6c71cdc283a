// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/tools/model_files.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

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

void write_file(const std::string& path, const std::string& bytes) {
    using std::filesystem::file_type;
    std::error_code ignored;
    const auto kind = std::filesystem::symlink_status(path, ignored).type();
    const bool whole = kind == file_type::regular || kind == file_type::not_found;
    const auto written = whole ? path + ".part" : path;
    std::ofstream file(written, std::ios::binary);
    file << bytes;
    file.close();
    std::error_code failed;
    if (file && whole) std::filesystem::rename(written, path, failed);
    if (file && !failed) return;
    if (whole) std::filesystem::remove(written, ignored);
    throw std::runtime_error(path + ": cannot be written; check the folder and its free space");
}

}  // namespace nvalchemi
