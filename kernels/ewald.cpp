// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/ewald.hpp"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <numbers>

namespace nvalchemi {

namespace {

using std::numbers::pi;
constexpr double kSqrtPi = 1.0 / std::numbers::inv_sqrtpi;
constexpr std::int64_t kMostWaveNumbers = 4096;  // along one axis: a misread unit, not a system

void check_atoms(const char* name, const at::Tensor& positions, const at::Tensor& charges) {
    TORCH_CHECK(positions.dim() == 2 && positions.size(1) == 3, name, ": got positions of shape ",
                positions.sizes(), ", expected (rows, 3)");
    TORCH_CHECK(charges.dim() == 1 && charges.size(0) == positions.size(0), name,
                ": got charges of shape ", charges.sizes(), ", expected (", positions.size(0),
                "), one for each position");
}

void check_cell(const char* name, const at::Tensor& cell) {
    TORCH_CHECK(cell.dim() == 2 && cell.size(0) == 3 && cell.size(1) == 3, name,
                ": got a cell of shape ", cell.sizes(), ", expected (3, 3)");
}

/// The largest m along each axis: k . h_a = 2 pi m_a, so that |m_a| <= k_max |h_a| / 2 pi.
std::array<std::int64_t, 3> largest_wave_numbers(const at::Tensor& setup_cell, double k_max) {
    const auto lengths =
        setup_cell.detach().to(at::kCPU, at::kDouble).square().sum(1).sqrt().contiguous();
    std::array<std::int64_t, 3> largest{};
    for (int axis = 0; axis < 3; ++axis) {
        // a cell that differs by rounding must not have another box
        const double reach = k_max * lengths.const_data_ptr<double>()[axis] / (2 * pi) + 1e-9;
        TORCH_CHECK(reach < kMostWaveNumbers, "ewald_structure_factors: got ", reach,
                    " wave numbers along lattice vector ", axis + 1, ", expected at most ",
                    kMostWaveNumbers, " (use a mesh for a system of this size)");
        largest[axis] = static_cast<std::int64_t>(std::floor(reach));
    }
    return largest;
}

/// exp(2 pi i m s) for fractions s (rows,): (rows, last - first + 1), complex.
at::Tensor phases(const at::Tensor& fractions, std::int64_t first, std::int64_t last) {
    const auto angle =
        2 * pi * fractions.unsqueeze(1) * at::arange(first, last + 1, fractions.options());
    return at::complex(angle.cos(), angle.sin());
}

/// The phases of each row along the first two axes, (rows, (M_1 + 1)(2 M_2 + 1)), and the third,
/// (rows, 2 M_3 + 1).
std::array<at::Tensor, 2> phases_of_rows(const at::Tensor& positions, const at::Tensor& cell,
                                         const std::array<std::int64_t, 3>& largest) {
    const auto fractions = positions.matmul(at::linalg_inv(cell));
    const auto along = [&](int axis, bool half) {
        return phases(fractions.select(1, axis), half ? 0 : -largest[axis], largest[axis]);
    };
    const auto plane = along(0, true).unsqueeze(2) * along(1, false).unsqueeze(1);
    return {plane.flatten(1), along(2, false)};
}

/// k of `cell` for all m of the box: (M_1 + 1, 2 M_2 + 1, 2 M_3 + 1, 3).
at::Tensor wave_vectors(const at::Tensor& cell, const std::array<std::int64_t, 3>& largest) {
    const auto options = cell.options().requires_grad(false);
    const auto m = at::meshgrid(
        {at::arange(0, largest[0] + 1, options), at::arange(-largest[1], largest[1] + 1, options),
         at::arange(-largest[2], largest[2] + 1, options)},
        "ij");
    return 2 * pi * at::stack(at::TensorList(m), -1).matmul(at::linalg_inv(cell).t());
}

/// The weight of |S(k)|^2 in the energy: (4 pi / V) exp(-k^2 / 4 alpha^2) / k^2, once for each of k
/// and -k together; 0 for k = 0 and beyond k_max.
at::Tensor weights(const at::Tensor& cell, const at::Tensor& setup_cell,
                   const std::array<std::int64_t, 3>& largest, double alpha, double k_max) {
    const auto planned = wave_vectors(setup_cell.detach(), largest).square().sum(-1);
    const auto counts = (planned > 0).logical_and(planned <= k_max * k_max * (1 + 1e-9));
    const auto k2 = at::where(counts, wave_vectors(cell, largest).square().sum(-1), 1.0);
    auto pairs = at::full({largest[0] + 1, 1, 1}, 2.0, k2.options().requires_grad(false));
    pairs.select(0, 0).fill_(1.0);
    const auto weight = pairs * (4 * pi) / volume_of(cell) * (k2 / (-4 * alpha * alpha)).exp() / k2;
    return at::where(counts, weight, 0.0);
}

}  // namespace

at::Tensor ewald_structure_factors(const at::Tensor& positions, const at::Tensor& charges,
                                   const at::Tensor& cell, const at::Tensor& setup_cell,
                                   double k_max) {
    check_atoms("ewald_structure_factors", positions, charges);
    check_cell("ewald_structure_factors", cell);
    const auto largest = largest_wave_numbers(setup_cell, k_max);
    const auto [plane, third] = phases_of_rows(positions, cell, largest);
    const auto factors = plane.t().matmul(charges.unsqueeze(1) * third);
    return at::view_as_real(
        factors.reshape({largest[0] + 1, 2 * largest[1] + 1, 2 * largest[2] + 1}));
}

at::Tensor ewald_reciprocal_energies(const at::Tensor& positions, const at::Tensor& charges,
                                     const at::Tensor& cell, const at::Tensor& setup_cell,
                                     const at::Tensor& factors, double alpha, double k_max) {
    check_atoms("ewald_reciprocal_energies", positions, charges);
    check_cell("ewald_reciprocal_energies", cell);
    const auto largest = largest_wave_numbers(setup_cell, k_max);
    const std::vector<std::int64_t> expected{largest[0] + 1, 2 * largest[1] + 1, 2 * largest[2] + 1,
                                             2};
    TORCH_CHECK(factors.sizes() == at::IntArrayRef(expected),
                "ewald_reciprocal_energies: got structure factors of shape ", factors.sizes(),
                ", expected ", at::IntArrayRef(expected), ", those of the same cell and k_max");
    const auto [plane, third] = phases_of_rows(positions, cell, largest);
    const auto weighted = at::view_as_complex(factors.contiguous()).conj() *
                          weights(cell, setup_cell, largest, alpha, k_max);
    // sum over k of A(k) S(k)* exp(i k x), the third axis first
    const auto along_third = third.matmul(weighted.reshape({plane.size(1), third.size(1)}).t());
    const auto potential = at::real((plane * along_third).sum(1));
    const auto total =
        factors.select(0, 0).select(0, largest[1]).select(0, largest[2]).select(0, 0);
    return 0.5 * charges * potential + self_and_background_energies(charges, cell, total, alpha);
}

at::Tensor volume_of(const at::Tensor& cell) {
    const auto normal = at::linalg_cross(cell.select(0, 1), cell.select(0, 2));
    return (cell.select(0, 0) * normal).sum().abs();
}

at::Tensor self_and_background_energies(const at::Tensor& charges, const at::Tensor& cell,
                                        const at::Tensor& total, double alpha) {
    return charges.square() * (-alpha / kSqrtPi) -
           charges * total * (pi / (2 * alpha * alpha)) / volume_of(cell);
}

at::Tensor slab_moments(const at::Tensor& positions, const at::Tensor& charges) {
    check_atoms("slab_moments", positions, charges);
    const auto z = positions.select(1, 2);
    return at::stack({charges.sum(), (charges * z).sum(), (charges * z.square()).sum()});
}

at::Tensor slab_energies(const at::Tensor& positions, const at::Tensor& charges,
                         const at::Tensor& cell, const at::Tensor& moments) {
    check_atoms("slab_energies", positions, charges);
    check_cell("slab_energies", cell);
    TORCH_CHECK(moments.dim() == 1 && moments.size(0) == 3, "slab_energies: got moments of shape ",
                moments.sizes(), ", expected (3)");
    const auto z = positions.select(1, 2);
    const auto total = moments.select(0, 0), dipole = moments.select(0, 1);
    const auto height = cell.select(0, 2).select(0, 2);
    const auto field = z * dipole - 0.5 * (total * z.square() + moments.select(0, 2)) -
                       total * height.square() / 12.0;
    return charges * field * (2 * pi) / volume_of(cell);
}

}  // namespace nvalchemi
