// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_MODELS_TEST_ARCHIVES_HPP
#define NVALCHEMI_UNITTEST_MODELS_TEST_ARCHIVES_HPP

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "unittest/read_file.hpp"

namespace nvalchemi::testing {

/// Model archives of the tests by name, made by make_models.py: the committed ones and, where the
/// environment variable NVALCHEMI_TEST_MODELS names their folder, those made on this machine.
/// Beside each NAME.pt stand its card NAME.card.json and cases such as toy_nacl64.json.
inline std::map<std::string, std::filesystem::path> test_archives() {
    std::map<std::string, std::filesystem::path> found;
    const auto add = [&](const std::filesystem::path& folder) {
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            if (entry.path().extension() == ".pt")
                found[entry.path().stem().string()] = entry.path();
    };
    add(std::filesystem::path(NVALCHEMI_SOURCE_DIR) / "unittest" / "models" / "archives");
    const char* const made = std::getenv("NVALCHEMI_TEST_MODELS");
    if (made && *made) add(made);
    return found;
}

/// The card of an archive.
inline std::filesystem::path card_beside(std::filesystem::path archive) {
    return archive.replace_extension(".card.json");
}

}  // namespace nvalchemi::testing

#endif
