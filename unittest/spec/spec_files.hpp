// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_SPEC_SPEC_FILES_HPP
#define NVALCHEMI_UNITTEST_SPEC_SPEC_FILES_HPP

#include <cstdlib>
#include <set>

#include "unittest/read_file.hpp"

namespace nvalchemi::testing {

/// Folder of spec files, with the folders "released", "early", "invalid" and "doubtful": what the
/// environment variable NVALCHEMI_SPEC_FILES names, else those of this repository.
inline std::filesystem::path spec_files_folder() {
    const char* const named = std::getenv("NVALCHEMI_SPEC_FILES");
    if (named && *named) return named;
    return std::filesystem::path(NVALCHEMI_SOURCE_DIR) / "unittest" / "spec" / "files";
}

/// The spec files of one of its folders by "folder/name", in the same order on every machine.
inline std::set<std::string> spec_files_in(const std::string& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(spec_files_folder() / folder)) {
        names.insert(folder + "/" + entry.path().filename().string());
    }
    return names;
}

/// The text of a spec file by "folder/name".
inline std::string read_spec_file(const std::string& name) {
    return read_file(spec_files_folder() / name);
}

}  // namespace nvalchemi::testing

#endif
