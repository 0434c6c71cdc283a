// SPDX-License-Identifier: GPL-2.0-only
// What it costs to distribute a model, beside what LibTorch itself spends on loading it:
//
//     planning_time ARCHIVE CARD [repeats]
//
// prints medians in milliseconds: loading the archive; freezing and inlining it (what LibTorch
// offers for a model of known structure); our trace, which takes their place; and reading the spec
// and planning the exchanges on the traced program.

#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/script.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/register_ops.hpp"
#include "potentials/archive.hpp"
#include "potentials/distribution/distribution_pass.hpp"
#include "potentials/distribution/tracer.hpp"
#include "potentials/evaluation_scope.hpp"
#include "potentials/model_inputs.hpp"
#include "potentials/sample_structure.hpp"

namespace {

using namespace nvalchemi;
using Clock = std::chrono::steady_clock;

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Probe sample(const ModelCard& card, int which) {
    constexpr int OWNED[2] = {29, 31}, ROWS[2] = {41, 43}, EDGES[2] = {127, 131};
    const auto graph = random_graph(card, OWNED[which], ROWS[which], EDGES[which], 7 + which);
    Probe probe;
    probe.inputs = make_model_inputs(card, graph.view(), torch::kCPU);
    probe.n_owned = OWNED[which];
    probe.n_rows = ROWS[which];
    probe.n_edges = EDGES[which];
    return probe;
}

struct Times {
    std::vector<double> load, freeze, trace, plan;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void measure(const std::string& archive, const std::string& card_text, const std::string& name,
             Times& times) {
    auto mark = Clock::now();
    const auto lap = [&mark](std::vector<double>& into) {
        const auto now = Clock::now();
        into.push_back(std::chrono::duration<double, std::milli>(now - mark).count());
        mark = now;
    };
    auto module = load_module(archive, name, torch::kCPU);
    module.eval();
    lap(times.load);
    torch::jit::freeze_module(module);
    lap(times.freeze);
    const auto probe_card = parse_model_card(card_text, name);
    const auto first = sample(probe_card, 0), second = sample(probe_card, 1);
    mark = Clock::now();
    auto traced = trace_model(probe_card, module, first, second);
    lap(times.trace);
    const auto card = parse_model_card(card_text, name);
    distribute(traced, card);
    lap(times.plan);
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: planning_time ARCHIVE CARD [repeats]\n");
        return 2;
    }
    const int repeats = count > 3 ? std::stoi(arguments[3]) : 7;
    register_operators();
    at::set_num_threads(1);
    torch::jit::setGraphExecutorOptimize(false);
    const auto archive = read_text(arguments[1]), card_text = read_text(arguments[2]);
    const EvaluationScope scope(torch::kFloat64);
    Times times;
    for (int k = 0; k < repeats; ++k) measure(archive, card_text, arguments[1], times);
    std::printf("%s\n", arguments[1]);
    std::printf("  first  load %.0f  freeze+inline %.0f  trace %.0f  spec+plan %.0f ms\n",
                times.load[0], times.freeze[0], times.trace[0], times.plan[0]);
    std::printf("  median load %.0f  freeze+inline %.0f  trace %.0f  spec+plan %.0f ms\n",
                median(times.load), median(times.freeze), median(times.trace), median(times.plan));
    std::printf("  ratio trace / freeze+inline %.2f\n", median(times.trace) / median(times.freeze));
    return 0;
}
