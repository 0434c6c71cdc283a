// SPDX-License-Identifier: GPL-2.0-only
// Reads and writes whole spec files, which an independent program wrote, and compares with the
// verdict on each.
#include <gtest/gtest.h>

#include "spec/parse_mlip_spec.hpp"
#include "spec/spec_error.hpp"
#include "spec/write_mlip_spec.hpp"
#include "unittest/spec/spec_verdicts.hpp"

namespace nvalchemi {

namespace {

using testing::kLoads;
using testing::read_spec_file;
using testing::spec_files_in;
using testing::spec_verdicts;
using testing::SpecVerdict;
using Json = nlohmann::json;

std::string verdict_on(const std::string& file, const ReadOptions& options) {
    try {
        parse_mlip_spec(read_spec_file(file), file, "", options);
    } catch (const SpecError& error) {
        return error.pointer().empty() ? "/" : error.pointer();
    }
    return kLoads;
}

MLIPSpec load(const std::string& file) {
    return parse_mlip_spec(read_spec_file(file), file, "", {true, nullptr});
}

/// The places that warnings speak of; each begins with "FILE POINTER: ".
std::vector<std::string> places_of(const std::vector<std::string>& warnings,
                                   const std::string& file) {
    std::vector<std::string> places;
    for (const std::string& warning : warnings) {
        const std::size_t start = warning.starts_with(file + " ") ? file.size() + 1 : 0;
        places.push_back(warning.substr(start, warning.find(": ") - start));
    }
    return places;
}

void add_missing(Json& object, const Json& members) {
    for (const auto& [key, value] : members.items()) {
        if (!object.contains(key)) object[key] = value;
    }
}

void complete_policy(Json& policy) {
    if (policy["kind"] == "halo") add_missing(policy, {{"scatter_mode", "halo_correction"}});
    if (policy["kind"] == "refresh_halo") add_missing(policy, {{"scatter_mode", "local"}});
    if (policy.contains("scatter_mode")) add_missing(policy, {{"gather_mode", "halo_read"}});
}

void complete_operator(Json& adapter) {
    add_missing(adapter,
                {{"arg_transforms", Json::object()}, {"output_transforms", Json::object()}});
    for (Json& transform : adapter["output_transforms"]) {
        if (transform["type"] == "all_reduce_sum") {
            add_missing(transform, {{"replicated_consumer", false}});
        }
    }
}

void complete_helper(Json& adapter) {
    if (adapter["kind"] == "module_forward") return;
    add_missing(adapter, {{"replacement", nullptr}});
    if (adapter["kind"] == "jit") add_missing(adapter, {{"mode", "eager"}});
    if (adapter["kind"] == "method") add_missing(adapter, {{"mode", "wrap"}});
}

/// With all that the released variant writes, and that a file may leave out.
Json in_released_form(Json spec) {
    add_missing(spec, {{"system_reductions", true},
                       {"node_energy_key", nullptr},
                       {"node_virial_key", nullptr},
                       {"gp_replicate_geometry", false},
                       {"owned_only_outputs", Json::array()},
                       {"all_reduce_outputs", Json::array()},
                       {"output_kinds", Json::array()},
                       {"compile", nullptr}});
    Json& core = spec["core"];
    add_missing(core, {{"custom_ops", Json::array()}, {"third_party_helpers", Json::array()}});
    complete_policy(core["policy"]);
    for (Json& adapter : core["custom_ops"]) complete_operator(adapter);
    for (Json& adapter : core["third_party_helpers"]) complete_helper(adapter);
    if (!spec["compile"].is_null()) {
        add_missing(spec["compile"], {{"static_shapes", true}, {"stress_via_strain", false}});
    }
    return spec;
}

}  // namespace

TEST(SpecFiles, EachHasAVerdictAndEachVerdictAFile) {
    std::set<std::string> files;
    for (const char* const folder : {"released", "early", "invalid", "doubtful"}) {
        const std::set<std::string> more = spec_files_in(folder);
        EXPECT_GE(more.size(), 20U) << folder;
        files.insert(more.begin(), more.end());
    }
    std::set<std::string> judged;
    for (const SpecVerdict& verdict : spec_verdicts()) judged.insert(verdict.file);

    EXPECT_EQ(judged, files);
}

TEST(SpecFiles, LoadOrAreRefusedAtTheExpectedPlace) {
    for (const SpecVerdict& verdict : spec_verdicts()) {
        EXPECT_EQ(verdict_on(verdict.file, {}), verdict.strict) << verdict.file;
        EXPECT_EQ(verdict_on(verdict.file, {true, nullptr}), verdict.lenient) << verdict.file;
    }
}

TEST(SpecFiles, AreWarnedOfAtTheExpectedPlaces) {
    for (const SpecVerdict& verdict : spec_verdicts()) {
        for (const bool lenient : {false, true}) {
            if ((lenient ? verdict.lenient : verdict.strict) != kLoads) continue;
            std::vector<std::string> warnings;
            EXPECT_EQ(verdict_on(verdict.file, {lenient, &warnings}), kLoads) << verdict.file;
            EXPECT_EQ(places_of(warnings, verdict.file), verdict.warnings) << verdict.file;
        }
    }
}

TEST(SpecFiles, ReleasedOnesAreWrittenByteForByte) {
    for (const std::string& file : spec_files_in("released")) {
        EXPECT_EQ(write_mlip_spec(load(file)), read_spec_file(file)) << file;
    }
}

TEST(SpecFiles, AreWrittenAsWhatTheyMeanInTheReleasedForm) {
    for (const SpecVerdict& verdict : spec_verdicts()) {
        if (!verdict.loads_if_lenient()) continue;
        const Json meant = Json::parse(read_spec_file(verdict.file)).patch(verdict.read_as);
        EXPECT_EQ(Json::parse(write_mlip_spec(load(verdict.file))), in_released_form(meant))
            << verdict.file;
    }
}

TEST(SpecFiles, AreTheSameAfterASecondRewrite) {
    for (const SpecVerdict& verdict : spec_verdicts()) {
        if (!verdict.loads_if_lenient()) continue;
        const MLIPSpec spec = load(verdict.file);
        const std::string first = write_mlip_spec(spec);
        const MLIPSpec again = parse_mlip_spec(first, verdict.file, "", {true, nullptr});
        EXPECT_EQ(again, spec) << verdict.file;
        EXPECT_EQ(write_mlip_spec(again), first) << verdict.file;
    }
}

TEST(SpecFiles, WithoutACompileKeyAreMigratedWithAWarning) {
    int migrated = 0;
    for (const SpecVerdict& verdict : spec_verdicts()) {
        const std::string& name = verdict.file;
        if (!name.starts_with("early/") || verdict.strict != kLoads || !verdict.warnings.empty()) {
            continue;
        }
        const std::string text = read_spec_file(name);
        if (Json::parse(text).contains("compile")) continue;
        std::vector<std::string> warnings;

        const std::string written = migrate_mlip_spec(text, name, warnings);

        EXPECT_EQ(Json::parse(written)["compile"], nullptr) << name;
        EXPECT_EQ(warnings,
                  std::vector<std::string>{
                      name +
                      " /: got no key \"compile\", which early files cannot have; written as null, "
                      "that is the model differentiates itself (set it if the plugin is to "
                      "differentiate the energy)"});
        ++migrated;
    }
    EXPECT_GE(migrated, 20);
}

}  // namespace nvalchemi
