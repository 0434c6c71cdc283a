// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/kernel_operators.hpp"

#include <algorithm>
#include <vector>

#include "kernels/pair_potentials.hpp"

namespace nvalchemi {

namespace {

const char* const kPairArguments =
    "(Tensor edge_vectors, Tensor edge_index, Tensor species, Tensor table)"
    " -> (Tensor energies, Tensor forces, Tensor virial)";

const std::vector<std::string>& names() {
    static const std::vector<std::string> all{
        "lj_energy_forces_virial",
        "buckingham_energy_forces_virial",
        "morse_energy_forces_virial",
    };
    return all;
}

}  // namespace

void define_kernel_operators(torch::Library& library) {
    // Composed of torch's own operators, so that their gradients are torch's.
    const auto define = [&library](const std::string& name, const std::string& arguments,
                                   auto* function) {
        library.def(torch::schema((name + arguments).c_str()));
        library.impl(name.c_str(),
                     torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, function));
    };
    define("lj_energy_forces_virial", kPairArguments, &lj_energy_forces_virial);
    define("buckingham_energy_forces_virial", kPairArguments, &buckingham_energy_forces_virial);
    define("morse_energy_forces_virial", kPairArguments, &morse_energy_forces_virial);
}

bool is_kernel_operator(const std::string& name) {
    const std::string space = "nvalchemi_lmp::";
    return name.rfind(space, 0) == 0 &&
           std::find(names().begin(), names().end(), name.substr(space.size())) != names().end();
}

}  // namespace nvalchemi
