// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_SPEC_SPEC_VERDICTS_HPP
#define NVALCHEMI_UNITTEST_SPEC_SPEC_VERDICTS_HPP

#include <nlohmann/json.hpp>
#include <vector>

#include "unittest/spec/spec_files.hpp"

namespace nvalchemi::testing {

inline constexpr const char* kLoads = "loads";

/// What becomes of one spec file.
struct SpecVerdict {
    std::string file;
    std::string strict;                 ///< kLoads, or the JSON pointer of what is refused
    std::string lenient;                ///< the same
    std::vector<std::string> warnings;  ///< JSON pointers of those of a reading that loads
    nlohmann::json read_as;             ///< JSON patch: how what is read differs from the text

    bool loads_if_lenient() const { return lenient == kLoads; }
};

/// All verdicts: those of verdicts.json beside the files, else of the file that the environment
/// variable NVALCHEMI_SPEC_VERDICTS names.
inline std::vector<SpecVerdict> spec_verdicts() {
    const char* const named = std::getenv("NVALCHEMI_SPEC_VERDICTS");
    const auto path =
        named && *named ? std::filesystem::path(named) : spec_files_folder() / "verdicts.json";
    const auto table = nlohmann::json::parse(read_file(path));
    std::vector<SpecVerdict> verdicts;
    for (const auto& [file, verdict] : table.items()) {
        verdicts.push_back({file, verdict.at("strict"), verdict.at("lenient"),
                            verdict.at("warnings"),
                            verdict.value("read_as", nlohmann::json::array())});
    }
    return verdicts;
}

}  // namespace nvalchemi::testing

#endif
