// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include "unittest/potentials/card_text.hpp"

namespace nvalchemi {

using namespace testing;

namespace {

/// The card without one top-level member; the members in the order of the text.
std::string without_member(const std::string& key) {
    const std::vector<std::string> keys = {"format",        "format_version", "name",   "family",
                                           "cutoff",        "units",          "dtype",  "species",
                                           "species_index", "forward",        "inputs", "edges",
                                           "rows",          "outputs",        "forces", "ops"};
    const auto next = std::find(keys.begin(), keys.end(), key) + 1;
    const std::size_t begin = kCard.find("\"" + key + "\": ");
    if (next == keys.end()) return kCard.substr(0, begin - 2) + "}";
    return kCard.substr(0, begin) + kCard.substr(kCard.find("\"" + *next + "\": "));
}

}  // namespace

TEST(ParseModelCard, RejectsForeignFiles) {
    EXPECT_EQ(refusal_of_card("{}"),
              "c.json /: got no key \"format\", expected one (a model card has \"format\": "
              "\"nvalchemi-model\")");
    EXPECT_EQ(refusal("nvalchemi-model", "other"),
              "c.json /format: got \"other\", expected \"nvalchemi-model\" (is this file the card "
              "of a model?)");
    EXPECT_EQ(refusal("'format_version': 1", "'format_version': 2"),
              "c.json /format_version: got 2, expected 1 (export the model again with the exporter "
              "of this version)");
    EXPECT_EQ(refusal("'ops': []", "'ops': [], 'colour': 1"),
              "c.json /colour: got the unknown key \"colour\", expected one of \"format\", "
              "\"format_version\", \"name\", \"family\", \"cutoff\", \"units\", \"dtype\", "
              "\"species\", \"species_index\", \"forward\", \"inputs\", \"edges\", \"rows\", "
              "\"outputs\", \"forces\", \"ops\", \"spec\", \"reference\", \"expected_exchanges\", "
              "\"backward_communicates\", \"triplets\", \"torch_version\"");
}

TEST(ParseModelCard, RequiresEveryKeyOfTheFormat) {
    for (const std::string key :
         {"format", "format_version", "name", "family", "cutoff", "units", "dtype", "species",
          "species_index", "forward", "inputs", "edges", "rows", "outputs", "forces", "ops"}) {
        const std::string message = refusal_of_card(without_member(key));
        EXPECT_EQ(message.find("c.json /: got no key \"" + key + "\", expected"), 0U) << message;
    }
}

TEST(ParseModelCard, NamesAMissingKey) {
    EXPECT_EQ(refusal("'cutoff': 5.0, ", ""), "c.json /: got no key \"cutoff\", expected one");
    EXPECT_EQ(refusal(", 'ops': []", ""),
              "c.json /: got no key \"ops\", expected one (an empty array if none is needed)");
    EXPECT_EQ(refusal("'list': 'full', ", ""),
              "c.json /edges: got no key \"list\", expected one (add \"list\": \"full\")");
    EXPECT_EQ(refusal("'length': 'Angstrom', ", ""),
              "c.json /units: got no key \"length\", expected one (add \"length\": \"Angstrom\")");
    EXPECT_EQ(refusal(", 'shape': '(rows,1)'", ""),
              "c.json /outputs/e: got no key \"shape\", expected one (such as \"(rows,1)\")");
    EXPECT_EQ(refusal("'role': 'species_index'", ""),
              "c.json /inputs/types: got no key \"role\", expected one (say what the model finds "
              "there)");
}

TEST(ParseModelCard, RejectsUnknownKeysInsideItsParts) {
    const std::string unknown = ": got the unknown key \"z\", expected one of ";

    EXPECT_EQ(refusal("'length':", "'z': 1, 'length':"),
              "c.json /units/z" + unknown + "\"length\", \"energy\"");
    EXPECT_EQ(refusal("'style':", "'z': 1, 'style':"),
              "c.json /forward/z" + unknown + "\"style\", \"arguments\"");
    EXPECT_EQ(refusal("'role': 'edge_vectors'", "'role': 'edge_vectors', 'z': 1"),
              "c.json /inputs/edge_vec/z" + unknown +
                  "\"role\", \"shape\", \"value\", \"requires_grad\"");
    EXPECT_EQ(refusal("'list':", "'z': 1, 'list':"),
              "c.json /edges/z" + unknown + "\"list\", \"receiver_row\", \"sender_row\"");
    EXPECT_EQ(
        refusal("'kind':", "'z': 1, 'kind':"),
        "c.json /outputs/e/z" + unknown + "\"role\", \"kind\", \"shape\", \"autograd\", \"sign\"");
    EXPECT_EQ(
        refusal_of_card(card_and("'reference': {'z': 1}")),
        "c.json /reference/z" + unknown +
            "\"symbols\", \"positions\", \"cell\", \"pbc\", \"charges\", \"inputs\", \"energy\", "
            "\"energies\", \"forces\", \"stress\", \"total_charge\"");
}

TEST(ParseModelCard, RejectsWrongFacts) {
    EXPECT_EQ(refusal("'name': 'm'", "'name': ''"),
              "c.json /name: got \"\", expected a string that is not empty");
    EXPECT_EQ(refusal("5.0", "0"), "c.json /cutoff: got 0, expected a positive length in Angstrom");
    EXPECT_EQ(refusal("5.0", "1e300"),
              "c.json /cutoff: got 1e+300, expected a length in Angstrom of at most 1000");
    EXPECT_EQ(refusal("5.0", "1e-320"),
              "c.json /cutoff: got 1e-320, expected a length in Angstrom of at least 0.1");
    EXPECT_EQ(refusal("5.0", "\"5\""), "c.json /cutoff: got \"5\", expected a number");
    EXPECT_EQ(refusal("Angstrom", "Bohr"),
              "c.json /units/length: got \"Bohr\", expected \"Angstrom\" (no other length unit is "
              "supported; export a model that takes Angstrom)");
    EXPECT_EQ(refusal("\"eV\"", "\"Ry\""),
              "c.json /units/energy: got \"Ry\", expected one of \"eV\", \"kcal/mol\", "
              "\"Hartree\"");
    EXPECT_EQ(refusal("float64", "bfloat16"),
              "c.json /dtype: got \"bfloat16\", expected one of \"float32\", \"float64\"");
    EXPECT_EQ(refusal("folded", "padded"),
              "c.json /rows: got \"padded\", expected one of \"folded\", \"raw\"");
    EXPECT_EQ(refusal("'forces': 'edge_vectors'", "'forces': 'none'"),
              "c.json /forces: got \"none\", expected one of \"edge_vectors\", \"positions\", "
              "\"model\"");
    EXPECT_EQ(refusal("'ops': []", "'ops': ['a.so', 'a.so']"),
              "c.json /ops/1: got \"a.so\" a second time, expected each name once (remove one of "
              "the two)");
}

TEST(ParseModelCard, RejectsBadSpecies) {
    EXPECT_EQ(refusal("'Na']", "'NA']"),
              "c.json /species/1: got \"NA\", expected an element symbol such as \"Na\"");
    EXPECT_EQ(refusal("'Na']", "'O']"),
              "c.json /species/1: got \"O\" a second time, expected each name once (remove one of "
              "the two)");
    EXPECT_EQ(refusal("['O', 'Na']", "[]"),
              "c.json /species: got an empty array, expected at least one element symbol");
    EXPECT_EQ(refusal("[0, 0]", "[0]"),
              "c.json /species_index: got an array of 1 element, expected 2 integers, one for each "
              "of /species");
    EXPECT_EQ(refusal("[0, 0]", "[0, -1]"),
              "c.json /species_index/1: got -1, expected an index of 0 or more");
    EXPECT_EQ(refusal("[0, 0]", "[0, 1.0]"),
              "c.json /species_index/1: got 1.0, expected an integer");
}

TEST(ParseModelCard, RejectsBadEdges) {
    EXPECT_EQ(refusal("\"full\"", "\"half\""),
              "c.json /edges/list: got \"half\", expected \"full\" (each pair of atoms comes once "
              "in each direction; other lists are not supported)");
    EXPECT_EQ(refusal("'receiver_row': 0", "'receiver_row': 2"),
              "c.json /edges/receiver_row: got 2, expected 0 or 1");
    EXPECT_EQ(refusal("'receiver_row': 0", "'receiver_row': 1"),
              "c.json /edges/sender_row: got 1, expected the row of edge_index that is not the "
              "receiver's (receiver_row is 1 too)");
}

TEST(ParseModelCard, RejectsBadForward) {
    const auto forward = [](const std::string& text) {
        return refusal("{'style': 'dict', 'arguments': []}", text);
    };

    EXPECT_EQ(forward("{'style': 'kwargs', 'arguments': []}"),
              "c.json /forward/style: got \"kwargs\", expected one of \"dict\", \"positional\"");
    EXPECT_EQ(forward("{'style': 'dict', 'arguments': [{'role': 'positions'}]}"),
              "c.json /forward/arguments: got an array of 1 element, expected an empty array "
              "(style \"dict\" passes one dictionary of all inputs; arguments belong to style "
              "\"positional\")");
    EXPECT_EQ(forward("{'style': 'positional', 'arguments': []}"),
              "c.json /forward/arguments: got an empty array, expected at least one argument "
              "(style \"positional\" lists them in order)");
    EXPECT_EQ(forward("{'style': 'positional', 'arguments': [true]}"),
              "c.json /forward/arguments/0: got true, expected an object");
    EXPECT_EQ(forward("{'style': 'positional', 'arguments': [{'role': 'dict'}, "
                      "{'role': 'dict'}]}"),
              "c.json /forward/arguments/1: got a second \"dict\", expected at most one (remove "
              "it)");
    EXPECT_EQ(forward("{'style': 'positional', 'arguments': [{'role': 'dict', 'shape': '()'}] "
                      "}"),
              "c.json /forward/arguments/0: got a \"dict\" with a shape or requires_grad, expected "
              "the role alone");
    EXPECT_EQ(forward("{'style': 'positional', 'arguments': [{'role': 'edge_vectors'}]}"),
              "c.json /inputs: got an object of 2 keys, expected an empty object (no argument of "
              "/forward/arguments has the role \"dict\", so the model would not get these inputs; "
              "add {\"role\": \"dict\"} there)");
    EXPECT_EQ(
        refusal("{'types': {'role': 'species_index'}, 'edge_vec': {'role': 'edge_vectors'}}", "{}"),
        "c.json /inputs: got an empty object, expected at least one input (the model takes a "
        "dictionary of them)");
}

TEST(ParseModelCard, RejectsBadInputs) {
    const auto input = [](const std::string& record) {
        return refusal_of_card(card_with_inputs("'x': " + record));
    };

    EXPECT_EQ(input("{'role': 'weights'}"),
              "c.json /inputs/x/role: got \"weights\", expected one of \"species_index\", "
              "\"species_one_hot\", \"positions\", \"edge_index\", \"edge_vectors\", "
              "\"edge_shifts\", \"edge_cell_shifts\", \"cell\", \"setup_cell\", \"batch\", "
              "\"batch_pointer\", "
              "\"n_rows\", \"n_owned\", \"owned_mask\", \"charges\", \"total_charge\", "
              "\"atom_input\", \"system_input\", "
              "\"neighbor_matrix\", \"neighbor_mask\", \"constant\", \"dict\"");
    for (const std::string entry :
         {"'role': 'cell', 'shape': '(rows,neighbors)'",
          "'role': 'edge_vectors', 'shape': '(neighbors,3)'",
          "'role': 'edge_vectors', 'shape': '(neighbors,rows,3)'",
          "'role': 'neighbor_matrix', 'shape': '(rows,neighbors,neighbors)'"})
        EXPECT_NE(
            input("{" + entry + "}")
                .find(
                    "expected a shape without \"neighbors\" (it stands second, behind \"rows\", in "
                    "the shape of neighbor_matrix, neighbor_mask, edge_vectors, edge_shifts and "
                    "edge_cell_shifts)"),
            std::string::npos)
            << input("{" + entry + "}");
    EXPECT_EQ(input("{'role': 'dict'}"),
              "c.json /inputs/x/role: got \"dict\", expected a role of one tensor (\"dict\" stands "
              "for all inputs together, in /forward/arguments only)");
    EXPECT_EQ(input("{'role': 'cell', 'value': 1}"),
              "c.json /inputs/x/value: got a value, expected none (only role \"constant\" has "
              "one)");
    EXPECT_EQ(input("{'role': 'constant'}"),
              "c.json /inputs/x: got no key \"value\", expected one (a constant needs its value)");
    EXPECT_EQ(input("{'role': 'edge_index', 'requires_grad': true}"),
              "c.json /inputs/x/requires_grad: got true, expected false (an input of role "
              "\"edge_index\" is not a floating-point tensor)");
    EXPECT_EQ(input("{'role': 'constant', 'value': 1, 'requires_grad': true}"),
              "c.json /inputs/x/requires_grad: got true, expected false (an input of role "
              "\"constant\" is not a floating-point tensor)");
    for (const std::string shape : {"\"rows\"", "\"(row)\"", "\"(-1)\"", "\"(1;2)\"", "\"(,)\"",
                                    "\"(3000000000)\"", "[1]", "\"\"", "\"(1,,2)\""}) {
        EXPECT_EQ(input("{'role': 'cell', 'shape': " + shape + "}")
                      .find("c.json /inputs/x/shape: got " +
                            (shape == "[1]" ? "an array of 1 element" : shape) +
                            ", expected a shape such as \"(rows,3)\", \"(edges,3)\", \"(1,3,3)\" "
                            "or \"()\" for a scalar"),
                  0U)
            << shape;
    }
}

TEST(ParseModelCard, RejectsBadConstants) {
    const auto constant = [](const std::string& value) {
        return refusal_of_card(
            card_with_inputs("'x': {'role': 'constant', 'value': " + value + "}"));
    };
    const std::string place = "c.json /inputs/x/value";

    EXPECT_EQ(constant("null"), place + ": got null, expected a number or a boolean");
    EXPECT_EQ(constant("[\"a\"]"), place + "/0: got \"a\", expected a number or a boolean");
    EXPECT_EQ(constant("[true, 1]"),
              place + ": got booleans and numbers in one constant, expected one kind");
    EXPECT_EQ(constant("[[1, 2], [3]]"),
              place +
                  "/1: got an array of 1 element, expected 2 elements like its neighbors (make "
                  "the array rectangular)");
    EXPECT_EQ(constant("[[1], 2]"), place +
                                        "/1: got 2, expected an array like its neighbors (make "
                                        "the array rectangular)");
    EXPECT_EQ(constant("[1, [2]]"), place +
                                        "/1: got an array of 1 element, expected a number like "
                                        "its neighbors (make the array rectangular)");
    EXPECT_EQ(constant("9007199254740993"), place +
                                                ": got 9007199254740993, expected an integer "
                                                "of at most 2^53 in magnitude");
    EXPECT_EQ(constant("[1, 2], 'shape': '(3)'"),
              "c.json /inputs/x/shape: got \"(3)\", expected a shape of 2 elements, as many as the "
              "value has (the value itself has shape (2))");
    EXPECT_EQ(constant("[1], 'shape': '(rows)'"),
              "c.json /inputs/x/shape: got \"(rows)\", expected a shape of numbers (a constant "
              "does not depend on the system)");
}

TEST(ParseModelCard, RejectsBadOutputs) {
    const auto output = [](const std::string& record) {
        return refusal_of_card(card_with_outputs("'x': " + record));
    };

    EXPECT_EQ(output("{'role': 'dipole'}"),
              "c.json /outputs/x/role: got \"dipole\", expected one of \"atomic_energies\", "
              "\"energy\", \"forces\", \"virial\", \"stress\", \"charges\", \"other\"");
    EXPECT_EQ(output("{'role': 'energy', 'kind': 'per_system'}"),
              "c.json /outputs/x/kind: got \"per_system\", expected one of \"per_node\", "
              "\"per_graph\", \"global\", \"unknown\"");
    EXPECT_EQ(output("{'role': 'energy', 'kind': 'global', 'shape': '()'}"),
              "c.json /outputs/x/kind: got \"global\", expected \"per_graph\" (that is the kind of "
              "role \"energy\")");
    EXPECT_EQ(output("{'role': 'virial', 'kind': 'per_graph', 'shape': '(6)'}"),
              "c.json /outputs/x/shape: got \"(6)\", expected (3,3) or (1,3,3) (that is what role "
              "\"virial\" holds)");
    EXPECT_EQ(output("{'role': 'other', 'kind': 'per_node', 'shape': '(3)'}"),
              "c.json /outputs/x/shape: got \"(3)\", expected a shape (rows,...) (a per_node "
              "output has one row per atom)");
    EXPECT_EQ(output("{'role': 'other', 'kind': 'per_graph', 'shape': '(rows)'}"),
              "c.json /outputs/x/shape: got \"(rows)\", expected a shape of numbers (a per_graph "
              "output has a fixed size)");
    EXPECT_EQ(output("{'role': 'other', 'kind': 'global', 'shape': '()', 'sign': 'dE_dstrain'}"),
              "c.json /outputs/x/sign: got a sign, expected none (only the roles \"virial\" and "
              "\"stress\" have one)");
    EXPECT_EQ(output("{'role': 'stress', 'kind': 'per_graph', 'shape': '(3,3)', 'sign': '+'}"),
              "c.json /outputs/x/sign: got \"+\", expected one of \"minus_dE_dstrain\", "
              "\"dE_dstrain\"");
    EXPECT_EQ(output("{'role': 'atomic_energies', 'kind': 'per_node', 'shape': '(rows)'}"),
              "c.json /outputs/x/role: got \"atomic_energies\", expected a role that no other "
              "output has (one of the two outputs must be \"other\")");
    EXPECT_EQ(refusal("atomic_energies", "other"),
              "c.json /outputs: got no output of role \"atomic_energies\", expected one (the "
              "energy of a part of the system is the sum over its own atoms; export a model that "
              "returns the energy of each atom)");
}

TEST(ParseModelCard, RejectsForcesWithoutTheirSource) {
    const auto forces = [](const std::string& text, const std::string& source) {
        return refusal_of_card(
            replaced(text, "'forces': 'edge_vectors'", "'forces': '" + source + "'"));
    };

    EXPECT_EQ(refusal("{'role': 'edge_vectors'}", "{'role': 'positions'}"),
              "c.json /forces: got \"edge_vectors\", expected an input of role \"edge_vectors\" "
              "with it (declare that input, or use \"positions\" or \"model\")");
    EXPECT_EQ(forces(kCard, "positions"),
              "c.json /forces: got \"positions\", expected an input of role \"positions\" with it "
              "(declare that input, or use \"edge_vectors\" or \"model\")");
    EXPECT_EQ(forces(kCard, "model"),
              "c.json /forces: got \"model\", expected an output of role \"forces\" with it "
              "(declare that output, or use \"edge_vectors\" or \"positions\")");
}

TEST(ParseModelCard, RejectsRowsThatLoseTheImageShift) {
    const std::string positions_only =
        replaced(card_with("{'role': 'edge_vectors'}", "{'role': 'positions'}"),
                 "'forces': 'edge_vectors'", "'forces': 'positions'");
    const std::string with_shifts =
        replaced(positions_only, "'inputs': {", "'inputs': {'s': {'role': 'edge_shifts'}, ");

    EXPECT_EQ(refusal_of_card(positions_only),
              "c.json /rows: got \"folded\", expected \"raw\" (the model forms distances from "
              "positions, and a folded row has lost its periodic image's shift; raw rows keep one "
              "row for each image)");
    EXPECT_EQ(refusal_of_card(with_shifts),
              "c.json /rows: got \"folded\", expected \"raw\" (forces come from positions: the "
              "periodic image shift must be in the row's position, not only in the edge shifts; "
              "raw rows carry it and their edge shifts are zero)");
    EXPECT_EQ(parse(replaced(positions_only, "folded", "raw")).rows, RowMode::Raw);
    EXPECT_EQ(parse(replaced(with_shifts, "folded", "raw")).rows, RowMode::Raw);
    EXPECT_EQ(refusal("folded", "raw"),
              "c.json /rows: got \"raw\", expected \"folded\" (raw rows are for models with an "
              "input of role \"positions\", which this card does not have)");
}

TEST(ParseModelCard, RejectsBadOptionalFacts) {
    const auto fact = [](const std::string& member) { return refusal_of_card(card_and(member)); };
    const auto reference = [&](const std::string& from, const std::string& to) {
        return fact(replaced(json("'reference': {'symbols': ['O'], 'positions': [[0, 0, 0]], "
                                  "'cell': [[9, 0, 0], [0, 9, 0], [0, 0, 9]], 'pbc': [true, true, "
                                  "true], 'energy': 0, "
                                  "'forces': [[0, 0, 1]]}"),
                             from, to));
    };

    EXPECT_EQ(fact("'expected_exchanges': -1"),
              "c.json /expected_exchanges: got -1, expected a count of 0 or more");
    EXPECT_EQ(fact("'backward_communicates': 1"),
              "c.json /backward_communicates: got 1, expected true or false");
    EXPECT_EQ(fact("'triplets': 'all'"),
              "c.json /triplets: got \"all\", expected \"by_receiver\" (only triplets of edges "
              "that share their receiver are supported)");
    for (const std::string version : {"two", "2", "2.", ".11", "2.x"})
        EXPECT_EQ(fact("'torch_version': '" + version + "'"),
                  "c.json /torch_version: got \"" + version +
                      "\", expected a version such as \"2.11.0\"");
    EXPECT_EQ(fact("'spec': {'version': 2, 'core': {'policy': {'kind': 'shard'}}}")
                  .find("c.json /spec/core/policy/kind: got \"shard\""),
              0U);
    EXPECT_EQ(reference("symbols", "symbols"), "(accepted)");
    EXPECT_EQ(reference("[\"O\"]", "[\"Si\"]"),
              "c.json /reference/symbols/0: got \"Si\", expected one of the card's species (the "
              "model does not know this element)");
    EXPECT_EQ(reference("[\"O\"]", "[]"),
              "c.json /reference/symbols: got an empty array, expected at least one element "
              "symbol");
    EXPECT_EQ(reference("[[0, 0, 1]]", "[]"),
              "c.json /reference/forces: got an empty array, expected an array of length 1 "
              "(rows of 3 numbers)");
    EXPECT_EQ(
        reference("[[0, 0, 0]]", "[[0, 0]]"),
        "c.json /reference/positions/0: got an array of 2 elements, expected an array of length 3 "
        "(numbers)");
    EXPECT_EQ(reference("[true, true, true]", "true"),
              "c.json /reference/pbc: got true, expected an array of booleans");
}

}  // namespace nvalchemi
