// SPDX-License-Identifier: GPL-2.0-only
// Evaluations between ranks in arrays of fixed extents give the numbers of plain ones, while atoms
// change ranks: on the CPU, with a recorder that runs the work anew.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/register_ops.hpp"
#include "potentials/archive.hpp"
#include "potentials/graph_choice.hpp"
#include "potentials/self_test.hpp"
#include "potentials/validator/partition.hpp"
#include "potentials/validator/virtual_parts.hpp"
#include "src/USER-NVALCHEMI/halo_plan.h"
#include "src/USER-NVALCHEMI/mpi_exchange.h"
#include "unittest/mpi/world.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {
namespace {

const std::string LAYER = "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";

/// Does work anew; may refuse on one rank.
class RunsAnew final : public GraphRecorder {
  public:
    explicit RunsAnew(int refuses_on) : refuses_(refuses_on == rank_in_world()) {}
    void warm_up(const std::function<void()>& work) override {
        if (refuses_) throw ModelError("planted on rank " + std::to_string(rank_in_world()));
        work();
    }
    void record(const std::function<void()>& work) override { work_ = work; }
    void replay() override { work_(); }

  private:
    bool refuses_;
    std::function<void()> work_;
};

/// A crystal whose size and shaking differ from step to step.
WholeSystem crystal(int step) {
    const int cells[3] = {3 + step % 2, 2, 2};
    constexpr double kSpacing = 3.0;
    WholeSystem system;
    for (int axis = 0; axis < 3; ++axis) system.cell[4 * axis] = 2 * kSpacing * cells[axis];
    int count = 0;
    for (int x = 0; x < 2 * cells[0]; ++x)
        for (int y = 0; y < 2 * cells[1]; ++y)
            for (int z = 0; z < 2 * cells[2]; ++z, ++count) {
                system.species.push_back((x + y + z) % 2);
                const double place[3] = {kSpacing * x, kSpacing * y, kSpacing * z};
                for (int axis = 0; axis < 3; ++axis)
                    system.positions.push_back(place[axis] +
                                               0.3 * std::sin(7.1 * count + axis + 2.3 * step));
            }
    return system;
}

/// This rank's part of a system, and how its rows travel.
struct Part {
    GraphStorage graph;
    HaloPlan plan;
};

Part part_of(const WholeSystem& system, const ModelCard& card) {
    const int ranks = ranks_in_world();
    const auto all = make_virtual_parts(system, card, bisect(system, ranks), ranks);
    const auto& own = all.parts[rank_in_world()];
    std::vector<GhostHome> homes;
    for (const auto& halo : own.rows.halo) homes.push_back({halo.owner_rank, halo.owner_row});
    const auto rows = build_halo_rows(MPI_COMM_WORLD, own.rows.owned, homes, true);
    Part part{own.graph, rows.plan};
    const auto place = [&](std::int64_t row) {
        return row < own.rows.owned ? row : rows.row_of_ghost[row - own.rows.owned];
    };
    for (auto& sender : part.graph.sender) sender = place(sender);
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(own.graph.species.size()); ++row) {
        part.graph.species[place(row)] = own.graph.species[row];
        for (int axis = 0; axis < 3; ++axis)
            part.graph.position[3 * place(row) + axis] = own.graph.position[3 * row + axis];
    }
    return part;
}

class RecordedExchange : public testing::Test {
  protected:
    void SetUp() override {
        if (ranks_in_world() == 1) GTEST_SKIP() << "one rank";
        register_operators();
        card_ = parse_model_card(scripted_card(), "network");
        const auto archive =
            scripted_archive(ScriptedModel{message_network(LAYER + LAYER), {}, {}});
        module_ = load_module(archive, "network", torch::kCPU);
        model_ = std::make_unique<DistributedModel>(card_, module_, torch::kCPU);
        schedule_ = record_schedule(card_, *model_);
        exchange_ = std::make_unique<MpiExchange>(MPI_COMM_WORLD);
        exchange_->choose_way(HaloComm::Mpi, -1);
    }

    std::unique_ptr<GraphChoice> choose(GraphUse use = GraphUse::Auto, int refuses_on = -1) {
        return std::make_unique<GraphChoice>(use, card_, *model_, torch::kCPU, [=](int) {
            return std::make_unique<RunsAnew>(refuses_on);
        });
    }

    /// As a pair style does it.
    Evaluation evaluate(GraphChoice& choice, const AtomGraph& graph) {
        exchange_->begin_evaluation(schedule_);
        if (choice.replays(false)) exchange_->expect_agreement();
        try {
            if (auto replayed = choice.evaluate(graph, *exchange_, false)) return *replayed;
            ModelResults results;
            auto plain = model_->evaluate(graph, exchange_->for_model(), false, {}, &results);
            if (stalls_) plain.seconds_model = 2 * plain.seconds_launching;
            if (choice.undecided()) choice.decide(graph, *exchange_, results, plain);
            exchange_->end_evaluation();
            return plain;
        } catch (...) {
            exchange_->finish_poisoned();
            throw;
        }
    }

    Evaluation evaluate_plain(const AtomGraph& graph) {
        auto never = choose(GraphUse::No);
        return evaluate(*never, graph);
    }

    ModelCard card_;
    torch::jit::Module module_;
    std::unique_ptr<DistributedModel> model_;
    std::vector<ExchangeEvent> schedule_;
    std::unique_ptr<MpiExchange> exchange_;
    bool stalls_ = false;  ///< this rank's device works long after all is launched
};

double difference(const std::vector<double>& found, const std::vector<double>& expected) {
    if (found.size() != expected.size()) return INFINITY;
    double largest = 0.0;
    for (std::size_t k = 0; k < found.size(); ++k)
        largest = std::max(largest, std::abs(found[k] - expected[k]));
    return largest;
}

TEST_F(RecordedExchange, GivesThePlainNumbersWhileRowsChange) {
    auto choice = choose(GraphUse::Yes);
    for (int step = 0; step < 6; ++step) {
        const auto part = part_of(crystal(step), card_);
        exchange_->set_plan(part.plan);
        for (int repeat = 0; repeat < 2; ++repeat) {
            const auto found = evaluate(*choice, part.graph.view());
            const auto expected = evaluate_plain(part.graph.view());
            EXPECT_EQ(found.replayed, step > 0 || repeat > 0);
            EXPECT_LE(difference(found.atomic_energies, expected.atomic_energies), 1e-13);
            EXPECT_LE(difference(found.edge_gradients, expected.edge_gradients), 1e-13);
        }
    }
    EXPECT_GE(choice->recordings(), 1);
    // a smaller crystal fits into what a larger one took
    EXPECT_LE(choice->recordings(), 3);
}

TEST_F(RecordedExchange, WithWorkDuringExchangesGivesTheSameBits) {
    const auto archive = scripted_archive(ScriptedModel{
        message_network(LAYER + "    g = torch.erf(m)\n" +
                        "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * g)\n"),
        {},
        {}});
    module_ = load_module(archive, "network", torch::kCPU);
    std::vector<double> energies, gradients;
    for (const bool overlap : {false, true}) {
        model_ = std::make_unique<DistributedModel>(card_, module_, torch::kCPU, false, overlap);
        ASSERT_EQ(model_->exchanges().at(0).overlaps > 0, overlap);
        auto choice = choose(GraphUse::Yes);
        const auto part = part_of(crystal(0), card_);
        exchange_->set_plan(part.plan);
        evaluate(*choice, part.graph.view());
        const auto found = evaluate(*choice, part.graph.view());
        EXPECT_TRUE(found.replayed);
        if (overlap) {
            EXPECT_EQ(found.atomic_energies, energies);
            EXPECT_EQ(found.edge_gradients, gradients);
        }
        energies = found.atomic_energies;
        gradients = found.edge_gradients;
    }
}

TEST_F(RecordedExchange, DecidesByTheTimeThatLaunchesTake) {
    const auto part = part_of(crystal(0), card_);
    exchange_->set_plan(part.plan);
    for (const int waiting_ranks : {0, 1, ranks_in_world()}) {
        stalls_ = rank_in_world() < waiting_ranks;
        auto choice = choose();
        for (int k = 1; k <= DECIDING_EVALUATION_OF_AUTO + 1; ++k) {
            const bool replays =
                k > DECIDING_EVALUATION_OF_AUTO && waiting_ranks < ranks_in_world();
            EXPECT_EQ(evaluate(*choice, part.graph.view()).replayed, replays) << waiting_ranks;
            EXPECT_EQ(choice->undecided(), k < DECIDING_EVALUATION_OF_AUTO);
        }
    }
}

TEST_F(RecordedExchange, ControlSeesAnExchangeThatIsMissing) {
    auto choice = choose(GraphUse::Yes);
    const auto part = part_of(crystal(0), card_);
    exchange_->set_plan(part.plan);
    evaluate(*choice, part.graph.view());
    exchange_->plant({{ExchangeFault::Kind::DropReverse}});

    const auto found = evaluate(*choice, part.graph.view());
    const auto faulty = evaluate_plain(part.graph.view());

    EXPECT_TRUE(found.replayed);
    EXPECT_GT(difference(found.edge_gradients, faulty.edge_gradients), 1e-6);
}

TEST_F(RecordedExchange, ARankThatCannotRecordLetsAllGoOnWithout) {
    for (int rank = 0; rank < ranks_in_world(); ++rank) {
        auto choice = choose(GraphUse::Auto, rank);
        const auto part = part_of(crystal(0), card_);
        exchange_->set_plan(part.plan);
        for (int repeat = 0; repeat < DECIDING_EVALUATION_OF_AUTO + 1; ++repeat)
            EXPECT_FALSE(evaluate(*choice, part.graph.view()).replayed);
        EXPECT_FALSE(choice->undecided());
        EXPECT_FALSE(choice->replays(false));
    }
}

TEST_F(RecordedExchange, ARankThatCannotRecordStopsAllIfGraphsAreWanted) {
    auto choice = choose(GraphUse::Yes, 0);
    const auto part = part_of(crystal(0), card_);
    exchange_->set_plan(part.plan);
    std::string refusal;

    try {
        evaluate(*choice, part.graph.view());
    } catch (const ModelError& error) {
        refusal = error.what();
    }

    const std::string reason = rank_in_world() == 0 ? "planted on rank 0" : "another rank failed";
    EXPECT_EQ(refusal.find("keyword graphs: got yes, expected auto or no, because "), 0) << refusal;
    EXPECT_NE(refusal.find(reason), std::string::npos) << refusal;
}

TEST_F(RecordedExchange, ARankThatFailsBeforeItReplaysStopsAll) {
    auto choice = choose(GraphUse::Yes);
    const auto part = part_of(crystal(0), card_);
    exchange_->set_plan(part.plan);
    evaluate(*choice, part.graph.view());
    const int failing = ranks_in_world() - 1;

    if (rank_in_world() == failing) {
        exchange_->begin_evaluation(schedule_);
        exchange_->expect_agreement();
        exchange_->finish_poisoned();
    } else {
        EXPECT_THROW(evaluate(*choice, part.graph.view()), PeerFailure);
        EXPECT_TRUE(exchange_->peer_failed());
    }
    EXPECT_TRUE(evaluate(*choice, part.graph.view()).replayed);
}

}  // namespace
}  // namespace nvalchemi
