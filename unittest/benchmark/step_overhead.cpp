// SPDX-License-Identifier: GPL-2.0-only
// What a LAMMPS step costs beyond the model: NVE steps of pair style nvalchemi on one rank, side by
// side with bare LibTorch evaluations of the same archive on the same graph, in one process.
//
//     step_overhead PLUGIN ARCHIVE CARD [repeats]
//
// prints one line a system: atoms, seconds a step, seconds a bare evaluation, their ratio.

#include <library.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/script.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "potentials/consolidation.hpp"
#include "potentials/model_inputs.hpp"
#include "potentials/neighbor_search.hpp"
#include "potentials/sample_structure.hpp"

namespace {

using namespace nvalchemi;
using Clock = std::chrono::steady_clock;

constexpr double LATTICE = 5.64;  // NaCl, Angstrom
constexpr int STEPS = 10;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// LAMMPS with rattled rock salt of 8 * cells^3 atoms.
class Simulation {
  public:
    Simulation(const std::string& plugin, const std::string& archive, int cells) {
        const char* arguments[] = {"lmp", "-screen", "none", "-log", "none", "-nocite"};
        handle_ = lammps_open_no_mpi(6, const_cast<char**>(arguments), nullptr);
        const auto n = std::to_string(cells);
        run_command("units metal");
        run_command("plugin load " + plugin);
        run_command("lattice custom " + std::to_string(LATTICE) +
                    " a1 1 0 0 a2 0 1 0 a3 0 0 1 basis 0 0 0 basis 0 0.5 0.5 basis 0.5 0 0.5 "
                    "basis 0.5 0.5 0 basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5 basis 0.5 0.5 0.5");
        run_command("region box block 0 " + n + " 0 " + n + " 0 " + n);
        run_command("create_box 2 box");
        run_command("create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2");
        run_command("mass 1 22.98977");
        run_command("mass 2 35.453");
        run_command("displace_atoms all random 0.05 0.05 0.05 4711");
        run_command("pair_style nvalchemi device cpu threads 1");
        run_command("pair_coeff * * " + archive + " Na Cl");
        run_command("velocity all create 300 87287");
        run_command("fix 1 all nve");
        run_command("run 5 post no");
    }
    ~Simulation() { lammps_close(handle_); }
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    void run_command(const std::string& text) { lammps_command(handle_, text.c_str()); }

    /// Seconds a step, re-neighbouring as LAMMPS does included.
    double step_seconds() {
        const auto start = Clock::now();
        run_command("run " + std::to_string(STEPS) + " pre no post no");
        return seconds_since(start) / STEPS;
    }

    GraphStorage graph(const ModelCard& card, int cells) const {
        SampleStructure structure;
        const auto atoms = static_cast<int>(lammps_get_natoms(handle_));
        structure.positions.resize(3 * atoms);
        std::vector<int> types(atoms);
        lammps_gather_atoms(handle_, const_cast<char*>("x"), 1, 3, structure.positions.data());
        lammps_gather_atoms(handle_, const_cast<char*>("type"), 0, 1, types.data());
        for (int axis = 0; axis < 3; ++axis) structure.cell[4 * axis] = LATTICE * cells;
        for (const int type : types)
            structure.species.push_back(type == 1 ? index(card, "Na") : index(card, "Cl"));
        const bool periodic[3] = {true, true, true};
        structure.edges =
            neighbor_search(structure.positions, structure.cell, periodic, card.cutoff);
        return undecomposed_graph(structure);
    }

  private:
    static std::int64_t index(const ModelCard& card, const std::string& symbol) {
        return std::find(card.species.begin(), card.species.end(), symbol) - card.species.begin();
    }
    void* handle_;
};

/// Forward and gradient on tensors that are there already.
double bare_seconds(torch::jit::Module& module, const ModelCard& card, const AtomGraph& graph) {
    const auto inputs = make_model_inputs(card, graph, torch::kCPU);
    const auto start = Clock::now();
    for (int step = 0; step < STEPS; ++step) {
        const auto outputs = pick_outputs(card, module.forward(pack_arguments(card, inputs)));
        for (std::size_t k = 0; k < outputs.size(); ++k)
            if (card.outputs[k].role == OutputRole::AtomicEnergies)
                torch::autograd::grad({outputs[k].sum()}, {inputs.edge_vectors});
    }
    return seconds_since(start) / STEPS;
}

void measure(const std::string& plugin, const std::string& archive, const ModelCard& card,
             int cells, int repeats) {
    auto module = torch::jit::load(archive, torch::kCPU);
    module.eval();
    Simulation simulation(plugin, archive, cells);
    std::vector<double> steps, bare, ratios;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        steps.push_back(simulation.step_seconds());
        const auto graph = simulation.graph(card, cells);
        bare.push_back(bare_seconds(module, card, graph.view()));
        ratios.push_back(steps.back() / bare.back());
    }
    std::printf("%6d atoms   step %.4f s   bare LibTorch %.4f s   ratio %.3f\n",
                8 * cells * cells * cells, median(steps), median(bare), median(ratios));
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 4) {
        std::fprintf(stderr, "usage: step_overhead PLUGIN ARCHIVE CARD [repeats]\n");
        return 2;
    }
    at::set_num_threads(1);
    const auto card = parse_model_card(read_text(arguments[3]), arguments[3]);
    torch::set_default_dtype(torch::scalarTypeToTypeMeta(model_dtype(card)));
    // as in the plugin: the optimising executor pays for every new shape and gains nothing here
    torch::jit::setGraphExecutorOptimize(false);
    const int repeats = count > 4 ? std::stoi(arguments[4]) : 7;
    for (const int cells : {4, 8}) measure(arguments[1], arguments[2], card, cells, repeats);
    return 0;
}
