// SPDX-License-Identifier: GPL-2.0-only
// What the user of a model gives under a name: in cards, in structures, and in parts of a system.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "potentials/composition/compose_archives.hpp"
#include "potentials/input_layout.hpp"
#include "potentials/structure_file.hpp"
#include "unittest/kernels/expect_contains.hpp"
#include "unittest/potentials/card_text.hpp"
#include "unittest/potentials/parts_comparison.hpp"
#include "unittest/potentials/pass_outcome.hpp"

namespace nvalchemi {
namespace {

using namespace testing;

const std::string kMoments =
    "'m': {'role': 'atom_input', 'name': 'moments', 'columns': 3, 'unit': 'mu_B'}, "
    "'z': {'role': 'atom_input', 'name': 'site', 'dtype': 'int64', 'default': 1}, "
    "'f': {'role': 'system_input', 'name': 'field', 'columns': 2, 'default': [0.5, -1]}";

/// Moments couple over edges, and make features that a second layer exchanges.
const std::string kBody = R"(
    s = data['m']
    h = h + torch.zeros_like(h).index_add(0, i, (s[i] * s[j]).sum(1, keepdim=True) * m)
    g = torch.tanh(h + s @ self.u + self.e[data['z']])
    h = h + torch.zeros_like(h).index_add(0, i, (g[j] @ self.w) * m) * data['f'][0]
)";

ModelCard card_of(const std::string& inputs) { return parse(card_with_inputs(inputs)); }

std::string refusal_of_input(const std::string& record) {
    return refusal_of_card(card_with_inputs("'x': {'role': 'atom_input'" + record + "}"));
}

/// A structure of two atoms with this value of "inputs".
std::string structure(const std::string& inputs) {
    const auto path = ::testing::TempDir() + "two.json";
    std::ofstream(path) << json(
        "{'symbols': ['O', 'Na'], 'positions': [[0,0,0],[1,1,1]], 'cell': "
        "[[9,0,0],[0,9,0],[0,0,9]]" +
        (inputs.empty() ? "}" : ", 'inputs': " + inputs + "}"));
    return path;
}

std::string refusal_of_structure(const std::string& inputs, const ModelCard& card) {
    return refusal_of([&] { read_structure_file(structure(inputs), card); });
}

using Numbers = std::vector<double>;

TEST(NamedInputs, OfACardHavePlacesInItsOrder) {
    const auto card = card_of(kMoments +
                              ", 'q': {'role': 'total_charge'}, "
                              "'again': {'role': 'atom_input', 'name': 'moments', "
                              "'columns': 3, 'unit': 'mu_B', 'shape': '(rows,1,3)'}");
    const auto layout = input_layout(card);

    ASSERT_EQ(layout.places.size(), 4U);
    EXPECT_EQ(layout.atom_columns, 4);
    EXPECT_EQ(layout.system_columns, 3);
    EXPECT_EQ(layout.find("site")->first, 3);
    EXPECT_TRUE(layout.find("site")->is_integer);
    EXPECT_EQ(layout.find("site")->default_values, Numbers{1});
    EXPECT_EQ(layout.find("field")->first, 0);
    EXPECT_EQ(layout.find("total_charge")->first, 2);
    EXPECT_EQ(layout.find("moments")->title(), "'moments' (3 numbers for each atom, mu_B)");
    EXPECT_EQ(titles_of_inputs(card_of("'q': {'role': 'charges'}, " + kMoments)),
              "'charges' (1 number for each atom, e), 'moments' (3 numbers for each atom, mu_B), "
              "'site' (1 whole number for each atom), 'field' (2 numbers for the system)");
    EXPECT_EQ(titles_of_inputs(parse(kCard)), "none");
}

TEST(NamedInputs, RefuseBadRecords) {
    const std::string at = "c.json /inputs/x";
    EXPECT_EQ(refusal_of_input(""),
              at + ": got no key \"name\", expected one (what the user writes to give its values)");
    EXPECT_CONTAINS(refusal_of_input(", 'name': '3d'"),
                    at + "/name: got \"3d\", expected letters, digits and \"_\", a letter first");
    EXPECT_CONTAINS(refusal_of_input(", 'name': 'charges'"), "that is the name of the role");
    EXPECT_CONTAINS(refusal_of_input(", 'name': 'a', 'columns': 0"),
                    at + "/columns: got 0, expected a number from 1 to 1000");
    EXPECT_CONTAINS(refusal_of_input(", 'name': 'a', 'columns': 2, 'default': [1]"),
                    at + "/default: got an array of 1 element, expected a list of length 2");
    EXPECT_CONTAINS(refusal_of_input(", 'name': 'a', 'dtype': 'float32'"),
                    at + "/dtype: got \"float32\", expected \"int64\" (without this key it has");
    EXPECT_CONTAINS(refusal_of_input(", 'name': 'a', 'dtype': 'int64', 'default': 0.5"),
                    at + "/default: got 0.5, expected a whole number (the model takes integers");
    EXPECT_CONTAINS(refusal_of_input(", 'name': 'a', 'dtype': 'int64', 'requires_grad': true"),
                    "expected false (an input of role \"atom_input\" is not a floating-point");
    EXPECT_CONTAINS(refusal_of_input(", 'name': 'a', 'value': 1"),
                    at + "/value: got the unknown key \"value\", expected one of \"role\", "
                         "\"shape\", \"requires_grad\", \"name\", \"columns\", \"default\"");
    EXPECT_CONTAINS(refusal_of_card(card_with_inputs("'x': {'role': 'cell', 'name': 'a'}")),
                    at + "/name: got the unknown key \"name\"");
    EXPECT_CONTAINS(refusal_of_input(", 'name': 'a'}, 'y': {'role': 'system_input', 'name': 'a'"),
                    "c.json /inputs: got two different inputs of the name \"a\", expected the same "
                    "role, columns, dtype, unit and default, or another name");
}

TEST(NamedInputs, OfAStructureAreANumberAListOrListsOfThem) {
    const auto card = card_of(kMoments);

    const auto all = read_structure_file(
        structure("{'moments': [[1,2,3],[4,5,6]], 'site': [0,2], 'field': [7,8]}"), card);
    EXPECT_EQ(all.atom_inputs, (Numbers{1, 2, 3, 0, 4, 5, 6, 2}));
    EXPECT_EQ(all.system_inputs, (Numbers{7, 8}));

    const auto few = read_structure_file(structure("{'moments': [1,2,3], 'site': 2}"), card);
    EXPECT_EQ(few.atom_inputs, (Numbers{1, 2, 3, 2, 1, 2, 3, 2}));
    EXPECT_EQ(few.system_inputs, (Numbers{0.5, -1}));

    const auto charged =
        read_structure_file(structure("{'charges': [0.5, -0.5], 'total_charge': 2}"),
                            card_of("'q': {'role': 'charges'}, 't': {'role': 'total_charge'}"));
    EXPECT_EQ(charged.charges, (Numbers{0.5, -0.5}));
    EXPECT_EQ(charged.system_inputs, Numbers{2});
}

TEST(NamedInputs, OfAStructureAreRefused) {
    const auto card = card_of(kMoments);
    const std::string missing =
        "got no value for the input 'moments' (3 numbers for each atom, mu_B) of model \"m\", "
        "expected \"inputs\": {\"moments\": ...}";
    EXPECT_CONTAINS(refusal_of_structure("", card), missing);
    EXPECT_CONTAINS(refusal_of_structure("{'site': 1}", card), "two.json /inputs: " + missing);
    EXPECT_CONTAINS(refusal_of_structure("{'moments': [[1,2,3]]}", card),
                    "/inputs/moments: got 1 entries, expected 2 as in \"symbols\"");
    EXPECT_CONTAINS(refusal_of_structure("{'moments': [[1,2,3],[1,2]]}", card),
                    "/inputs/moments/1: got an array of 2 elements, expected a list of length 3");
    EXPECT_CONTAINS(refusal_of_structure("{'moments': [1,2,3], 'site': [0,0.5]}", card),
                    "/inputs/site/1: got 0.5, expected a whole number");
    EXPECT_CONTAINS(refusal_of_structure("{'moments': [1,2,3], 'spin': 1}", card),
                    "/inputs/spin: got an input that model \"m\" does not take, expected one of: "
                    "'moments' (3 numbers");
    EXPECT_CONTAINS(refusal_of_structure("{'moments': [1,2,3], 'field': 1}", card),
                    "/inputs/field: got 1, expected an array");
}

TEST(NamedInputs, OfExtendedXyz) {
    const auto card = card_of(kMoments + ", 'q': {'role': 'charges'}");
    const auto path = ::testing::TempDir() + "two.extxyz";
    const auto read = [&](const std::string& header) {
        std::ofstream(path) << "2\n" << header << "\nO 0 0 0 1 2 3 0 0.5\nNa 1 1 1 4 5 6 2 -0.5\n";
        return read_structure_file(path, card);
    };
    const std::string box = "Lattice=\"9 0 0 0 9 0 0 0 9\" ";
    const std::string columns =
        "Properties=species:S:1:pos:R:3:input_moments:R:3:input_site:R:1:charges:R:1";

    const auto system = read(box + "input_field=\"7 8\" " + columns);
    EXPECT_EQ(system.atom_inputs, (Numbers{1, 2, 3, 0, 4, 5, 6, 2}));
    EXPECT_EQ(system.system_inputs, (Numbers{7, 8}));
    EXPECT_EQ(system.charges, (Numbers{0.5, -0.5}));
    EXPECT_EQ(read(box + columns).system_inputs, (Numbers{0.5, -1}));
    const auto refused = [&](const std::string& header) {
        try {
            read(header);
        } catch (const std::runtime_error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_CONTAINS(refused(box + "Properties=species:S:1:pos:R:3"),
                    "expected Properties=... with input_moments:R:3 for the input 'moments' (3");
    EXPECT_CONTAINS(refused(box + "input_field=7 " + columns),
                    "got '7', expected input_field=\"...\" for the input 'field' (2 numbers");
}

// --- in a model ----------------------------------------------------------------------------------

SessionOptions options_of(const std::string& inputs, const std::string& more = "") {
    SessionOptions options;
    options.path = "network.pt";
    options.device = "cpu";
    options.card_text = scripted_card(json(", " + inputs), more);
    options.card_path = "network.card.json";
    return options;
}

TEST(NamedInputs, PartsReproduceTheWhole) {
    Session session(scripted_archive(message_network(kBody)), options_of(kMoments));
    EXPECT_EQ(session.planned_exchanges().size(), 1U) << session.listing();
    const std::vector<NamedStructure> structures = {{"a cell", sample_structure(session.card())},
                                                    {"a cluster", sample_cluster(session.card())}};

    const auto found = difference_in_parts(session, structures);

    EXPECT_LT(found.relative, 1e-12) << found.where;
    // and each of the inputs counts
    const auto before = undecomposed(session, structures[0].structure);
    for (int which : {0, 3, 4}) {
        auto changed = structures[0].structure;
        (which < 4 ? changed.atom_inputs[which] : changed.system_inputs[0]) += 1;
        EXPECT_GT(relative_difference(undecomposed(session, changed), before), 1e-4) << which;
    }
}

TEST(NamedInputs, WithoutAValueHaveTheirDefaultOrAreRefused) {
    Session session(scripted_archive(message_network(kBody)), options_of(kMoments));
    auto structure = sample_structure(session.card());
    for (std::size_t k = 0; k < structure.system_inputs.size(); ++k)
        structure.system_inputs[k] = k == 0 ? 0.5 : -1;
    const auto given = undecomposed(session, structure);
    structure.system_inputs.clear();
    EXPECT_EQ(relative_difference(undecomposed(session, structure), given), 0);
    structure.atom_inputs.clear();
    try {
        undecomposed(session, structure);
        FAIL() << "it was let through";
    } catch (const ModelError& error) {
        EXPECT_CONTAINS(error.what(),
                        "takes the input 'moments' (3 numbers for each atom, mu_B): got none, "
                        "expected a value (in LAMMPS, pair_style nvalchemi input moments ...");
    }
}

TEST(NamedInputs, OfTheReferenceAreTakenForItAndForSamples) {
    const std::string reference =
        ", 'reference': {'symbols': ['Na', 'Cl'], 'positions': [[0,0,0],[2.5,0.1,0]], "
        "'cell': [[9,0,0],[0,9,0],[0,0,9]], 'pbc': [true,true,true], "
        "'inputs': {'moments': [[1,0,0.5],[0,-1,0]], 'site': [2,0], 'field': [0.3,0]}, "
        "'energy': ENERGY, 'forces': [[0,0,0],[0,0,0]]}";
    const auto load = [&](const std::string& energy) {
        auto text = reference;
        text.replace(text.find("ENERGY"), 6, energy);
        Session session(scripted_archive(message_network(kBody)), options_of(kMoments, json(text)));
        return sample_atom_inputs(session.card(), 3);
    };
    try {
        load("1000");
        FAIL() << "it was let through";
    } catch (const ModelError& error) {
        EXPECT_CONTAINS(error.what(), "/reference: energy (eV)");
    }
    const auto card =
        parse_model_card(scripted_card(json(", " + kMoments), json([&] {
                                           auto text = reference;
                                           return text.replace(text.find("ENERGY"), 6, "0");
                                       }())),
                         "c.json");
    EXPECT_EQ(sample_atom_inputs(card, 3), (Numbers{1, 0, 0.5, 2, 0, -1, 0, 0, 1, 0, 0.5, 2}));
    EXPECT_EQ(sample_system_inputs(card), (Numbers{0.3, 0}));
}

// --- compositions --------------------------------------------------------------------------------

ArchiveToCompose part(const std::string& body, const std::string& inputs) {
    ArchiveToCompose result;
    result.bytes = scripted_archive(message_network(body));
    result.options = options_of(inputs);
    return result;
}

TEST(NamedInputs, OfOneNameAreOneInputOfAComposition) {
    const auto field = part("    h = h + torch.zeros_like(h).index_add(0, i, m) * data['a'][1]\n",
                            "'a': {'role': 'system_input', 'name': 'field', 'columns': 2, "
                            "'default': [0.5, -1]}, 'n': {'role': 'atom_input', 'name': 'moments', "
                            "'columns': 3, 'unit': 'mu_B'}");

    const auto composed = compose_archives({part(kBody, kMoments), field}, "sum");

    EXPECT_GE(composed.energy_difference, 0);
    EXPECT_LT(composed.energy_difference, 1e-11);
    SessionOptions options;
    options.path = "composed.pt";
    options.device = "cpu";
    Session session(composed.bytes, options);
    EXPECT_EQ(titles_of_inputs(session.card()),
              "'moments' (3 numbers for each atom, mu_B), 'site' (1 whole number for each atom), "
              "'field' (2 numbers for the system)");
    const auto found = difference_in_parts(session, {{"a cell", sample_structure(session.card())}});
    EXPECT_LT(found.relative, 1e-12) << found.where;
}

TEST(NamedInputs, OfOneNameThatDifferAreNotComposed) {
    const auto other = part("    h = h + torch.zeros_like(h).index_add(0, i, m) * data['a'][1]\n",
                            "'a': {'role': 'system_input', 'name': 'field', 'columns': 2}");
    try {
        compose_archives({part(kBody, kMoments), other}, "sum");
        FAIL() << "it was let through";
    } catch (const std::runtime_error& error) {
        EXPECT_CONTAINS(error.what(),
                        "compose: the parts take different inputs under the name 'field', expected "
                        "the same role, columns, dtype, unit and default");
    }
}

}  // namespace
}  // namespace nvalchemi
