// SPDX-License-Identifier: GPL-2.0-only
// Faults planted in specs, exchanges, partitions and precision: each that changes a result must be
// found and named, and mended where a spec can mend it; what changes nothing must pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>

#include "potentials/validator/diagnosis.hpp"
#include "unittest/potentials/test_validator_support.hpp"

namespace nvalchemi {

namespace {

using namespace testing;
using Kind = ExchangeFault::Kind;
using Symptoms = std::set<std::string>;

struct Fault {
    std::string name;
    std::function<ValidationRequest()> request;
    int ranks = 2;
    Symptoms symptoms;        ///< the first diagnosis must be one of them; empty: changes nothing
    bool repairable = false;  ///< an edit of the spec can mend it
};

/// What became of a table of faults.
struct Tally {
    int planted = 0, detected = 0, named = 0, repairable = 0, repaired = 0;
};

void judge(const Fault& fault, Tally& tally) {
    auto request = fault.request();
    request.ranks = fault.ranks;
    request.autofix = fault.repairable ? AutoFix::Apply : AutoFix::No;
    const auto report = validate_in_parts(request);
    const bool found = report.attempts[0].verdict != Verdict::Passed;
    if (fault.symptoms.empty()) {
        EXPECT_FALSE(found) << fault.name << " changes nothing:\n" << summarize(report);
        return;
    }
    ++tally.planted;
    tally.detected += found;
    EXPECT_TRUE(found) << fault.name << " was not detected:\n" << summarize(report);
    const auto symptom = report.diagnostics.empty() ? "" : report.diagnostics[0].symptom;
    const bool named = fault.symptoms.count(symptom) > 0;
    tally.named += named;
    if (found && !named)
        std::printf("%s: diagnosed as '%s'\n%s\n", fault.name.c_str(), symptom.c_str(),
                    summarize(report).c_str());
    tally.repairable += fault.repairable;
    tally.repaired += fault.repairable && report.ok;
    if (fault.repairable && !report.ok)
        std::printf("%s: was not repaired\n%s\n", fault.name.c_str(), summarize(report).c_str());
}

void judge_all(const std::vector<Fault>& faults) {
    Tally tally;
    for (const auto& fault : faults) judge(fault, tally);
    std::printf("%d faults planted, %d detected, %d named rightly; %d of %d repaired\n",
                tally.planted, tally.detected, tally.named, tally.repaired, tally.repairable);
    EXPECT_EQ(tally.detected, tally.planted);
    EXPECT_GE(10 * tally.named, 9 * tally.planted);
    EXPECT_GE(10 * tally.repaired, 9 * tally.repairable);
}

std::function<ValidationRequest()> scripted(const std::string& body, const std::string& core = "",
                                            const std::string& rest = "",
                                            const std::string& policy = R"("kind": "halo")") {
    return [=] { return scripted_request(body, core, rest, policy); };
}

std::function<ValidationRequest()> with_exchange(std::function<ValidationRequest()> request,
                                                 ExchangeFault fault) {
    return [=] {
        auto result = request();
        result.parts.wrap_exchange = faulty(fault);
        return result;
    };
}

std::function<ValidationRequest()> with_parts(std::function<ValidationRequest()> request,
                                              std::function<void(VirtualParts&)> change) {
    return [=] {
        auto result = request();
        result.alter_parts = change;
        return result;
    };
}

std::string modes(const std::string& kind, const std::string& scatter, const std::string& gather) {
    return R"("kind": ")" + kind + R"(", "scatter_mode": ")" + scatter + R"(", "gather_mode": ")" +
           gather + "\"";
}

// --- specs ---

std::vector<Fault> wrong_operator_adapters() {
    const Symptoms lacks{"missing_scatter_outputs"}, twice{"atoms_counted_twice"};
    return {
        {"right: push", scripted(kLayer + kPush + kLayer, with_op("push", "", kScatter)), 3, {}},
        {"push without scatter", scripted(kLayer + kPush + kLayer, with_op("push", "", "")), 2,
         lacks, true},
        {"push without scatter, 4 ranks", scripted(kPush + kLayer, with_op("push", "", "")), 4,
         lacks, true},
        {"push undeclared", scripted(kLayer + kPush), 2, {"undeclared_operator"}, true},
        {"two pushes without scatter", scripted(kPush + kLayer + kPush, with_op("push", "", "")), 3,
         lacks, true},
        {"push padded twice",
         scripted(kLayer + kPush, with_op("push", kGather, kScatter)),
         2,
         {"double_padding"},
         true},
        {"push padded twice, without scatter",
         scripted(kLayer + kPush, with_op("push", kGather, "")),
         2,
         {"double_padding"},
         true},
        {"push sliced",
         scripted(kLayer + kPush, with_op("push", kSlice, kScatter)),
         2,
         {"rows_missing", "wrong_output_transform"},
         true},
        {"push reduced",
         scripted(kLayer + kPush, with_op("push", "", kReduce)),
         2,
         {"wrong_output_transform"},
         true},
        {"right: pull", scripted(kLayer + kPull + kLayer, with_op("pull", "", "")), 3, {}},
        {"equivalent: pull with scatter",
         scripted(kLayer + kPull + kLayer, with_op("pull", "", kScatter)),
         3,
         {}},
        {"pull padded twice",
         scripted(kLayer + kPull, with_op("pull", kGather, "")),
         3,
         {"double_padding"},
         true},
        {"pull sliced",
         scripted(kLayer + kPull, with_op("pull", kSlice, "")),
         2,
         {"rows_missing"},
         true},
        {"pull undeclared", scripted(kLayer + kPull), 2, {"undeclared_operator"}, true},
        {"receivers sliced",
         scripted(kLayer + kPull, with_op("pull", R"("1": {"type": "slice_owned"})", "")),
         2,
         {"argument_without_rows"},
         true},
        {"messages padded",
         scripted(kLayer + kPull, with_op("pull", R"("3": {"type": "gather_inputs"})", "")),
         2,
         {"argument_without_rows"},
         true},
        {"right: total",
         scripted(kLayer + kTotal + kLayer, with_op("total", kSlice, kReduce)),
         3,
         {}},
        {"equivalent: total without reduction",
         scripted(kLayer + kTotal + kLayer, with_op("total", kSlice, "")),
         3,
         {}},
        {"total without slice", scripted(kLayer + kTotal + kLayer, with_op("total", "", kReduce)),
         2, twice, true},
        {"total without anything", scripted(kLayer + kTotal + kLayer, with_op("total", "", "")), 3,
         twice, true},
        {"total scattered",
         scripted(kLayer + kTotal, with_op("total", kSlice, kScatter)),
         2,
         {"wrong_output_transform"},
         true},
        {"total undeclared", scripted(kLayer + kTotal), 2, {"undeclared_operator"}, true},
        {"gate with scatter",
         scripted(kLayer + kGate + kLayer, with_op("gate", "", kScatter)),
         3,
         {"superfluous_scatter_outputs"},
         true},
        {"sigmoid of torch with scatter",
         scripted(kLayer + "    h = h + torch.sigmoid(h)\n" + kLayer,
                  R"(, "custom_ops": [{"op": "aten::sigmoid", "output_transforms": {)" + kScatter +
                      "}}]"),
         3,
         {"superfluous_scatter_outputs"},
         true},
        {"unknown operator",
         scripted(kLayer + kPull, with_op("pul", "", "")),
         2,
         {"operator_not_found"},
         true},
        {"no such argument",
         scripted(kLayer + kTotal, with_op("total", R"("4": {"type": "slice_owned"})", kReduce)),
         2,
         {"position_out_of_range"},
         true},
        {"no such output",
         scripted(kLayer + kPush, with_op("push", "", R"("2": {"type": "scatter_outputs"})")),
         2,
         {"position_out_of_range"},
         true},
        {"push and pull exchanged",
         scripted(kLayer + kPush + kPull,
                  with_ops({adapter("push", "", ""), adapter("pull", "", kScatter)})),
         3, lacks, true},
        {"pair: push without scatter, total without slice",
         scripted(kLayer + kPush + kTotal + kLayer,
                  with_ops({adapter("push", "", ""), adapter("total", "", kReduce)})),
         2,
         {"missing_scatter_outputs", "atoms_counted_twice"},
         true},
        {"pair: push padded, pull undeclared",
         scripted(kLayer + kPush + kPull, with_op("push", kGather, kScatter)),
         2,
         {"double_padding", "undeclared_operator"},
         true},
        {"a reduced value is reduced again",
         scripted(kLayer + "    s = ops.adaptertest.total(h)\n"
                           "    h = h * torch.cos(ops.adaptertest.gate(s.unsqueeze(0))[0])\n",
                  with_ops({adapter("total", kSlice, kReduce), adapter("gate", "", kReduce)})),
         3,
         {"double_reduction"},
         true},
    };
}

std::vector<Fault> wrong_policies() {
    return {
        {"gathers local",
         scripted(kLayer + kLayer, "", "", modes("halo", "local", "local")),
         2,
         {"stale_halo_rows"},
         true},
        {"refresh_halo, all local",
         scripted(kLayer + kLayer, "", "", modes("refresh_halo", "local", "local")),
         3,
         {"stale_halo_rows"},
         true},
        {"policy local",
         scripted(kLayer + kLayer, "", "", R"("kind": "local")"),
         2,
         {"stale_halo_rows"},
         true},
        {"equivalent: scatters local",
         scripted(kLayer + kLayer, "", "", modes("halo", "local", "halo_read")),
         2,
         {}},
        {"equivalent: gathers local, scatters corrected",
         scripted(kLayer + kLayer, "", "", modes("halo", "halo_correction", "local")),
         2,
         {}},
        {"equivalent: one layer, all local",
         scripted(kLayer, "", "", modes("halo", "local", "local")),
         4,
         {}},
        {"sender sums, scatters local",
         scripted(kSenderSum + kLayer, "", "", modes("halo", "local", "halo_read")),
         2,
         {"sums_not_folded"},
         true},
        {"equivalent: graph_parallel",
         scripted(kLayer + kLayer, "", "", R"("kind": "graph_parallel")"),
         3,
         {}},
        {"sender sums, graph_parallel",
         scripted(kSenderSum + kLayer, "", "", R"("kind": "graph_parallel")"),
         2,
         {"sums_not_folded"},
         true},
        {"system sums forbidden",
         scripted(kLayer + kSystemSum, "", R"(, "system_reductions": false)"),
         2,
         {"reductions_forbidden"},
         true},
        {"wrong kind of output",
         scripted(kLayer, "", R"(, "output_kinds": [["energies", "per_graph"]])"),
         2,
         {"output_kind"},
         true},
        {"rows reduced over ranks",
         scripted(kLayer, "", R"(, "all_reduce_outputs": ["energies"])"),
         2,
         {"double_reduction"},
         true},
        {"an output reduced that the model has not",
         scripted(kLayer, "", R"(, "all_reduce_outputs": ["bond"])"),
         2,
         {"unknown_output"},
         true},
        {"wrong force strategy",
         scripted(kLayer, "", R"(, "compile": {"force_strategy": "model_internal"})"),
         2,
         {"force_strategy"},
         true},
        {"helper undeclared",
         [] { return scripted_request(network_with_system_helper()); },
         2,
         {"undeclared_helper"},
         true},
        {"right: helper",
         [] { return scripted_request(network_with_system_helper(), kHelperAdapter); },
         3,
         {}},
        {"helper under another name",
         [] {
             return scripted_request(network_with_system_helper(),
                                     R"(, "third_party_helpers": [{"kind": "python",
                 "module_path": "aimnet.nbop", "attr_name": "mol_sum",
                 "replacement": "nvalchemi_lmp:system_sum"}])");
         },
         2,
         {"undeclared_helper", "helper_not_called"},
         true},
    };
}

// --- exchanges ---

std::vector<Fault> wrong_exchanges(const std::string& of, std::function<ValidationRequest()> right,
                                   int ranks) {
    const Symptoms plan{"exchange_plan"}, lost{"lost_exchange"}, backward{"backward_only"};
    const auto fault = [&](const std::string& name, ExchangeFault what, const Symptoms& symptoms) {
        return Fault{of + ": " + name, with_exchange(right, what), ranks, symptoms};
    };
    return {
        {of + ": right", right, ranks, {}},
        fault("no forward", {Kind::DropForward}, plan),
        fault("first forward dropped", {Kind::DropForward, 0}, {"exchange_plan", "lost_exchange"}),
        fault("no forward on rank 1", {Kind::DropForward, -1, 1}, plan),
        fault("no reverse", {Kind::DropReverse}, plan),
        fault("last row forgotten", {Kind::ForgetLastRow}, plan),
        fault("rows swapped", {Kind::SwapRows}, plan),
        fault("rows swapped on rank 1", {Kind::SwapRows, -1, 1}, plan),
        fault("reverse counts twice", {Kind::DoubleReverse}, plan),
        fault("reverse with the wrong sign", {Kind::NegateReverse}, plan),
        fault("forward adds", {Kind::AddInForward}, plan),
        fault("halo rows kept in reverse", {Kind::KeepHaloRows}, plan),
        fault("equivalent: forward repeated", {Kind::RepeatForward}, {}),
        fault("equivalent: reverse repeated", {Kind::RepeatReverse}, {}),
        fault("forward through float32", {Kind::RoundForward}, {"reduced_precision"}),
        fault("reverse through float32", {Kind::RoundReverse}, {"reduced_precision"}),
    };
}

std::vector<Fault> wrong_later_exchanges() {
    const auto right = scripted(kLayer + kLayer + kSystemSum + kLayer);
    const Symptoms lost{"lost_exchange"}, backward{"backward_only"};
    const auto fault = [&](const std::string& name, ExchangeFault what, const Symptoms& symptoms) {
        return Fault{name, with_exchange(right, what), 3, symptoms};
    };
    return {
        fault("second forward dropped", {Kind::DropForward, 1}, lost),
        fault("second forward dropped on one rank", {Kind::DropForward, 1, 2}, lost),
        fault("second forward delivers the first", {Kind::StaleForward, 1}, lost),
        fault("second forward without its last row", {Kind::ForgetLastRow, 1}, lost),
        fault("half of the columns", {Kind::HalfOfColumns}, lost),
        fault("second forward swaps rows", {Kind::SwapRows, 1}, lost),
        fault("second reverse dropped", {Kind::DropReverse, 1}, backward),
        fault("second reverse counts twice", {Kind::DoubleReverse, 1}, backward),
        fault("no sum", {Kind::DropSum}, {"exchange_plan"}),
        fault("second sum dropped", {Kind::DropSum, 1}, {"lost_exchange", "backward_only"}),
        fault("sum doubled", {Kind::DoubleSum}, {"exchange_plan"}),
        fault("sum doubled on one rank", {Kind::DoubleSum, -1, 2}, {"exchange_plan"}),
    };
}

// --- partitions ---

std::vector<Fault> wrong_partitions(const std::string& of, std::function<ValidationRequest()> right,
                                    int ranks) {
    const Symptoms edges{"incomplete_edges"};
    const auto fault = [&](const std::string& name, std::function<void(VirtualParts&)> change,
                           const Symptoms& symptoms) {
        return Fault{of + ": " + name, with_parts(right, std::move(change)), ranks, symptoms};
    };
    return {
        fault("a halo row of another owner",
              [](VirtualParts& parts) {
                  auto& halo = parts.parts[1].rows.halo;
                  halo[0].owner_row =
                      (halo[0].owner_row + 1) % parts.parts[halo[0].owner_rank].rows.owned;
              },
              {"exchange_plan"}),
        fault(
            "edges of one halo row lost",
            [](VirtualParts& parts) {
                auto& graph = parts.parts[0].graph;
                const auto row = parts.parts[0].rows.owned;
                for (std::size_t e = graph.sender.size(); e-- > 0;) {
                    if (graph.sender[e] != row) continue;
                    const auto at = static_cast<std::ptrdiff_t>(e);
                    graph.sender.erase(graph.sender.begin() + at);
                    graph.receiver.erase(graph.receiver.begin() + at);
                    graph.edge_vector.erase(graph.edge_vector.begin() + 3 * at,
                                            graph.edge_vector.begin() + 3 * at + 3);
                }
            },
            edges),
        fault(
            "vectors of one atom reversed",
            [](VirtualParts& parts) {
                auto& graph = parts.parts[0].graph;
                for (std::size_t e = 0; e < graph.receiver.size(); ++e)
                    if (graph.receiver[e] == 0)
                        for (int axis = 0; axis < 3; ++axis) graph.edge_vector[3 * e + axis] *= -1;
            },
            edges),
        fault(
            "senders of two edges exchanged",
            [](VirtualParts& parts) {
                auto& graph = parts.parts[1].graph;
                std::swap(graph.sender.front(), graph.sender.back());
            },
            edges),
        fault(
            "a halo row of another species",
            [](VirtualParts& parts) {
                auto& part = parts.parts[0];
                auto& species = part.graph.species[part.rows.owned];
                species = species == 0 ? 1 : 0;
            },
            edges),
        fault(
            "an edge twice",
            [](VirtualParts& parts) {
                auto& graph = parts.parts[1].graph;
                graph.sender.push_back(graph.sender[0]);
                graph.receiver.push_back(graph.receiver[0]);
                for (int axis = 0; axis < 3; ++axis)
                    graph.edge_vector.push_back(graph.edge_vector[axis]);
            },
            edges),
        fault("two owned atoms exchanged",
              [](VirtualParts& parts) {
                  auto& atoms = parts.parts[0].atom_of_row;
                  std::swap(atoms[0], atoms[1]);
              },
              {"atoms_permuted", "incomplete_edges", "exchange_plan"}),
    };
}

}  // namespace

TEST(PlantedFaults, InOperatorAdapters) { judge_all(wrong_operator_adapters()); }

TEST(PlantedFaults, InPoliciesAndOutputs) { judge_all(wrong_policies()); }

TEST(PlantedFaults, InExchangesOfANetwork) {
    judge_all(wrong_exchanges("network", scripted(kLayer + kLayer + kLayer), 3));
}

TEST(PlantedFaults, InLaterExchanges) { judge_all(wrong_later_exchanges()); }

TEST(PlantedFaults, InPartitionsOfANetwork) {
    judge_all(wrong_partitions("network", scripted(kLayer + kLayer), 3));
}

TEST(PlantedFaults, InArchives) {
    const struct {
        const char *archive, *structure;
        int ranks;
    } models[] = {{"toy_scatter_add", "toy_nacl64", 4},
                  {"mace_rand_f64", "mace_rand_nacl64", 2},
                  {"d3bj_pbe", "d3bj_pbe_si64", 3},
                  {"nequip_rand_f64", "nequip_rand_si64", 2}};
    std::vector<Fault> all;
    for (const auto& model : models) {
        const auto right = [=] { return archive_request(model.archive, model.structure); };
        for (auto& fault : wrong_exchanges(model.archive, right, model.ranks))
            all.push_back(std::move(fault));
        for (auto& fault : wrong_partitions(model.archive, right, model.ranks))
            all.push_back(std::move(fault));
    }
    judge_all(all);
}

}  // namespace nvalchemi
