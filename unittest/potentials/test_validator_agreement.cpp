// SPDX-License-Identifier: GPL-2.0-only
// No false alarm: right models in right parts agree with themselves undecomposed.
#include <gtest/gtest.h>

#include <cmath>

#include "potentials/validator/companion.hpp"
#include "potentials/validator/finite_differences.hpp"
#include "potentials/validator/partition.hpp"
#include "unittest/models/test_archives.hpp"
#include "unittest/potentials/test_validator_support.hpp"

namespace nvalchemi {

namespace {

using namespace testing;

void expect_agreement(ValidationRequest request, int ranks) {
    request.ranks = ranks;
    const auto report = validate_in_parts(request);
    EXPECT_TRUE(report.ok) << ranks << " ranks\n" << summarize(report);
    EXPECT_TRUE(report.evidence.trace.same_on_all_ranks);
}

/// Parts that no cut makes: atoms dealt out like cards, and none for the last rank.
std::vector<int> dealt(std::int64_t atoms, int ranks) {
    std::vector<int> owners;
    for (std::int64_t atom = 0; atom < atoms; ++atom)
        owners.push_back(static_cast<int>((atom * 7 + atom / 5) % (ranks - 1)));
    return owners;
}

}  // namespace

TEST(ValidatorAgreement, OfNetworks) {
    for (const auto& body : {kLayer, kLayer + kLayer + kLayer, kSenderSum + kLayer,
                             kLayer + kSystemSum + kLayer, kLayer + kGate + kLayer})
        for (const int ranks : {1, 2, 3, 4}) expect_agreement(scripted_request(body), ranks);
    expect_agreement(
        scripted_request(kPush + kTotal + kPull,
                         with_ops({adapter("push", "", kScatter), adapter("total", kSlice, kReduce),
                                   adapter("pull", "", "")})),
        4);
}

TEST(ValidatorAgreement, OfOpenAndMixedBoundaries) {
    for (int open = 0; open < 8; ++open) {
        auto request = scripted_request(kLayer + kSystemSum + kLayer);
        for (int axis = 0; axis < 3; ++axis)
            request.system.periodic[axis] = (open >> axis & 1) == 0;
        expect_agreement(request, 3);
    }
}

TEST(ValidatorAgreement, OfPartsThatNoCutMakes) {
    auto request = scripted_request(kLayer + kLayer);
    request.owners = dealt(request.system.size(), 4);
    expect_agreement(request, 4);
}

TEST(ValidatorAgreement, InSinglePrecision) {
    auto request = scripted_request(kLayer + kLayer);
    auto& card = *request.session.card_text;
    card.replace(card.find("float64"), 7, "float32");
    ScriptedModel model{message_network(kLayer + kLayer), {}, {}};
    const std::string cast = "    h = self.e[data['types']]\n";
    for (const char* name : {"self.u", "self.e", "self.w", "self.rc"}) {
        const std::string to = std::string(name) + ".float()";
        for (auto at = model.methods.find(name); at != std::string::npos;
             at = model.methods.find(name, at + to.size()))
            model.methods.replace(at, std::string(name).size(), to);
    }
    request.archive = scripted_archive(model);
    for (const int ranks : {1, 2, 4}) expect_agreement(request, ranks);
}

TEST(ValidatorAgreement, OfArchives) {
    const struct {
        const char *archive, *structures;
    } models[] = {{"toy_index_add", "toy"},
                  {"toy_index_put", "toy"},
                  {"toy_scatter_add", "toy"},
                  {"toy_scatter_reduce", "toy"},
                  {"mace_rand_f64", "mace_rand"},
                  {"mace_rand_f64_energy", "mace_rand"},
                  {"nequip_rand_f64", "nequip_rand"},
                  {"nequip_rand_f64_energy", "nequip_rand"},
                  {"allegro_rand_f64_energy", "allegro_rand"},
                  {"orb_rand_f64", "orb_rand"},
                  {"d3bj_pbe", "d3bj_pbe"},
                  {"d3bj_pbe_fused", "d3bj_pbe"}};
    for (const auto& model : models)
        for (const char* lattice : {"_nacl64", "_si64"})
            for (const int ranks : {1, 2, 3, 4})
                expect_agreement(
                    archive_request(model.archive, std::string(model.structures) + lattice), ranks);
}

TEST(ValidatorAgreement, OfSevenNet0) {
    if (!test_archives().contains("sevennet_0_f64"))
        GTEST_SKIP() << "sevennet_0_f64: not made here; bash unittest/run.sh makes it";
    expect_agreement(archive_request("sevennet_0_f64", "sevennet_0_nacl64"), 2);
}

TEST(Bisect, MakesUnequalPartsOfAllAtoms) {
    const auto system = shaken_grid();
    for (const int ranks : {1, 2, 3, 5, 8}) {
        std::vector<int> sizes(static_cast<std::size_t>(ranks), 0);
        for (const int owner : bisect(system, ranks)) ++sizes.at(static_cast<std::size_t>(owner));
        for (const int size : sizes) EXPECT_GT(size, 0) << ranks << " ranks";
        EXPECT_TRUE(ranks == 1 || sizes.front() != sizes.back());
    }
}

TEST(Bisect, LeavesRanksEmptyWhereThereAreTooFewAtoms) {
    WholeSystem system;
    system.species = {0};
    system.positions = {0, 0, 0};
    system.cell[0] = system.cell[4] = system.cell[8] = 10;
    EXPECT_EQ(bisect(system, 3).size(), 1u);
}

TEST(Companion, HasPartsThatDoNotSeeAll) {
    const auto request = scripted_request(kLayer);
    const auto card = parse_model_card(*request.session.card_text, "card");
    const auto system = companion_system(card);
    ASSERT_EQ(companion_owners().size(), static_cast<std::size_t>(system.size()));
    const auto parts = make_virtual_parts(system, card, companion_owners(), kCompanionRanks);
    const auto health = judge_partition(system, card.cutoff, parts);
    EXPECT_FALSE(health.sees_everything);
    EXPECT_EQ(health.empty_parts, 1);
    for (int rank = 0; rank < 3; ++rank) EXPECT_GT(health.parts[rank].halo, 0);
}

TEST(CheckSlopes, AgreesWithAModelThatConservesEnergy) {
    auto request = scripted_request(kLayer + kLayer);
    request.finite_difference_atoms = 2;
    request.ranks = 2;
    const auto report = validate_in_parts(request);
    ASSERT_TRUE(report.finite_differences);
    EXPECT_TRUE(report.finite_differences->forces_are_slopes) << summarize(report);
    EXPECT_TRUE(report.finite_differences->virial_is_slope) << summarize(report);
    EXPECT_EQ(report.finite_differences->components.size(), 12u);
}

TEST(CheckSlopes, NamesAModelThatDetachesAPartOfItsEnergy) {
    auto request = scripted_request(kLayer +
                                    "    h = h + torch.zeros_like(h).index_add(0, i, "
                                    "(h[j] * m).detach())\n");
    request.finite_difference_atoms = 2;
    const auto report = validate_in_parts(request);
    EXPECT_TRUE(report.ok) << summarize(report);  // the decomposition is not to blame
    ASSERT_FALSE(report.diagnostics.empty());
    EXPECT_EQ(report.diagnostics[0].symptom, "non_conservative_forces");
    EXPECT_NE(report.next_action.find("not the slopes of its energy"), std::string::npos);
    EXPECT_NE(report.next_action.find("the decomposition is right"), std::string::npos);
}

}  // namespace nvalchemi
