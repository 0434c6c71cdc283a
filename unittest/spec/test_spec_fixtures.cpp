// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "spec/parse_mlip_spec.hpp"
#include "spec/write_mlip_spec.hpp"
#include "unittest/spec/fixture_verdicts.hpp"
#include "unittest/spec/fixtures.hpp"
#include "unittest/spec/refusal.hpp"

namespace nvalchemi {

namespace {

using testing::kLoads;
using Json = nlohmann::json;

std::string verdict_on(const std::filesystem::path& path, const ReadOptions& options) {
    try {
        parse_mlip_spec(testing::read_file(path), path.filename().string(), "", options);
    } catch (const SpecError& error) {
        return error.pointer().empty() ? "/" : error.pointer();
    }
    return kLoads;
}

MLIPSpec load(const std::filesystem::path& path) {
    return parse_mlip_spec(testing::read_file(path), path.filename().string(), "", {true, nullptr});
}

/// All spec files of one folder of the fixtures, by "folder/name".
std::set<std::string> files_in(const std::filesystem::path& fixtures, const std::string& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(fixtures / "specs" / folder)) {
        names.insert(folder + "/" + entry.path().filename().string());
    }
    return names;
}

/// What a file of the early variant would have had in the released one.
Json in_released_form(Json spec) {
    if (!spec.contains("compile")) spec["compile"] = nullptr;
    for (Json& adapter : spec["core"]["custom_ops"]) {
        for (Json& transform : adapter["output_transforms"]) {
            if (transform["type"] == "all_reduce_sum" && !transform.contains("replicated_consumer"))
                transform["replicated_consumer"] = false;
        }
    }
    return spec;
}

}  // namespace

TEST(SpecFixtures, EachFileLoadsOrIsRefusedAtTheExpectedPlace) {
    const auto folder = testing::fixtures_folder();
    if (!folder) GTEST_SKIP() << testing::kNoFixtures;

    for (const auto& [file, strict, lenient, count] : testing::kFixtureVerdicts) {
        std::vector<std::string> warnings;
        EXPECT_EQ(verdict_on(*folder / "specs" / file, {}), strict) << file;
        EXPECT_EQ(verdict_on(*folder / "specs" / file, {true, &warnings}), lenient) << file;
        EXPECT_EQ(warnings.size(), static_cast<std::size_t>(count)) << file;
    }
}

TEST(SpecFixtures, EveryFileOfAFolderMeetsItsRule) {
    const auto folder = testing::fixtures_folder();
    if (!folder) GTEST_SKIP() << testing::kNoFixtures;
    // Valid as a text: see the table of verdicts.
    const std::set<std::string> valid = {"invalid/op_unregistered.json",
                                         "doubtful/helper_unresolvable_replacement.json",
                                         "doubtful/output_transform_replicated_consumer.json"};

    for (const std::string kind : {"released", "early", "invalid", "doubtful"}) {
        const std::set<std::string> files = files_in(*folder, kind);
        EXPECT_FALSE(files.empty()) << kind;
        for (const std::string& file : files) {
            const auto path = *folder / "specs" / file;
            if (valid.contains(file) || kind == "released" || kind == "early") {
                EXPECT_EQ(verdict_on(path, {true, nullptr}), kLoads) << file;
            } else {
                EXPECT_NE(verdict_on(path, {}), kLoads) << file;
            }
            if (kind == "invalid" && !valid.contains(file)) {
                EXPECT_NE(verdict_on(path, {true, nullptr}), kLoads) << file;
            }
        }
    }
}

TEST(SpecFixtures, ReleasedFilesAreWrittenByteForByte) {
    const auto folder = testing::fixtures_folder();
    if (!folder) GTEST_SKIP() << testing::kNoFixtures;

    for (const std::string& file : files_in(*folder, "released")) {
        const auto path = *folder / "specs" / file;
        EXPECT_EQ(write_mlip_spec(load(path)), testing::read_file(path)) << file;
    }
}

TEST(SpecFixtures, EarlyFilesAreWrittenInTheReleasedForm) {
    const auto folder = testing::fixtures_folder();
    if (!folder) GTEST_SKIP() << testing::kNoFixtures;

    for (const std::string& file : files_in(*folder, "early")) {
        // The one file of the early folder whose meaning is not its text: the modes act as "local".
        if (file == "early/policy_halo_bogus_mode.json") continue;
        const auto path = *folder / "specs" / file;
        const Json written = Json::parse(write_mlip_spec(load(path)));
        EXPECT_EQ(written, in_released_form(Json::parse(testing::read_file(path)))) << file;
    }
}

TEST(SpecFixtures, TheSecondRewriteIsTheFirst) {
    const auto folder = testing::fixtures_folder();
    if (!folder) GTEST_SKIP() << testing::kNoFixtures;

    for (const auto& [file, strict, lenient, warnings] : testing::kFixtureVerdicts) {
        if (std::string(lenient) != kLoads) continue;
        const MLIPSpec spec = load(*folder / "specs" / file);
        const std::string first = write_mlip_spec(spec);
        const MLIPSpec again = parse_mlip_spec(first, file, "", {true, nullptr});
        EXPECT_EQ(again, spec) << file;
        EXPECT_EQ(write_mlip_spec(again), first) << file;
    }
}

TEST(SpecFixtures, MigrationWarnsOfAForceStrategyThatTheFileCannotHave) {
    const auto folder = testing::fixtures_folder();
    if (!folder) GTEST_SKIP() << testing::kNoFixtures;
    const std::string name = "compile_framework_from_global_energy.json";
    std::vector<std::string> warnings;

    const std::string written =
        migrate_mlip_spec(testing::read_file(*folder / "specs" / "early" / name), name, warnings);

    EXPECT_EQ(Json::parse(written)["compile"], nullptr);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0],
              name +
                  " /: got no key \"compile\", which early files cannot have; written as null, "
                  "that is the model differentiates itself (set it if the plugin is to "
                  "differentiate the energy)");
}

}  // namespace nvalchemi
