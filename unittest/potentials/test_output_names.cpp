// SPDX-License-Identifier: GPL-2.0-only
// Names of outputs in a distribution spec that the model has not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "potentials/session.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {

namespace {

const std::string LAYER = "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";

struct Loaded {
    std::string failure;  ///< empty: it was accepted
    std::vector<std::string> warnings;
};

/// A network whose one output is "energies", with a spec that has `fields` besides its policy.
Loaded load(const std::string& fields, bool lenient = false) {
    Loaded loaded;
    SessionOptions options;
    options.device = "cpu";
    options.card_text = scripted_card(
        "", R"(, "spec": {"version": 2, "core": {"policy": {"kind": "halo"}}, )" + fields + "}");
    options.card_path = "network.card.json";
    options.spec_reading = {lenient, &loaded.warnings};
    try {
        const Session session(scripted_archive(message_network(LAYER)), options);
    } catch (const std::exception& problem) {
        loaded.failure = problem.what();
    }
    return loaded;
}

void expect_text(const std::string& text, const std::vector<std::string>& parts) {
    for (const auto& part : parts)
        EXPECT_NE(text.find(part), std::string::npos) << "expected '" << part << "' in: " << text;
}

}  // namespace

TEST(OutputNames, SumsAreOfOutputsThatTheModelHas) {
    expect_text(load(R"("all_reduce_outputs": ["bond"])").failure,
                {"distribution spec /all_reduce_outputs: got \"bond\", which is no output of the "
                 "model, expected one of its keys (energies) or a name of a role (atomic_energies, "
                 "charges, energy, forces, stress, virial); correct it, or remove it from "
                 "all_reduce_outputs"});
    // of a role that this model gives nothing of: a spec for several models
    EXPECT_EQ(load(R"("all_reduce_outputs": ["stress"])").failure, "");
}

TEST(OutputNames, LenientReadingWarnsOfASumOfNothing) {
    const auto loaded = load(R"("all_reduce_outputs": ["bond"])", /*lenient=*/true);

    EXPECT_EQ(loaded.failure, "");
    ASSERT_EQ(loaded.warnings.size(), 1U);
    expect_text(loaded.warnings[0],
                {"got \"bond\", which is no output of the model", "it is ignored"});
}

TEST(OutputNames, ThatChangeNoNumberAreWarnedOf) {
    const auto loaded = load(
        R"("owned_only_outputs": ["atomic_energy", "forces"], "node_energy_key": "node_energy",
           "output_kinds": [["energies", "per_node"], ["site_energies", "per_node"]])");

    EXPECT_EQ(loaded.failure, "");
    ASSERT_EQ(loaded.warnings.size(), 3U);
    expect_text(
        loaded.warnings[0],
        {"/owned_only_outputs: got \"atomic_energy\", which is no output of", "it is ignored"});
    expect_text(loaded.warnings[1],
                {"/output_kinds: got \"site_energies\", which is no output of"});
    expect_text(loaded.warnings[2], {"/node_energy_key: got \"node_energy\", which is no output of",
                                     "one of its keys (energies)"});
}

}  // namespace nvalchemi
