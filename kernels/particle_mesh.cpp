// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/particle_mesh.hpp"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/ewald.hpp"

namespace nvalchemi {

namespace {

using std::numbers::pi;
constexpr std::int64_t kMostPoints = 4096;  // along one axis: a misread unit, not a system

void check_arguments(const char* name, const at::Tensor& positions, const at::Tensor& charges,
                     const at::Tensor& cell, std::int64_t order) {
    TORCH_CHECK(positions.dim() == 2 && positions.size(1) == 3, name, ": got positions of shape ",
                positions.sizes(), ", expected (rows, 3)");
    TORCH_CHECK(charges.dim() == 1 && charges.size(0) == positions.size(0), name,
                ": got charges of shape ", charges.sizes(), ", expected (", positions.size(0),
                "), one for each position");
    TORCH_CHECK(cell.dim() == 2 && cell.size(0) == 3 && cell.size(1) == 3, name,
                ": got a cell of shape ", cell.sizes(), ", expected (3, 3)");
    TORCH_CHECK(order >= 2 && order <= 12 && order % 2 == 0, name, ": got splines of order ", order,
                ", expected an even number from 2 to 12");
}

bool is_smooth(std::int64_t number) {
    for (const std::int64_t factor : {2, 3, 5})
        while (number % factor == 0) number /= factor;
    return number == 1;
}

std::array<std::int64_t, 3> mesh_points(const at::Tensor& setup_cell, double spacing,
                                        std::int64_t order) {
    const auto lengths =
        setup_cell.detach().to(at::kCPU, at::kDouble).square().sum(1).sqrt().contiguous();
    std::array<std::int64_t, 3> points{};
    for (int axis = 0; axis < 3; ++axis) {
        // a cell that differs by rounding must not have another mesh
        const double least = lengths.const_data_ptr<double>()[axis] / spacing - 1e-9;
        TORCH_CHECK(least < kMostPoints, "pme_spread: got ", least,
                    " mesh points along lattice vector ", axis + 1, ", expected at most ",
                    kMostPoints, " (check the unit of lengths, or take a wider spacing)");
        auto& count = points[axis];
        count = std::max(order, static_cast<std::int64_t>(std::ceil(least)));
        while (count % 2 != 0 || !is_smooth(count)) ++count;
    }
    return points;
}

/// Values of the B-spline of `order` at fraction + 0, 1, ... order - 1: (rows, order). The
/// recursion M_n(u) = (u M_{n-1}(u) + (n - u) M_{n-1}(u - 1)) / (n - 1).
at::Tensor spline_values(const at::Tensor& fraction, std::int64_t order) {
    std::vector<at::Tensor> values{fraction, 1.0 - fraction};  // order 2
    for (std::int64_t n = 3; n <= order; ++n) {
        std::vector<at::Tensor> next;
        for (std::int64_t k = 0; k < n; ++k) {
            const auto u = fraction + static_cast<double>(k);
            at::Tensor sum;
            if (k < n - 1) sum = u * values[k];
            if (k > 0) {
                const auto other = (static_cast<double>(n) - u) * values[k - 1];
                sum = sum.defined() ? sum + other : other;
            }
            next.push_back(sum / static_cast<double>(n - 1));
        }
        values = std::move(next);
    }
    return at::stack(values, 1);
}

/// Where rows meet a mesh: points (rows, order^3) of the flattened mesh, and their weights.
struct Stencil {
    at::Tensor points, weights;
};

Stencil stencil_of(const at::Tensor& positions, const at::Tensor& cell,
                   const std::array<std::int64_t, 3>& extents, std::int64_t order) {
    const auto fractions = positions.matmul(at::linalg_inv(cell));
    const auto offsets = at::arange(order, positions.options().dtype(at::kLong));
    Stencil stencil;
    for (int axis = 0; axis < 3; ++axis) {
        const auto extent = extents[axis];
        const auto u = fractions.select(1, axis) * static_cast<double>(extent);
        const auto below = u.detach().floor();
        const auto weight = spline_values(u - below, order);
        const auto point =
            (below.to(at::kLong).unsqueeze(1) - offsets).remainder(extent);  // (rows, order)
        if (axis == 0) {
            stencil = {point, weight};
            continue;
        }
        stencil.points = (stencil.points.unsqueeze(2) * extent + point.unsqueeze(1)).flatten(1);
        stencil.weights = (stencil.weights.unsqueeze(2) * weight.unsqueeze(1)).flatten(1);
    }
    return stencil;
}

/// Signed wave numbers of a Fourier transform of `extent` points, or of its first half.
at::Tensor wave_numbers(std::int64_t extent, bool half, const at::TensorOptions& options) {
    const auto spacing = 1.0 / static_cast<double>(extent);
    return half ? at::fft_rfftfreq(extent, spacing, options)
                : at::fft_fftfreq(extent, spacing, options);
}

/// 1 / |sum_k M_n(k + 1) exp(2 pi i m k / K)|^2: the splines' own Fourier transform.
at::Tensor spline_correction(const at::Tensor& m, std::int64_t extent, std::int64_t order) {
    const auto knots = spline_values(at::zeros({1}, m.options()), order).select(0, 0);  // M_n(k)
    const auto angle =
        (2 * pi / static_cast<double>(extent)) * m.unsqueeze(1) * at::arange(order, m.options());
    return 1.0 / ((knots * angle.cos()).sum(1).square() + (knots * angle.sin()).sum(1).square());
}

/// Multiplies the transform of the charges on the mesh: (K_1, K_2, K_3 / 2 + 1).
at::Tensor influence(const at::Tensor& cell, const std::array<std::int64_t, 3>& extents,
                     double alpha, std::int64_t order) {
    const auto options = cell.options().requires_grad(false);
    std::vector<at::Tensor> m;
    at::Tensor correction;
    for (int axis = 0; axis < 3; ++axis) {
        m.push_back(wave_numbers(extents[axis], axis == 2, options));
        const auto own = spline_correction(m.back(), extents[axis], order);
        correction = axis == 0 ? own : correction.unsqueeze(-1) * own;
    }
    const auto k =
        2 * pi *
        at::stack(at::TensorList(at::meshgrid(m, "ij")), -1).matmul(at::linalg_inv(cell).t());
    const auto square = k.square().sum(-1);
    auto counts = at::ones(square.sizes(), options.dtype(at::kBool));
    counts.select(0, 0).select(0, 0).select(0, 0).fill_(false);
    const auto k2 = at::where(counts, square, 1.0);
    const auto weight =
        (4 * pi) / volume_of(cell) * correction * (k2 / (-4 * alpha * alpha)).exp() / k2;
    return at::where(counts, weight, 0.0);
}

}  // namespace

at::Tensor pme_spread(const at::Tensor& positions, const at::Tensor& charges,
                      const at::Tensor& cell, const at::Tensor& setup_cell, double spacing,
                      std::int64_t order) {
    check_arguments("pme_spread", positions, charges, cell, order);
    const auto extents = mesh_points(setup_cell, spacing, order);
    const auto stencil = stencil_of(positions, cell, extents, order);
    const auto spread = (charges.unsqueeze(1) * stencil.weights).flatten();
    return spread.new_zeros({extents[0] * extents[1] * extents[2]})
        .index_add(0, stencil.points.flatten(), spread)
        .reshape(extents);
}

at::Tensor pme_reciprocal_energies(const at::Tensor& positions, const at::Tensor& charges,
                                   const at::Tensor& cell, const at::Tensor& mesh, double alpha,
                                   std::int64_t order) {
    check_arguments("pme_reciprocal_energies", positions, charges, cell, order);
    TORCH_CHECK(mesh.dim() == 3, "pme_reciprocal_energies: got a mesh of shape ", mesh.sizes(),
                ", expected three dimensions");
    const std::array<std::int64_t, 3> extents{mesh.size(0), mesh.size(1), mesh.size(2)};
    const auto transform = at::fft_rfftn(mesh) * influence(cell, extents, alpha, order);
    // the potential is the derivative of the energy by a mesh point's charge: a sum, no mean
    const auto potential =
        at::fft_irfftn(transform, extents, at::OptionalIntArrayRef(), "forward").flatten();
    const auto stencil = stencil_of(positions, cell, extents, order);
    const auto at_rows =
        potential.index_select(0, stencil.points.flatten()).reshape(stencil.points.sizes());
    return 0.5 * charges * (at_rows * stencil.weights).sum(1) +
           self_and_background_energies(charges, cell, mesh.sum(), alpha);
}

}  // namespace nvalchemi
