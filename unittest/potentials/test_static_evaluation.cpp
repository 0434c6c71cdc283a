// SPDX-License-Identifier: GPL-2.0-only
// Graphs padded to fixed extents give the numbers of graphs as they are, on the CPU: with a
// recorder that runs the work anew. CUDA graphs are tested where there is a GPU.
#include "potentials/static_evaluation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "kernels/register_ops.hpp"
#include "potentials/archive.hpp"
#include "potentials/graph_choice.hpp"
#include "potentials/sample_structure.hpp"
#include "unittest/models/test_archives.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {
namespace {

constexpr double TOLERANCE = 1e-12;
const char* const LAYER = "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";

class RunsAnew final : public GraphRecorder {
  public:
    void warm_up(const std::function<void()>& work) override { work(); }
    void record(const std::function<void()>& work) override { work_ = work; }
    void replay() override { work_(); }

  private:
    std::function<void()> work_;
};

class Refuses final : public GraphRecorder {
  public:
    void warm_up(const std::function<void()>&) override {}
    void record(const std::function<void()>&) override { throw ModelError("planted"); }
    void replay() override {}
};

/// A model, plain and in static form.
struct Model {
    Model(const std::string& archive, const std::string& card_text, const std::string& name)
        : card(parse_model_card(card_text, name)),
          module((register_operators(), load_module(archive, name, torch::kCPU))),
          plain(card, module, torch::kCPU),
          padded(card, plain, torch::kCPU, std::make_unique<RunsAnew>()) {}

    Evaluation evaluate_plain(const AtomGraph& graph) {
        SerialExchange alone(graph.n_rows);
        return plain.evaluate(graph, alone);
    }
    ModelResults run_padded(const AtomGraph& graph) {
        if (padded.prepare(graph)) padded.record();
        return padded.replay();
    }
    Evaluation evaluate_padded(const AtomGraph& graph) {
        return consolidate(card, graph, run_padded(graph));
    }

    ModelCard card;
    torch::jit::Module module;
    DistributedModel plain;
    StaticEvaluation padded;
};

Model scripted(const std::string& body) {
    return {scripted_archive(ScriptedModel{message_network(body), {}, {}}), scripted_card(),
            "network"};
}

void expect_close(const std::vector<double>& found, const std::vector<double>& expected,
                  const std::string& what, double tolerance = TOLERANCE) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    double scale = 1.0;
    for (const double value : expected) scale = std::max(scale, std::abs(value));
    for (std::size_t k = 0; k < found.size(); ++k)
        ASSERT_LE(std::abs(found[k] - expected[k]), tolerance * scale) << what << " " << k;
}

void expect_same(const Evaluation& found, const Evaluation& expected, const std::string& name) {
    expect_close({found.energy}, {expected.energy}, name + ": energy");
    expect_close(found.atomic_energies, expected.atomic_energies, name + ": energies");
    expect_close(found.edge_gradients, expected.edge_gradients, name + ": edge gradients");
    expect_close(found.row_forces, expected.row_forces, name + ": forces");
    expect_close({found.virial, found.virial + 9}, {expected.virial, expected.virial + 9},
                 name + ": virial");
    EXPECT_EQ(found.has_model_virial, expected.has_model_virial) << name;
    for (const auto& [key, extra] : expected.extras)
        expect_close(found.extras.at(key).values, extra.values, name + ": output " + key);
}

/// The same structure with one coordinate moved, so that the number of edges may change.
GraphStorage moved(SampleStructure structure, double cutoff, double step) {
    structure.positions[1] += step;
    const bool periodic[3] = {true, true, true};
    structure.edges = neighbor_search(structure.positions, structure.cell, periodic, cutoff);
    return undecomposed_graph(structure);
}

TEST(Capacity, GrowsWithRoomAndStaysWhileCountsGoUpAndDown) {
    const auto first = capacity_for(1000, 0);

    EXPECT_GT(first, 1000);
    EXPECT_EQ(capacity_for(first, first), first);
    EXPECT_EQ(capacity_for(600, first), first);
    EXPECT_GT(capacity_for(first + 1, first), first + 1);
    EXPECT_LT(capacity_for(100, first), first);
    EXPECT_GT(capacity_for(0, 0), 0);
}

TEST(PaddedGraph, KeepsItsAddressesAndLeavesNothingOfALongerGraph) {
    const auto card = parse_model_card(scripted_card(), "network");
    PaddedGraph padded(card, torch::kCPU);
    const auto structure = sample_structure(card);
    const auto longer = undecomposed_graph(structure);
    auto shorter = longer;
    shorter.receiver.pop_back();
    shorter.sender.pop_back();
    shorter.edge_vector.resize(3 * shorter.receiver.size());

    EXPECT_TRUE(padded.fill(longer.view()));
    const auto* const address = padded.view().edge_vector;
    auto graph = shorter.view();
    graph.n_edges = static_cast<std::int64_t>(shorter.receiver.size());
    EXPECT_FALSE(padded.fill(graph));

    const auto& view = padded.view();
    EXPECT_EQ(view.edge_vector, address);
    for (auto edge = graph.n_edges; edge < view.n_edges; ++edge) {
        EXPECT_GE(view.receiver[edge], graph.n_rows);
        EXPECT_EQ(view.sender[edge], view.receiver[edge] + 1);
        EXPECT_LT(view.sender[edge], view.n_rows);
        const double* const v = view.edge_vector + 3 * edge;
        EXPECT_GT(std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), card.cutoff);
    }
}

/// Operators are faster, and sums have one order, where edges are in the order of receivers.
TEST(PaddedGraph, SpreadsEdgesOverAllSinksInTheOrderOfReceivers) {
    const auto card = parse_model_card(scripted_card(), "network");
    PaddedGraph padded(card, torch::kCPU);
    const auto whole = undecomposed_graph(sample_structure(card));

    for (std::int64_t fewer = 0; fewer < 4; ++fewer) {
        auto graph = whole.view();
        graph.n_edges -= 3 * fewer;
        padded.fill(graph);

        const auto& view = padded.view();
        const std::set<std::int64_t> sinks(view.receiver + graph.n_edges,
                                           view.receiver + view.n_edges);
        EXPECT_TRUE(std::is_sorted(view.receiver + graph.n_edges, view.receiver + view.n_edges));
        EXPECT_EQ(*sinks.begin(), graph.n_owned);
        EXPECT_EQ(static_cast<std::int64_t>(sinks.size()),
                  std::min((view.n_owned - graph.n_owned) / 2, view.n_edges - graph.n_edges));
    }
}

TEST(StaticEvaluation, GivesThePlainNumbersWhileTheNumberOfEdgesChanges) {
    auto model = scripted(std::string(LAYER) + LAYER);
    const auto structure = sample_structure(model.card);
    std::vector<std::int64_t> edges;

    for (const double step : {0.0, 0.9, -0.7, 1.6}) {
        const auto graph = moved(structure, model.card.cutoff, step);
        edges.push_back(graph.view().n_edges);
        expect_same(model.evaluate_padded(graph.view()), model.evaluate_plain(graph.view()),
                    "moved by " + std::to_string(step));
    }

    EXPECT_EQ(model.padded.recordings(), 1);
    EXPECT_NE(*std::min_element(edges.begin(), edges.end()),
              *std::max_element(edges.begin(), edges.end()));
}

/// A model that divides by what it is given: zero in the rows that fill up would be no number.
TEST(StaticEvaluation, RenewsWhatTheUserGives) {
    Model model(scripted_archive(ScriptedModel{
                    message_network("    s = data['s'] / data['mass'].unsqueeze(-1)\n"
                                    "    h = h + torch.tanh(h @ self.w + s @ self.u)\n" +
                                    std::string(LAYER) + "    h = h + data['t'] * 0.1\n"),
                    {},
                    {}}),
                scripted_card(R"(, "s": {"role": "atom_input", "name": "s", "columns": 3},
                    "mass": {"role": "atom_input", "name": "mass", "default": 2},
                    "t": {"role": "system_input", "name": "t"})"),
                "network");
    auto graph = undecomposed_graph(sample_structure(model.card));
    ASSERT_EQ(graph.atom_inputs.size(), 4 * graph.species.size());
    double before = 0;

    for (const double step : {0.0, 0.4, -1.0}) {
        graph.atom_inputs[4] += step;
        graph.system_inputs[0] += 2 * step;
        const auto found = model.evaluate_padded(graph.view());
        expect_same(found, model.evaluate_plain(graph.view()), "inputs " + std::to_string(step));
        EXPECT_GT(std::abs(found.energy - before), 1e-3);
        before = found.energy;
    }
    EXPECT_EQ(model.padded.recordings(), 1);
}

TEST(StaticEvaluation, RecordsAnewForMoreAtoms) {
    auto model = scripted(LAYER);
    for (const auto& structure : {sample_cluster(model.card), sample_structure(model.card)}) {
        const auto graph = undecomposed_graph(structure);
        expect_same(model.evaluate_padded(graph.view()), model.evaluate_plain(graph.view()),
                    std::to_string(structure.size()) + " atoms");
    }
    EXPECT_EQ(model.padded.recordings(), 2);
}

/// The comparison sees a model whose atoms all act on each other.
TEST(StaticEvaluation, ControlSeesASumOverAllRows) {
    auto model = scripted(
        std::string(LAYER) +
        "    h = h + torch.tanh(ops.nvalchemi_lmp.system_sum(h, data['types'] * 0, 1)[0]) * 0.1\n");
    const auto graph = undecomposed_graph(sample_structure(model.card));
    SerialExchange alone(graph.view().n_rows);
    const auto plain = model.plain.run(
        graph.view(), make_model_inputs(model.card, graph.view(), torch::kCPU), alone);
    std::string refusal;

    try {
        require_same_results(model.card, model.run_padded(graph.view()), plain, 1e-9);
    } catch (const ModelError& error) {
        refusal = error.what();
    }

    EXPECT_NE(refusal.find("output 'energies' differs by"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("something of all rows together"), std::string::npos) << refusal;
}

TEST(StaticEvaluation, PassesOnWhatCannotBeRecorded) {
    auto model = scripted(LAYER);
    StaticEvaluation refused(model.card, model.plain, torch::kCPU, std::make_unique<Refuses>());
    const auto graph = undecomposed_graph(sample_structure(model.card));

    EXPECT_TRUE(refused.prepare(graph.view()));
    EXPECT_THROW(refused.record(), ModelError);
}

TEST(StaticEvaluation, GivesThePlainNumbersOfEveryArchive) {
    int archives = 0;
    for (const auto& [name, path] : testing::test_archives()) {
        Model model(testing::read_file(path), testing::read_file(testing::card_beside(path)), name);
        if (model.card.rows != RowMode::Folded) continue;
        if (model.card.family == "orb") continue;  // sums over all rows: see the control above
        ++archives;
        const auto structure = sample_structure(model.card);
        for (const double step : {0.0, 0.15}) {
            const auto graph = moved(structure, model.card.cutoff, step);
            expect_same(model.evaluate_padded(graph.view()), model.evaluate_plain(graph.view()),
                        model.card.name);
        }
    }
    EXPECT_GT(archives, 0);
}

std::string refusal_of(GraphChoice& choice, const AtomGraph& graph, HaloExchange& exchange) {
    try {
        choice.decide(graph, exchange, {}, {});
    } catch (const ModelError& error) {
        return error.what();
    }
    return "(nothing was refused)";
}

TEST(GraphChoice, RefusesAModelOnTheCpuIfAskedToRecordIt) {
    auto model = scripted(LAYER);
    const auto graph = undecomposed_graph(sample_structure(model.card));
    SerialExchange alone(graph.view().n_rows);
    GraphChoice wanted(GraphUse::Yes, model.card, model.plain, torch::kCPU);
    GraphChoice automatic(GraphUse::Auto, model.card, model.plain, torch::kCPU);

    EXPECT_EQ(refusal_of(wanted, graph.view(), alone),
              "keyword graphs: got yes, expected auto or no, because the model runs on the CPU");
    EXPECT_EQ(refusal_of(automatic, graph.view(), alone), "(nothing was refused)");
    EXPECT_EQ(automatic.take_news(), "");
    EXPECT_FALSE(automatic.undecided());
    EXPECT_FALSE(automatic.evaluate(graph.view(), alone, false).has_value());
}

}  // namespace
}  // namespace nvalchemi
