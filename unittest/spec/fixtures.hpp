// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_SPEC_FIXTURES_HPP
#define NVALCHEMI_UNITTEST_SPEC_FIXTURES_HPP

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

namespace nvalchemi::testing {

/// Folder of model archives, cards and specs that are too large for the repository: what the
/// environment variable NVALCHEMI_FIXTURES says, else "../shared/fixtures" beside the repository.
/// Empty if there is none; a test that needs it is then skipped.
inline std::optional<std::filesystem::path> fixtures_folder() {
    const char* const variable = std::getenv("NVALCHEMI_FIXTURES");
    if (variable && *variable) return std::filesystem::path(variable);
    const auto beside =
        std::filesystem::path(NVALCHEMI_SOURCE_DIR).parent_path() / "shared" / "fixtures";
    if (std::filesystem::is_directory(beside)) return beside;
    return std::nullopt;
}

inline const char* const kNoFixtures =
    "no fixtures: set NVALCHEMI_FIXTURES to their folder to run this test";

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace nvalchemi::testing

#endif
