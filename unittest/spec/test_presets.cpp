// SPDX-License-Identifier: GPL-2.0-only
#include "spec/presets.hpp"

#include <gtest/gtest.h>

#include <set>

#include "spec/parse_mlip_spec.hpp"
#include "spec/write_mlip_spec.hpp"
#include "unittest/read_file.hpp"

namespace nvalchemi {

namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(NVALCHEMI_SOURCE_DIR) / "spec" / "presets";
const std::filesystem::path kWritten =
    std::filesystem::path(NVALCHEMI_SOURCE_DIR) / "unittest" / "spec" / "files" / "released";

}  // namespace

TEST(Presets, AreFoundByName) {
    EXPECT_EQ(preset_names(), (std::vector<std::string>{
                                  "SPEC_MPNN_HALO", "SPEC_LJ_HALO", "SPEC_UMA_HALO",
                                  "SPEC_EWALD_HALO", "SPEC_PME_HALO", "SPEC_DFTD3_HALO",
                                  "SPEC_UMA_REFRESH_HALO", "SPEC_AIMNET2_HALO", "SPEC_MPNN_GP"}));
    for (const std::string& name : preset_names()) EXPECT_NE(find_preset(name), nullptr) << name;
    EXPECT_EQ(find_preset("spec_mpnn_halo"), nullptr);
    EXPECT_EQ(find_preset(""), nullptr);
}

TEST(Presets, AreTheFilesBesideThem) {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
        files.insert(entry.path().stem().string());
    }

    const std::vector<std::string> names = preset_names();
    EXPECT_EQ(files, std::set<std::string>(names.begin(), names.end()));
    for (const std::string& name : names) {
        const std::string text = testing::read_file(kFolder / (name + ".json"));
        EXPECT_EQ(text, write_mlip_spec(*find_preset(name))) << name;
        EXPECT_EQ(parse_mlip_spec(text, name), *find_preset(name)) << name;
    }
}

TEST(Presets, DeclareTheCommonOutputsUnderHaloStorage) {
    MLIPSpec expected;
    expected.output_kinds = {{"atomic_energies", OutputKind::PerNode},
                             {"energy", OutputKind::PerGraph},
                             {"forces", OutputKind::PerNode},
                             {"stress", OutputKind::PerGraph}};

    for (const char* name : {"SPEC_MPNN_HALO", "SPEC_LJ_HALO", "SPEC_UMA_HALO", "SPEC_EWALD_HALO",
                             "SPEC_PME_HALO", "SPEC_DFTD3_HALO"}) {
        EXPECT_EQ(*find_preset(name), expected) << name;
    }
}

TEST(Presets, AreWhatAnotherProgramWroteOfThem) {
    for (const std::string& name : preset_names()) {
        EXPECT_EQ(write_mlip_spec(*find_preset(name)),
                  testing::read_file(kWritten / ("preset_" + name + ".json")))
            << name;
    }
}

}  // namespace nvalchemi
