// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/model_card.hpp"

#include <gtest/gtest.h>

#include "potentials/elements.hpp"
#include "unittest/models/test_archives.hpp"
#include "unittest/potentials/card_text.hpp"

namespace nvalchemi {

using namespace testing;

TEST(ParseModelCard, ReadsTheCardOfAnEdgeVectorModel) {
    const ModelCard card = parse(kCard);

    EXPECT_EQ(card.name, "m");
    EXPECT_EQ(card.family, "toy");
    EXPECT_EQ(card.cutoff, 5.0);
    EXPECT_EQ(card.length_unit, "Angstrom");
    EXPECT_EQ(card.energy_unit, "eV");
    EXPECT_EQ(card.dtype, "float64");
    EXPECT_EQ(card.species, (std::vector<std::string>{"O", "Na"}));
    EXPECT_EQ(card.species_index, (std::vector<std::int64_t>{0, 0}));
    EXPECT_TRUE(card.forward_takes_dict);
    EXPECT_EQ(card.receiver_row, 0);
    EXPECT_EQ(card.rows, RowMode::Folded);
    EXPECT_EQ(card.forces, ForceSource::EdgeVectors);
    EXPECT_FALSE(card.spec || card.reference || card.expected_exchanges);
    EXPECT_FALSE(card.backward_communicates || card.triplets_by_receiver);
    ASSERT_EQ(card.outputs.size(), 1U);
    EXPECT_EQ(card.outputs[0].key, "e");
    EXPECT_EQ(card.outputs[0].kind, OutputKind::PerNode);
    EXPECT_EQ(card.outputs[0].shape, (std::vector<std::int64_t>{-1, 1}));
}

TEST(ParseModelCard, ReadsEveryInputRole) {
    const ModelCard card = parse(card_with_inputs(
        "'a': {'role': 'species_one_hot'}, 'b': {'role': 'positions', 'requires_grad': true}, "
        "'c': {'role': 'edge_index'}, 'd': {'role': 'edge_shifts'}, "
        "'e': {'role': 'edge_cell_shifts'}, 'f': {'role': 'cell', 'shape': '(1,3,3)'}, "
        "'g': {'role': 'batch'}, 'h': {'role': 'batch_pointer'}, "
        "'i': {'role': 'n_rows', 'shape': '()'}, 'j': {'role': 'n_owned'}, "
        "'k': {'role': 'owned_mask', 'shape': '( rows , 1 )'}, 'l': {'role': 'charges'}, "
        "'m': {'role': 'total_charge'}, 'n': {'role': 'neighbor_matrix'}, "
        "'o': {'role': 'edge_index', 'shape': '(2,edges)'}, "
        "'p': {'role': 'neighbor_mask', 'shape': '(rows,neighbors)'}"));

    using enum InputRole;
    const std::vector<InputRole> roles = {
        EdgeVectors, SpeciesOneHot, Positions,      EdgeIndex, EdgeShifts,  EdgeCellShifts,
        Cell,        Batch,         BatchPointer,   NRows,     NOwned,      OwnedMask,
        Charges,     TotalCharge,   NeighborMatrix, EdgeIndex, NeighborMask};
    ASSERT_EQ(card.inputs.size(), roles.size());
    for (std::size_t i = 0; i < roles.size(); ++i) EXPECT_EQ(card.inputs[i].role, roles[i]) << i;
    EXPECT_EQ(card.inputs.back().shape, (std::vector<std::int64_t>{-1, -3}));
    EXPECT_EQ(card.inputs[2].key, "b");
    EXPECT_TRUE(card.inputs[2].requires_grad);
    EXPECT_FALSE(card.inputs[1].requires_grad);
    EXPECT_EQ(card.inputs[1].shape, std::nullopt);
    EXPECT_EQ(card.inputs[6].shape, (std::vector<std::int64_t>{1, 3, 3}));
    EXPECT_EQ(card.inputs[9].shape, std::vector<std::int64_t>{});
    EXPECT_EQ(card.inputs[11].shape, (std::vector<std::int64_t>{-1, 1}));
    EXPECT_EQ(card.inputs[15].shape, (std::vector<std::int64_t>{2, -2}));
}

TEST(ParseModelCard, ReadsConstants) {
    const ModelCard card = parse(card_with_inputs(
        "'a': {'role': 'constant', 'value': []}, 'b': {'role': 'constant', 'value': true}, "
        "'c': {'role': 'constant', 'value': [[1, 2.5], [3, 4]]}, "
        "'d': {'role': 'constant', 'value': [1, 2]}, 'e': {'role': 'constant', 'value': -7}, "
        "'f': {'role': 'constant', 'value': [], 'shape': '(0,3)'}, "
        "'g': {'role': 'constant', 'value': [[]], 'shape': '(0)'}, "
        "'h': {'role': 'constant', 'value': 1.0, 'shape': '(1,)', 'requires_grad': true}"));

    const auto value = [&](std::size_t i) { return *card.inputs.at(i).value; };
    EXPECT_EQ(value(1).kind, ElementKind::Floating);
    EXPECT_EQ(value(1).shape, std::vector<std::int64_t>{0});
    EXPECT_EQ(value(2).kind, ElementKind::Boolean);
    EXPECT_TRUE(value(2).is_scalar);
    EXPECT_EQ(value(2).numbers, std::vector<double>{1});
    EXPECT_EQ(value(3).kind, ElementKind::Floating);
    EXPECT_EQ(value(3).shape, (std::vector<std::int64_t>{2, 2}));
    EXPECT_EQ(value(3).numbers, (std::vector<double>{1, 2.5, 3, 4}));
    EXPECT_EQ(value(4).kind, ElementKind::Integer);
    EXPECT_FALSE(value(4).is_scalar);
    EXPECT_EQ(value(5).numbers, std::vector<double>{-7});
    EXPECT_TRUE(value(5).shape.empty());
    EXPECT_EQ(card.inputs[6].shape, (std::vector<std::int64_t>{0, 3}));
    EXPECT_EQ(value(7).shape, (std::vector<std::int64_t>{1, 0}));
    EXPECT_EQ(card.inputs[8].shape, std::vector<std::int64_t>{1});
    EXPECT_TRUE(card.inputs[8].requires_grad);
    EXPECT_FALSE(card.inputs[0].value.has_value());
}

TEST(ParseModelCard, ReadsPositionalArguments) {
    const ModelCard card = parse(
        card_with("{'style': 'dict', 'arguments': []}",
                  "{'style': 'positional', 'arguments': [{'role': 'dict'}, {'role': 'owned_mask'}, "
                  "{'role': 'constant', 'value': true}]}"));

    EXPECT_FALSE(card.forward_takes_dict);
    ASSERT_EQ(card.arguments.size(), 3U);
    EXPECT_EQ(card.arguments[0].role, InputRole::Dict);
    EXPECT_EQ(card.arguments[1].key, "");
    EXPECT_EQ(card.find_input(InputRole::OwnedMask), &card.arguments[1]);
    EXPECT_EQ(card.find_input(InputRole::EdgeVectors), &card.inputs[1]);
    EXPECT_EQ(card.find_input(InputRole::Cell), nullptr);
    EXPECT_TRUE(card.arguments[2].value->is_scalar);
}

TEST(ParseModelCard, ReadsOutputsAndTheirSigns) {
    const ModelCard card = parse(card_with_outputs(
        "'E': {'role': 'energy', 'kind': 'per_graph', 'shape': '()'}, "
        "'f': {'role': 'forces', 'kind': 'per_node', 'shape': '(rows,3)', 'autograd': true}, "
        "'v': {'role': 'virial', 'kind': 'per_graph', 'shape': '(1,3,3)'}, "
        "'s': {'role': 'stress', 'kind': 'per_graph', 'shape': '(3,3)'}, "
        "'q': {'role': 'charges', 'kind': 'per_node', 'shape': '(rows)'}, "
        "'x': {'role': 'other', 'kind': 'unknown', 'shape': '(edges,7)'}, "
        "'y': {'role': 'other', 'kind': 'global', 'shape': '(2)'}"));

    ASSERT_NE(card.find_output(OutputRole::Virial), nullptr);
    EXPECT_TRUE(card.find_output(OutputRole::Virial)->minus_dE_dstrain);
    EXPECT_FALSE(card.find_output(OutputRole::Stress)->minus_dE_dstrain);
    EXPECT_TRUE(card.find_output(OutputRole::Forces)->autograd);
    EXPECT_FALSE(card.find_output(OutputRole::Energy)->autograd);
    EXPECT_EQ(card.find_output(OutputRole::Other)->key, "x");
    const ModelCard signs = parse(card_with_outputs(
        "'v': {'role': 'virial', 'kind': 'per_graph', 'shape': '(3,3)', 'sign': 'dE_dstrain'}, "
        "'s': {'role': 'stress', 'kind': 'per_graph', 'shape': '(3,3)', "
        "'sign': 'minus_dE_dstrain'}"));
    EXPECT_FALSE(signs.find_output(OutputRole::Virial)->minus_dE_dstrain);
    EXPECT_TRUE(signs.find_output(OutputRole::Stress)->minus_dE_dstrain);
    EXPECT_EQ(signs.find_output(OutputRole::Forces), nullptr);
}

TEST(ParseModelCard, ReadsOptionalFacts) {
    const ModelCard card = parse(card_and(
        "'spec': {'version': 2, 'core': {'policy': {'kind': 'halo'}}}, 'expected_exchanges': 4, "
        "'backward_communicates': true, 'triplets': 'by_receiver', 'torch_version': '2.11.0+cpu', "
        "'reference': {'symbols': ['Na'], 'positions': [[1, 2.5, 3]], "
        "'cell': [[4, 0, 0], [0, 5, 0], [0, 0, 6]], 'pbc': [true, false, true], "
        "'energy': -1.5, 'energies': [-1.5], 'forces': [[0, 0, 0.5]], "
        "'stress': [[1, 2, 3], [2, 4, 5], [3, 5, 6]]}"));

    EXPECT_EQ(card.spec, MLIPSpec{});
    EXPECT_EQ(card.expected_exchanges, 4);
    EXPECT_TRUE(card.backward_communicates && card.triplets_by_receiver);
    EXPECT_EQ(card.torch_version, "2.11.0+cpu");
    const ReferenceStructure& reference = card.reference.value();
    EXPECT_EQ(reference.symbols, std::vector<std::string>{"Na"});
    EXPECT_EQ(reference.positions, (std::vector<double>{1, 2.5, 3}));
    EXPECT_EQ(reference.cell[4], 5);
    EXPECT_TRUE(reference.periodic[0] && !reference.periodic[1] && reference.periodic[2]);
    EXPECT_EQ(reference.energy, -1.5);
    EXPECT_EQ(reference.atomic_energies, std::vector<double>{-1.5});
    EXPECT_EQ(reference.forces, (std::vector<double>{0, 0, 0.5}));
    EXPECT_EQ(reference.stress, (std::vector<double>{1, 2, 3, 2, 4, 5, 3, 5, 6}));
}

TEST(ParseModelCard, ReadsTheCardsOfAllTestArchives) {
    const auto archives = testing::test_archives();

    for (const auto& [name, path] : archives) {
        const auto card = testing::card_beside(path);
        EXPECT_EQ(parse_model_card(testing::read_file(card), card.filename().string()).name, name);
    }

    EXPECT_GE(archives.size(), 10U);
}

TEST(AtomicNumber, KnowsThePeriodicTable) {
    EXPECT_EQ(atomic_number("H"), 1);
    EXPECT_EQ(atomic_number("Na"), 11);
    EXPECT_EQ(atomic_number("Fe"), 26);
    EXPECT_EQ(atomic_number("Xe"), 54);
    EXPECT_EQ(atomic_number("Lu"), 71);
    EXPECT_EQ(atomic_number("Pb"), 82);
    EXPECT_EQ(atomic_number("U"), 92);
    EXPECT_EQ(atomic_number("Og"), 118);
    for (const char* other : {"", "na", "NA", "X", "D", "Na ", "Uue"}) {
        EXPECT_EQ(atomic_number(other), 0) << other;
    }
}

}  // namespace nvalchemi
