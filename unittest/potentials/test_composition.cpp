// SPDX-License-Identifier: GPL-2.0-only
// Compositions of small networks: the sum of their parts, in parts of the system, and what is
// refused.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>

#include "potentials/composition/compose_archives.hpp"
#include "potentials/composition/composition.hpp"
#include "spec/compose_mlip_specs.hpp"
#include "unittest/kernels/expect_contains.hpp"
#include "unittest/potentials/card_text.hpp"
#include "unittest/potentials/form_outcome.hpp"
#include "unittest/potentials/parts_comparison.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {
namespace {

using testing::json;
using testing::replaced;

const std::string kTwoLayers = message_network(R"(
    h = torch.zeros_like(h).index_add(0, i, m * h[j])
    h = h + torch.zeros_like(h).index_add(0, i, m * torch.tanh(h @ self.w)[j]))");
const std::string kOneLayer = message_network(R"(
    h = torch.zeros_like(h).index_add(0, i, torch.sin(m) * h[j] * 0.8))");

ArchiveToCompose archive(const std::string& methods, const std::string& card = scripted_card()) {
    ArchiveToCompose result;
    result.bytes = scripted_archive(methods);
    result.options.path = "part.pt";
    result.options.card_text = card;
    result.options.card_path = "part.card.json";
    return result;
}

std::string with_cutoff(const std::string& cutoff, const std::string& card = scripted_card()) {
    return replaced(card, "'cutoff': 5.0", "'cutoff': " + cutoff);
}

/// Source text with a part, which must be there, replaced.
std::string rewritten(std::string text, const std::string& from, const std::string& to) {
    const auto place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

std::unique_ptr<Session> load(const std::string& bytes, bool self_test = false) {
    SessionOptions options;
    options.path = "composed.pt";
    options.device = "cpu";
    options.self_test = self_test;
    return std::make_unique<Session>(bytes, options);
}

std::unique_ptr<Session> load_part(const ArchiveToCompose& part) {
    auto options = part.options;
    options.device = "cpu";
    options.self_test = false;
    return std::make_unique<Session>(part.bytes, options);
}

/// The composition in parts of test structures against itself undecomposed.
void expect_right_in_parts(const std::vector<ArchiveToCompose>& parts) {
    const auto composed = compose_archives(parts, "sum");
    const auto session = load(composed.bytes);
    const auto found = difference_in_parts(*session, test_structures(session->card()));
    EXPECT_LT(found.relative, kRounding) << found.where << "\n" << session->listing();
}

TEST(Composition, EnergyAndForcesAreSumsOverParts) {
    const std::vector<ArchiveToCompose> parts{archive(kTwoLayers), archive(kOneLayer)};

    const auto composed = compose_archives(parts, "sum");

    EXPECT_GE(composed.energy_difference, 0);
    EXPECT_LT(composed.energy_difference, 1e-12);
    EXPECT_LT(composed.force_difference, 1e-12);
}

TEST(Composition, HandsOnWhatAPartSaysOfTheSystem) {
    const auto total = rewritten(kOneLayer, ".sum(1) * 0.5}", ".sum(1) * 0.5, 'total': h.sum(0)}");
    auto card = replaced(scripted_card(), "'outputs': {",
                         "'outputs': {'total': {'role': 'other', 'kind': 'per_graph', 'shape': "
                         "'(4)'}, ");
    card = replaced(card, "'ops': []", "'ops': [], 'expected_exchanges': 1");
    const std::vector<ArchiveToCompose> parts{archive(total, card), archive(kTwoLayers)};

    EXPECT_NE(compose_archives(parts, "sum").card.find("scripted.total"), std::string::npos);
    expect_right_in_parts(parts);
}

TEST(Composition, EachPartSeesEdgesWithinItsOwnCutoff) {
    const std::vector<ArchiveToCompose> parts{archive(kTwoLayers, with_cutoff("3.1")),
                                              archive(kOneLayer)};
    const auto composed = compose_archives(parts, "sum");
    const auto session = load(composed.bytes);
    const auto one = load_part(parts[0]), other = load_part(parts[1]);
    const auto structure = sample_structure(session->card());
    auto narrow = structure;
    const bool periodic[3] = {true, true, true};
    narrow.edges = neighbor_search(narrow.positions, narrow.cell, periodic, 3.1);
    ASSERT_LT(narrow.edges.size(), structure.edges.size());

    const auto sum = undecomposed(*session, structure).energies.back();
    const auto own = undecomposed(*one, narrow).energies.back();
    const auto too_wide = undecomposed(*one, structure).energies.back();
    const auto rest = undecomposed(*other, structure).energies.back();

    EXPECT_NEAR(sum, own + rest, 1e-12);
    EXPECT_GT(std::abs(sum - too_wide - rest), 1e-3);
}

TEST(Composition, IsRightInPartsOfTheSystem) {
    for (const char* cutoff : {"5.0", "4.0", "2.5"}) {
        SCOPED_TRACE(cutoff);
        expect_right_in_parts({archive(kTwoLayers, with_cutoff(cutoff)), archive(kOneLayer)});
    }
}

TEST(Composition, OneArchiveMayBeTwoParts) {
    const std::vector<ArchiveToCompose> parts{archive(kTwoLayers), archive(kTwoLayers)};

    const auto composed = compose_archives(parts, "twice");

    const auto card = parse_model_card(composed.card, "c.json");
    EXPECT_EQ(card.expected_exchanges, std::nullopt);
    EXPECT_EQ(card.outputs[2].key, "scripted_2.atomic_energies");
    expect_right_in_parts(parts);
}

TEST(Composition, PartsMayHaveReceiversInEitherRow) {
    auto turned = message_network(R"(
    h = torch.zeros_like(h).index_add(0, j, torch.tanh(-(vec @ self.u)) * fc * h[i])
    h = h + torch.zeros_like(h).index_add(0, j, torch.sin(m) * torch.tanh(h @ self.w)[i]))");
    const auto card = replaced(scripted_card(), "'receiver_row': 0, 'sender_row': 1",
                               "'receiver_row': 1, 'sender_row': 0");

    expect_right_in_parts({archive(kTwoLayers), archive(turned, card)});
}

TEST(Composition, PartsMayWantAnotherFormOfTheirInputs) {
    const std::string positional = R"(
def forward(self, one_hot: Tensor, pairs: Tensor, vectors: Tensor, scale: float):
    i = pairs[:, 0]
    j = pairs[:, 1]
    x = (torch.linalg_vector_norm(vectors, dim=-1) / self.rc).clamp(max=1.0)
    h = one_hot @ self.e
    m = ((1.0 - x * x) ** 3).unsqueeze(-1) * h[j] * scale
    return (h.sum(1), torch.zeros_like(h).index_add(0, i, m).sum(1, keepdim=True))
)";
    auto card = replaced(scripted_card(), "'forward': {'style': 'dict', 'arguments': []}",
                         "'forward': {'style': 'positional', 'arguments': [{'role': "
                         "'species_one_hot'}, {'role': 'edge_index', 'shape': '(edges,2)'}, "
                         "{'role': 'edge_vectors'}, {'role': 'constant', 'value': 0.7}]}");
    const auto begin = card.find("\"inputs\""), end = card.find("\"edges\"");
    card.replace(begin, end - begin, "\"inputs\": {}, ");
    card = replaced(card,
                    "'energies': {'role': 'atomic_energies', 'kind': 'per_node', 'shape': "
                    "'(rows)'}",
                    "'1': {'role': 'atomic_energies', 'kind': 'per_node', 'shape': '(rows,1)'}");

    expect_right_in_parts({archive(kTwoLayers), archive(positional, with_cutoff("4.0", card))});
}

TEST(Composition, PartsMayReturnDictionariesOfOptionals) {
    auto optional = kOneLayer;
    optional = rewritten(optional, "-> Dict[str, Tensor]", "-> Dict[str, Optional[Tensor]]");
    optional = rewritten(optional, "    return {'energies': torch.tanh(h).sum(1) * 0.5}",
                         "    out: Dict[str, Optional[Tensor]] = {'energies': torch.tanh(h).sum(1)}"
                         "\n    return out");
    expect_right_in_parts({archive(kTwoLayers), archive(optional)});
}

TEST(Composition, AddsPartsOfOtherUnitsAndPrecisions) {
    const auto hartree = replaced(scripted_card(), "'energy': 'eV'", "'energy': 'Hartree'");
    EXPECT_LT(compose_archives({archive(kOneLayer), archive(kOneLayer, hartree)}, "sum")
                  .energy_difference,
              1e-10);

    auto single = archive(message_network("    h = h * 1.0"));
    const std::string network = R"(
def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
    x = data['edge_vec'].square().sum(1) / 25.0
    f = (1.0 - x).clamp(min=0.0).pow(3)
    h = torch.zeros([data['types'].size(0)], dtype=x.dtype)
    return {'energies': h.index_add(0, data['edge_index'][0], f)}
)";
    single =
        archive(network, replaced(scripted_card(), "'dtype': 'float64'", "'dtype': 'float32'"));
    const auto composed = compose_archives({archive(kOneLayer), single}, "sum");
    EXPECT_EQ(parse_model_card(composed.card, "c.json").dtype, "float64");
    EXPECT_LT(composed.energy_difference, 1e-4);
}

// --- models that return forces, or see positions
// ----------------------------------------------------

const std::string kPositions = R"(
def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
    i = data['edge_index'][0]
    j = data['edge_index'][1]
    pos = data['pos']
    vec = pos[j] - pos[i] + data['shifts']
    x = (torch.linalg_vector_norm(vec, dim=-1) / self.rc).clamp(max=1.0)
    m = torch.tanh(vec @ self.u) * ((1.0 - x * x) ** 3).unsqueeze(-1)
    h = self.e[data['types']]
    h = torch.zeros_like(h).index_add(0, i, m * h[j])
    h = h + torch.zeros_like(h).index_add(0, i, m * torch.tanh(h @ self.w)[j])
    energies = torch.tanh(h).sum(1) * 0.5
RESULT
)";

std::string positions_card(const std::string& forces, const std::string& outputs = "") {
    auto card = scripted_card(
        json(", 'pos': {'role': 'positions'}, 'shifts': {'role': 'edge_shifts'}, 'n': {'role': "
             "'n_owned'}"));
    card = replaced(card, "'forces': 'edge_vectors'", "'forces': '" + forces + "'");
    card = replaced(card, "'rows': 'folded'", "'rows': 'raw'");
    return replaced(card, "'shape': '(rows)'}}", "'shape': '(rows)'}" + outputs + "}");
}

ArchiveToCompose of_positions() {
    return archive(with_word(kPositions, "RESULT", "    return {'energies': energies}"),
                   positions_card("positions"));
}

ArchiveToCompose with_own_forces() {
    const std::string result = R"(
    e = energies[:int(data['n'])].sum()
    g = torch.autograd.grad([e], [pos, vec])
    a = g[0]
    b = g[1]
    assert a is not None
    assert b is not None
    return {'energies': energies, 'f': -a, 'v': -(vec.unsqueeze(2) * b.unsqueeze(1)).sum(0)}
)";
    return archive(
        with_word(kPositions, "RESULT", result),
        positions_card("model",
                       ", 'f': {'role': 'forces', 'kind': 'per_node', 'shape': '(rows,3)'}, 'v': "
                       "{'role': 'virial', 'kind': 'per_graph', 'shape': '(3,3)'}"));
}

/// Energies of edges, of fractional coordinates and of the volume.
ArchiveToCompose of_the_lattice() {
    return archive(message_network(R"(
    waves = torch.cos(data['pos'] @ torch.inverse(data['cell']) * 6.283185307179586)
    h = torch.zeros_like(h).index_add(0, i, m * h[j]) + 0.1 * waves.sum(1).unsqueeze(1)
    h = h + 0.001 * torch.det(data['cell']))"),
                   scripted_card(json(", 'pos': {'role': 'positions', 'requires_grad': true}, "
                                      "'cell': {'role': 'cell', 'requires_grad': true}")));
}

TEST(Composition, AddsModelsOfPositionsAndOfEdgeVectors) {
    const std::vector<ArchiveToCompose> parts{archive(kTwoLayers, with_cutoff("4.0")),
                                              of_positions()};

    const auto composed = compose_archives(parts, "sum");

    const auto card = parse_model_card(composed.card, "c.json");
    EXPECT_EQ(card.forces, ForceSource::Positions);
    EXPECT_EQ(card.rows, RowMode::Raw);
    EXPECT_LT(composed.force_difference, 1e-11);
    expect_right_in_parts(parts);
}

TEST(Composition, AddsModelsOfPositionsAndOfTheLatticeToAnyOthers) {
    const std::pair<std::vector<ArchiveToCompose>, ForceSource> cases[] = {
        {{archive(kTwoLayers, with_cutoff("4.0")), of_the_lattice()}, ForceSource::EdgeVectors},
        {{of_positions(), of_the_lattice()}, ForceSource::Model},
        {{of_the_lattice(), with_own_forces(), archive(kOneLayer)}, ForceSource::Model},
        {{with_own_forces(), of_positions()}, ForceSource::Model},
    };
    for (const auto& [parts, forces] : cases) {
        const auto composed = compose_archives(parts, "sum");

        const auto card = parse_model_card(composed.card, "c.json");
        EXPECT_EQ(card.forces, forces);
        EXPECT_LT(composed.force_difference, 1e-11);
        EXPECT_LT(composed.virial_difference, 1e-10);
        expect_right_in_parts(parts);
    }
}

TEST(Composition, AddsForcesThatAModelReturns) {
    const std::vector<ArchiveToCompose> parts{archive(kTwoLayers, with_cutoff("4.0")),
                                              with_own_forces()};

    const auto composed = compose_archives(parts, "sum");

    const auto card = parse_model_card(composed.card, "c.json");
    EXPECT_EQ(card.forces, ForceSource::Model);
    EXPECT_NE(card.find_output(OutputRole::Virial), nullptr);
    EXPECT_LT(composed.force_difference, 1e-11);
    EXPECT_GE(composed.virial_difference, 0);
    EXPECT_LT(composed.virial_difference, 1e-10);
    expect_right_in_parts(parts);
    expect_right_in_parts({with_own_forces(), archive(kTwoLayers), with_own_forces()});
}

// --- charges -------------------------------------------------------------------------------------

const std::string kCharges = R"(
    q = torch.tanh(torch.zeros_like(h).index_add(0, i, m * h[j]).sum(1))
)";
const std::string kCoulomb = R"(
    p = 0.5 * q[i] * q[j] * torch.exp(-r) * (1.0 - x * x) ** 3
    c = torch.zeros_like(q).index_add(0, i, p)
)";

std::string network(const std::string& body, const std::string& result) {
    return rewritten(message_network(body), "    return {'energies': torch.tanh(h).sum(1) * 0.5}",
                     "    return {" + result + "}");
}

ArchiveToCompose charge_producer() {
    return archive(network(kCharges, "'energies': torch.tanh(h).sum(1) * 0.5, 'q': q"),
                   replaced(scripted_card(), "'shape': '(rows)'}",
                            "'shape': '(rows)'}, 'q': {'role': 'charges', 'kind': 'per_node', "
                            "'shape': '(rows)'}"));
}

ArchiveToCompose charge_consumer() {
    return archive(network("    q = data['q']" + kCoulomb, "'energies': c"),
                   scripted_card(json(", 'q': {'role': 'charges'}")));
}

TEST(Composition, WiresChargesWithGradientsThroughThem) {
    const auto joint = load_part(
        archive(network(kCharges + kCoulomb, "'energies': torch.tanh(h).sum(1) * 0.5 + c")));
    const auto structure = sample_structure(joint->card());
    const auto expected = undecomposed(*joint, structure);
    for (const bool producer_first : {true, false}) {
        auto parts = std::vector{charge_producer(), charge_consumer()};
        if (!producer_first) std::swap(parts[0], parts[1]);

        const auto composed = compose_archives(parts, "wired");

        const auto session = load(composed.bytes);
        EXPECT_LT(relative_difference(undecomposed(*session, structure), expected), kRounding);
        const auto found = difference_in_parts(*session, test_structures(session->card()));
        EXPECT_LT(found.relative, kRounding) << found.where;
        EXPECT_LT(composed.energy_difference, 0);
        ASSERT_EQ(session->planned_exchanges().size(), 1U) << session->listing();
        EXPECT_EQ(session->planned_exchanges()[0].width, 1);
    }
}

// --- the card
// -------------------------------------------------------------------------------------

ModelCard card_of(const std::vector<std::string>& cards) {
    std::vector<CompositionPart> parts;
    for (const auto& text : cards)
        parts.push_back({parse_model_card(text, "c.json"), text, {}, ""});
    name_parts(parts);
    return parse_model_card(compose(parts, "sum").card, "sum.json");
}

TEST(ComposedCard, HasTheElementsThatAllPartsKnow) {
    const auto other =
        replaced(scripted_card(), "'species': ['O', 'Na', 'Cl']", "'species': ['Cl', 'H', 'O']");

    EXPECT_EQ(card_of({scripted_card(), other}).species, (std::vector<std::string>{"O", "Cl"}));
}

TEST(ComposedCard, HandsOnTheEnergiesOfEachPart) {
    const auto card = card_of({scripted_card(), scripted_card()});

    ASSERT_EQ(card.outputs.size(), 3U);
    EXPECT_EQ(card.outputs[0].key, "atomic_energies");
    EXPECT_EQ(card.outputs[1].key, "scripted.atomic_energies");
    EXPECT_EQ(card.outputs[1].role, OutputRole::Other);
}

TEST(ComposedCard, AddsExchangesThatThePartsExpect) {
    const auto one = scripted_card("", json(", 'expected_exchanges': 1"));
    const auto two = scripted_card("", json(", 'expected_exchanges': 2"));

    EXPECT_EQ(card_of({one, two}).expected_exchanges, 3);
    EXPECT_EQ(card_of({one, scripted_card()}).expected_exchanges, std::nullopt);
}

TEST(ComposedCard, HoldsTheMergedSpec) {
    const auto spec = [](const std::string& more) {
        return scripted_card("", json(", 'spec': {'version': 2, 'core': {'policy': {'kind': "
                                      "'halo'}}" +
                                      more + "}"));
    };

    const auto card = card_of({spec(", 'node_energy_key': 'energies'"),
                               spec(", 'node_energy_key': 'atomic_energies', 'output_kinds': "
                                    "[['cn', 'per_node']]")});

    ASSERT_TRUE(card.spec);
    EXPECT_EQ(card.spec->node_energy_key, "atomic_energies");
    EXPECT_EQ(card.spec->output_kinds.count("scripted_2.cn"), 1U);
}

TEST(ComposedCard, SpecsThatContradictAreRefused) {
    const auto refresh = scripted_card(
        "", json(", 'spec': {'version': 2, 'core': {'policy': {'kind': 'refresh_halo'}}}"));

    EXPECT_NE(testing::refusal_of([&] {
                  card_of({scripted_card(), refresh});
              }).find("/core/policy/kind: got \"halo\" and \"refresh_halo\" to merge"),
              std::string::npos);
}

// --- refusals
// ---------------------------------------------------------------------------------------

std::string refusal(const std::vector<std::string>& cards) {
    try {
        card_of(cards);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "nothing was refused";
}

TEST(ComposeRefuses, OneModel) {
    EXPECT_EQ(refusal({scripted_card()}), "compose: got one model, expected two or more");
}

TEST(ComposeRefuses, NoElementInCommon) {
    const auto other = replaced(scripted_card(), "['O', 'Na', 'Cl']", "['H', 'He', 'Li']");

    EXPECT_EQ(refusal({scripted_card(), other}),
              "compose: the parts have no element in common, expected at least one");
}

TEST(ComposeRefuses, TwoSourcesOfCharges) {
    const auto producer = *charge_producer().options.card_text;

    EXPECT_EQ(refusal({producer, *charge_consumer().options.card_text, producer}),
              "compose: 'scripted' and 'scripted' both return charges, expected one part whose "
              "charges the others read; declare the others' as role \"other\" in their cards");
}

TEST(ComposeRefuses, APartThatReadsAndReturnsCharges) {
    const auto both = replaced(*charge_producer().options.card_text, "'edge_vec': {",
                               "'z': {'role': 'charges'}, 'edge_vec': {");
    EXPECT_EQ(refusal({scripted_card(), both}),
              "compose: 'scripted' reads charges and returns charges, expected one of the two of "
              "each part");
}

TEST(ComposeRefuses, ForcesThatLackDerivativesThroughCharges) {
    const auto own = replaced(*with_own_forces().options.card_text, "'edge_vec': {",
                              "'z': {'role': 'charges'}, 'edge_vec': {");

    EXPECT_CONTAINS(refusal({*charge_producer().options.card_text, own}),
                    "compose: 'scripted' returns forces of its own, which lack the derivatives "
                    "through charges that another part computes or reads; expected");
}

TEST(ComposeRefuses, AMatrixWithoutMaskAndWithASmallerCutoff) {
    const auto matrix =
        with_cutoff("4.0", scripted_card(json(", 'nb': {'role': 'neighbor_matrix'}")));

    EXPECT_CONTAINS(refusal({scripted_card(), matrix}),
                    "'scripted' takes a matrix of neighbours without a mask and has not the "
                    "largest cutoff, expected an input of role \"neighbor_mask\" with it");
}

TEST(ComposeRefuses, ATableBesideAModelOfPositions) {
    const auto matrix = scripted_card(json(", 'nb': {'role': 'neighbor_matrix'}"));

    EXPECT_CONTAINS(refusal({positions_card("positions"), matrix}),
                    "'scripted' takes a table of neighbours, expected to be added to models of "
                    "edge vectors alone; add the others in LAMMPS's input");
}

TEST(ComposeRefuses, ShiftsAsATable) {
    const auto shifts =
        scripted_card(json(", 's': {'role': 'edge_shifts', 'shape': '(rows,neighbors,3)'}"));

    EXPECT_CONTAINS(refusal({scripted_card(), shifts}),
                    "'scripted' takes shifts of edges as a table, expected edge vectors");
}

TEST(ComposeRefuses, AnArchiveWithoutCard) {
    auto bare = archive(kOneLayer);
    bare.options.card_text.reset();
    try {
        compose_archives({archive(kTwoLayers), bare}, "sum");
        ADD_FAILURE() << "nothing was refused";
    } catch (const ModelError& error) {
        EXPECT_CONTAINS(error.what(), "part.pt: got an archive without a model card, expected");
    }
}

}  // namespace
}  // namespace nvalchemi
