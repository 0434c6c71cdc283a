// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_SPEC_FIXTURES_HPP
#define NVALCHEMI_UNITTEST_SPEC_FIXTURES_HPP

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "unittest/read_file.hpp"

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

}  // namespace nvalchemi::testing

#endif
