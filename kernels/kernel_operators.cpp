// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/kernel_operators.hpp"

#include <algorithm>
#include <vector>

#include "kernels/dispersion.hpp"
#include "kernels/ewald.hpp"
#include "kernels/pair_potentials.hpp"
#include "kernels/particle_mesh.hpp"
#include "kernels/tensor_product.hpp"

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
        "ewald_real_energies",
        "ewald_structure_factors",
        "ewald_reciprocal_energies",
        "slab_moments",
        "slab_energies",
        "pme_spread",
        "pme_reciprocal_energies",
        "tensor_product_convolution",
        "d3_coordination_numbers",
        "d3_energies",
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
    define("ewald_real_energies",
           "(Tensor edge_vectors, Tensor edge_index, Tensor charges, float alpha) -> Tensor",
           &ewald_real_energies);
    define("ewald_structure_factors",
           "(Tensor positions, Tensor charges, Tensor cell, Tensor setup_cell, float k_max)"
           " -> Tensor",
           &ewald_structure_factors);
    define("ewald_reciprocal_energies",
           "(Tensor positions, Tensor charges, Tensor cell, Tensor setup_cell, Tensor factors,"
           " float alpha, float k_max) -> Tensor",
           &ewald_reciprocal_energies);
    define("slab_moments", "(Tensor positions, Tensor charges) -> Tensor", &slab_moments);
    define("slab_energies",
           "(Tensor positions, Tensor charges, Tensor cell, Tensor moments) -> Tensor",
           &slab_energies);
    define("pme_spread",
           "(Tensor positions, Tensor charges, Tensor cell, Tensor setup_cell, float spacing,"
           " int order) -> Tensor",
           &pme_spread);
    define("pme_reciprocal_energies",
           "(Tensor positions, Tensor charges, Tensor cell, Tensor mesh, float alpha, int order)"
           " -> Tensor",
           &pme_reciprocal_energies);
    // With gradients of their own.
    const auto define_fused = [&library](const std::string& name, const std::string& arguments,
                                         auto* function, auto* differentiable) {
        library.def(torch::schema((name + arguments).c_str()));
        library.impl(name.c_str(),
                     torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, function));
        library.impl(name.c_str(), torch::dispatch(c10::DispatchKey::Autograd, differentiable));
    };
    define_fused("tensor_product_convolution",
                 "(Tensor x, Tensor filter, Tensor weights, Tensor edge_index, int[] paths,"
                 " float[] coefficients) -> Tensor",
                 &tensor_product_convolution, &differentiable_tensor_product_convolution);
    define_fused("d3_coordination_numbers",
                 "(Tensor edge_vectors, Tensor edge_index, Tensor species, Tensor radii,"
                 " float steepness, float cutoff, float bohr) -> Tensor",
                 &d3_coordination_numbers, &differentiable_d3_coordination_numbers);
    define_fused("d3_energies",
                 "(Tensor edge_vectors, Tensor edge_index, Tensor species,"
                 " Tensor coordination_numbers, Tensor c6, Tensor reference_cn,"
                 " Tensor has_reference, Tensor r2r4, Tensor radius, float steepness, float s6,"
                 " float s8, float[] damping, float cutoff, float bohr) -> Tensor",
                 &d3_energies, &differentiable_d3_energies);
}

bool is_kernel_operator(const std::string& name) {
    const std::string space = "nvalchemi_lmp::";
    return name.rfind(space, 0) == 0 &&
           std::find(names().begin(), names().end(), name.substr(space.size())) != names().end();
}

}  // namespace nvalchemi
