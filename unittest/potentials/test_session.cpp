// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/session.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "potentials/sample_structure.hpp"
#include "potentials/torch_release.hpp"
#include "unittest/potentials/card_text.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {

namespace {

const char* const LAYER = "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";

SessionOptions options_for(const std::string& card) {
    SessionOptions options;
    options.path = "network.pt";
    options.device = "cpu";
    options.card_text = card;
    options.card_path = "network.card.json";
    return options;
}

std::string replaced(std::string text, const std::string& old_part, const std::string& new_part) {
    const auto at = text.find(old_part);
    EXPECT_NE(at, std::string::npos) << "'" << old_part << "' is not in the text";
    return text.replace(at, old_part.size(), new_part);
}

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "(nothing was refused)";
}

std::string load_message(const std::string& archive, const SessionOptions& options) {
    return message_of([&] { Session session(archive, options); });
}

void expect_part(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "expected '" << part << "' in: " << text;
}

std::string two_layers() { return scripted_archive(message_network(std::string(LAYER) + LAYER)); }

/// Energy of the sample structure with one coordinate of one atom moved.
double moved_energy(Session& session, SampleStructure structure, std::size_t coordinate,
                    double step) {
    structure.positions[coordinate] += step;
    const bool periodic[3] = {true, true, true};
    structure.edges = neighbor_search(structure.positions, structure.cell, periodic, 5.0);
    return session.evaluate_undecomposed(undecomposed_graph(structure).view()).energy;
}

}  // namespace

TEST(Session, RefusesAFileThatIsNoZipArchive) {
    const auto text = load_message("this is no model", options_for(scripted_card()));
    expect_part(text, "network.pt: got a file of 16 bytes that is no zip archive");
    expect_part(text, "torch.jit.save");
}

TEST(Session, RefusesADamagedArchive) {
    auto archive = two_layers();
    archive.resize(archive.size() / 2);
    expect_part(load_message(archive, options_for(scripted_card())),
                "network.pt: got a file that LibTorch cannot load");
}

TEST(Session, RefusesAnArchiveWithoutACard) {
    auto options = options_for(scripted_card());
    options.card_text.reset();
    expect_part(load_message(two_layers(), options),
                "network.pt: got an archive without a model card");
}

TEST(Session, NamesTheFieldOfABadCard) {
    const auto card = replaced(scripted_card(), "\"cutoff\": 5.0", "\"cutoff\": -1.0");
    expect_part(load_message(two_layers(), options_for(card)), "network.card.json /cutoff");
}

TEST(Session, ComparesTheNumberOfExchangesWithTheCard) {
    const auto card =
        replaced(scripted_card(), "\"ops\": []", "\"ops\": [], \"expected_exchanges\": 3");
    const auto text = load_message(two_layers(), options_for(card));
    expect_part(text, "/expected_exchanges: got 3, but the distribution pass finds 1");
    expect_part(text, "1. halo_forward, width 4");
}

TEST(Session, NamesAnOperatorLibraryThatCannotBeLoaded) {
    const auto card = replaced(scripted_card(), "\"ops\": []", "\"ops\": [\"libmissing_ops.so\"]");
    expect_part(load_message(two_layers(), options_for(card)),
                "operator library 'libmissing_ops.so' cannot be loaded");
}

TEST(Session, NamesADeclaredOutputThatIsMissing) {
    const auto card = replaced(scripted_card(), "\"energies\": {\"role\"", "\"e\": {\"role\"");
    expect_part(load_message(two_layers(), options_for(card)), "the declared output 'e'");
}

TEST(Session, NamesAnOutputOfAnotherShape) {
    auto archive = message_network(LAYER);
    const auto end = archive.rfind('}');
    ASSERT_NE(end, std::string::npos) << archive;
    archive.insert(end, ", 'h': h");
    const auto with = [](const std::string& record) {
        return replaced(scripted_card(), "\"outputs\": {", "\"outputs\": {\"h\": " + record + ", ");
    };
    const auto text = [&](const std::string& kind, const std::string& shape) {
        const auto record =
            R"({"role": "other", "kind": ")" + kind + R"(", "shape": ")" + shape + "\"}";
        return load_message(scripted_archive(archive), options_for(with(record)));
    };

    EXPECT_EQ(text("per_node", "(rows,4)"), "(nothing was refused)");
    expect_part(text("per_node", "(rows)"), "output 'h' of model 'scripted': got shape [");
    expect_part(text("per_node", "(rows)"), "expected (rows) as the model card says; correct the");
    expect_part(text("per_node", "(rows,3)"), "expected (rows,3) as the model card says");
    expect_part(text("per_graph", "(4)"), "expected (4) as the model card says");
}

/// LibTorch writes getattr(self, "NN-0") for what is no name of Python; see check_code in
/// archive.cpp.
TEST(Session, TakesSubmodulesOfAnyName) {
    const ScriptedModel model{
        message_network(std::string(LAYER) + "    h = getattr(self, \"NN-0\").double_it(h)\n"),
        {},
        {{"NN-0", "net.parts.Doubled",
          "def double_it(self, x: Tensor) -> Tensor:\n"
          "    return 2.0 * x\n"}}};
    EXPECT_EQ(load_message(scripted_archive(model), options_for(scripted_card())),
              "(nothing was refused)");
}

TEST(Session, NamesAKeyThatTheModelReadsButTheCardLacks) {
    const auto archive =
        scripted_archive(message_network("    h = h * data['charges'].unsqueeze(1)\n"));
    expect_part(load_message(archive, options_for(scripted_card())),
                "the model reads the key 'charges'");
}

TEST(Session, RefusesADeviceThatDoesNotExist) {
    auto options = options_for(scripted_card());
    options.device = "cuda:77";
    const auto text = load_message(two_layers(), options);
    expect_part(text, "device: got 'cuda:77'");
}

TEST(Session, NamesTheRowOfAnEnergyThatIsNotFinite) {
    auto options = options_for(scripted_card());
    options.self_test = false;
    const auto archive = scripted_archive(
        message_network("    h = h + torch.zeros_like(h).index_add(0, i, m / 0.0)\n"));
    expect_part(load_message(archive, options), "the energy of owned row 0 is not finite");
}

TEST(Session, TheSelfTestCatchesWhatThePassCannotSee) {
    // The number of ranks is a number like any other; results must not depend on it.
    const auto body = std::string(LAYER) + R"(
    context = ops.nvalchemi_lmp.current_dd_context()
    h = h * torch.sigmoid(h * context[2])
)";
    const auto text =
        load_message(scripted_archive(message_network(body)), options_for(scripted_card()));
    expect_part(text, "atoms in parts does not reproduce the undecomposed model");
}

TEST(Session, TheSelfTestNamesWhatTheEnergyDependsOnBesidesEdgeVectors) {
    const auto load = [](const std::string& body, const std::string& inputs) {
        return load_message(scripted_archive(message_network(std::string(LAYER) + body)),
                            options_for(scripted_card(testing::json(inputs))));
    };
    const std::string good = "(nothing was refused)";
    const std::string volume = "    h = h + 0.001 * torch.det(data['cell'])\n";
    const std::string height = "    h = h + 0.1 * torch.cos(data['pos'][:, 2:3])\n";

    expect_part(load(volume, ", 'cell': {'role': 'cell'}"),
                "its energy depends on the cell (input 'cell') besides edge vectors, which the "
                "model card does not say; the pressure would lack that part. Declare "
                "\"requires_grad\": true for that input");
    expect_part(load(height, ", 'pos': {'role': 'positions'}"),
                "its energy depends on the positions (input 'pos') besides edge vectors, which the "
                "model card does not say; forces would lack that part. Declare "
                "\"requires_grad\": true for that input");
    EXPECT_EQ(load(volume, ", 'cell': {'role': 'cell', 'requires_grad': true}"), good);
    EXPECT_EQ(load(height, ", 'pos': {'role': 'positions', 'requires_grad': true}"), good);
    EXPECT_EQ(load(replaced(volume, "['cell']", "['cell'].detach()"), ", 'cell': {'role': 'cell'}"),
              good);
}

TEST(Session, NamesTheOperatorThatMeetsAConstantOfAnotherDevice) {
    const auto body = std::string(LAYER) +
                      "    shift = torch.ones([4], dtype=h.dtype, device='meta')\n"
                      "    h = torch.tanh(h).addcmul(h, shift)\n" +
                      LAYER;
    const auto text =
        load_message(scripted_archive(message_network(body)), options_for(scripted_card()));
    expect_part(text, "addcmul");
    expect_part(text, "meta");
}

TEST(Session, ForcesAreTheDerivativeOfTheEnergy) {
    Session session(two_layers(), options_for(scripted_card()));
    const auto structure = sample_structure(session.card());
    const auto graph = undecomposed_graph(structure);
    const auto evaluation = session.evaluate_undecomposed(graph.view());
    std::vector<double> forces(3 * structure.size(), 0.0);
    for (std::int64_t edge = 0; edge < structure.edges.size(); ++edge)
        for (int k = 0; k < 3; ++k) {
            forces[3 * structure.edges.receiver[edge] + k] +=
                evaluation.edge_gradients[3 * edge + k];
            forces[3 * structure.edges.sender[edge] + k] -= evaluation.edge_gradients[3 * edge + k];
        }

    const double h = 1e-4;
    for (std::size_t coordinate = 0; coordinate < forces.size(); coordinate += 7) {
        const double slope = (8 * (moved_energy(session, structure, coordinate, h) -
                                   moved_energy(session, structure, coordinate, -h)) -
                              (moved_energy(session, structure, coordinate, 2 * h) -
                               moved_energy(session, structure, coordinate, -2 * h))) /
                             (12 * h);
        EXPECT_NEAR(forces[coordinate], -slope, 1e-8) << "coordinate " << coordinate;
    }
}

TEST(Session, OneProcessAgreesWithTheArchiveAsItIs) {
    Session session(two_layers(), options_for(scripted_card()));
    const auto graph = undecomposed_graph(sample_structure(session.card()));
    SerialExchange exchange(graph.n_owned);
    const auto ours = session.evaluate(graph.view(), exchange);
    const auto whole = session.evaluate_undecomposed(graph.view());
    EXPECT_NEAR(ours.energy, whole.energy, 1e-12);
    ASSERT_EQ(ours.edge_gradients.size(), whole.edge_gradients.size());
    for (std::size_t k = 0; k < ours.edge_gradients.size(); ++k)
        EXPECT_NEAR(ours.edge_gradients[k], whole.edge_gradients[k], 1e-12);
}

TEST(Session, ResultsThatStayAreThoseThatAreCopied) {
    Session session(two_layers(), options_for(scripted_card()));
    const auto storage = undecomposed_graph(sample_structure(session.card()));
    SerialExchange exchange(storage.n_owned);
    auto graph = storage.view();
    const auto copied = session.evaluate(graph, exchange);
    graph.results_stay = true;

    const auto stayed = session.evaluate(graph, exchange);

    EXPECT_EQ(stayed.energy, copied.energy);
    EXPECT_TRUE(stayed.atomic_energies.empty());
    EXPECT_TRUE(stayed.edge_gradients.empty());
    const auto results = results_of(stayed), expected = results_of(copied);
    for (std::int64_t row = 0; row < graph.n_owned; ++row)
        EXPECT_EQ(results.atomic_energies[row], expected.atomic_energies[row]);
    for (std::int64_t k = 0; k < 3 * graph.n_edges; ++k)
        EXPECT_EQ(results.edge_gradients[k], expected.edge_gradients[k]);
    EXPECT_EQ(results.row_forces, nullptr);
}

TEST(Session, RefusesResultsThatStayInAnotherMemory) {
    Session session(two_layers(), options_for(scripted_card()));
    const auto storage = undecomposed_graph(sample_structure(session.card()));
    SerialExchange exchange(storage.n_owned);
    auto graph = storage.view();
    graph.results_stay = true;
    graph.cuda_device = 3;
    expect_part(message_of([&] { session.evaluate(graph, exchange); }),
                "got a graph on GPU 3 whose results stay there, expected one on the model's "
                "device, cpu");
}

TEST(Session, EnergyUnitsAreConverted) {
    Session electronvolt(two_layers(), options_for(scripted_card()));
    Session kilocalories(two_layers(),
                         options_for(replaced(scripted_card(), "\"eV\"", "\"kcal/mol\"")));
    const auto graph = undecomposed_graph(sample_structure(electronvolt.card()));
    // 1 kcal/mol = 4184 J / N_A; 1 eV = 1.602176634e-19 J
    const double factor = 4184.0 / 6.02214076e23 / 1.602176634e-19;
    EXPECT_NEAR(kilocalories.evaluate_undecomposed(graph.view()).energy,
                factor * electronvolt.evaluate_undecomposed(graph.view()).energy, 1e-12);
}

TEST(Session, ScheduleHasOneReverseForEachForward) {
    Session session(two_layers(), options_for(scripted_card()));
    const std::vector<ExchangeEvent> expected{{ExchangeEvent::Kind::Forward, 4},
                                              {ExchangeEvent::Kind::Reverse, 4}};
    EXPECT_EQ(session.schedule(), expected);
}

TEST(LaterTorch, IsOfALaterReleaseByItsFirstTwoNumbers) {
    EXPECT_TRUE(is_later_torch("2.12.0", "2.11.0+cpu"));
    EXPECT_TRUE(is_later_torch("3.0.0", "2.11.1"));
    EXPECT_TRUE(is_later_torch("2.10.0", "2.9.1"));  // as numbers, not as text
    EXPECT_FALSE(is_later_torch("2.11.9", "2.11.0"));
    EXPECT_FALSE(is_later_torch("2.9.1", "2.10.0"));
    EXPECT_FALSE(is_later_torch("", "2.11.0"));
    EXPECT_FALSE(is_later_torch("2.12.0", "unknown"));
}

TEST(LaterTorch, NoteNamesBothVersionsAndWhatToDo) {
    const auto running = Session::torch_version_running();

    EXPECT_EQ(
        note_on_later_torch("99.1.0").find("written by torch 99.1.0, later than the LibTorch " +
                                           running + " that runs; export it again with torch " +
                                           running.substr(0, running.find('.', 2))),
        0U);
    EXPECT_EQ(note_on_later_torch(running), "");
    EXPECT_EQ(note_on_later_torch("1.13.1"), "");
}

TEST(Session, TellsTheRunningTorchVersion) {
    EXPECT_EQ(Session::torch_version_running().substr(0, 3),
              Session::torch_version_built().substr(0, 3));
}

}  // namespace nvalchemi
