// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_KERNELS_DISPERSION_CASE_HPP
#define NVALCHEMI_UNITTEST_KERNELS_DISPERSION_CASE_HPP

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <vector>

#include "unittest/kernels/rank_gradients.hpp"

namespace nvalchemi::test {

/// What the two operators of DFT-D3 take. Lengths of edges are from 0.9 to 12.5 bohr: some are
/// beyond both cutoffs, some where these are smoothed. The last row is of no edge.
struct DispersionCase {
    Tensor vectors, index, species;
    Tensor radii, c6, reference_cn, has_reference, r2r4, radius;
    std::vector<double> damping;
    double counting = 16.0, steepness = 1.0, s6 = 0.9, s8 = 0.7;
    double cn_cutoff = 8.0, cutoff = 12.0, bohr = 0.5;

    DispersionCase(std::int64_t rows, std::int64_t edges, std::vector<double> damping)
        : damping(std::move(damping)) {
        constexpr std::int64_t kKinds = 3, kReferences = 5;
        const auto numbers = [](const std::vector<std::int64_t>& shape, double low, double high) {
            return low + (high - low) * (0.5 + 0.5 * random_rows(shape).erf());
        };
        const Tensor directions = random_rows({edges, 3});
        Tensor lengths = numbers({edges, 1}, 0.45, 6.25);
        lengths.slice(0, 0, 1).fill_(2.1);  // a single edge counts for something
        vectors = directions / directions.square().sum(1, true).sqrt() * lengths;
        index = (random_rows({2, edges}).abs() * 1e6).to(at::kLong).remainder(rows - 1);
        species = at::arange(rows, at::kLong).remainder(kKinds);
        radii = numbers({kKinds}, 1.0, 3.0);
        reference_cn = numbers({kKinds, kReferences}, 0.0, 4.0);
        has_reference = at::ones({kKinds, kReferences}, at::kBool);
        has_reference[1].slice(0, 2).fill_(false);
        has_reference[2].slice(0, 4).fill_(false);
        c6 = numbers({kKinds, kKinds, kReferences, kReferences}, 5.0, 90.0) *
             has_reference.view({kKinds, 1, kReferences, 1}) *
             has_reference.view({1, kKinds, 1, kReferences});
        r2r4 = numbers({kKinds}, 2.0, 6.0);
        radius = numbers({kKinds, kKinds}, 2.0, 6.0);
    }

    std::vector<Tensor*> reals() { return {&vectors, &radii, &c6, &reference_cn, &r2r4, &radius}; }

    DispersionCase converted(at::ScalarType type) const {
        DispersionCase other = *this;
        for (Tensor* tensor : other.reals()) *tensor = tensor->to(type);
        return other;
    }

    std::int64_t rows() const { return species.size(0); }

    /// Coordination numbers as those of the reference systems, where C6 depends on them.
    Tensor within_references() const {
        return 4.0 * at::arange(rows(), vectors.options().requires_grad(false)).cos().square();
    }

    /// The operators, called as a model does.
    Tensor coordination_numbers() const {
        register_operators();
        return c10::Dispatcher::singleton()
            .findSchemaOrThrow("nvalchemi_lmp::d3_coordination_numbers", "")
            .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, double,
                          double, double)>()
            .call(vectors, index, species, radii, counting, cn_cutoff, bohr);
    }

    Tensor energies(const Tensor& coordination) const {
        register_operators();
        return c10::Dispatcher::singleton()
            .findSchemaOrThrow("nvalchemi_lmp::d3_energies", "")
            .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                          const Tensor&, const Tensor&, const Tensor&, const Tensor&, double,
                          double, double, at::ArrayRef<double>, double, double)>()
            .call(vectors, index, species, coordination, c6, reference_cn, has_reference, r2r4,
                  radius, steepness, s6, s8, damping, cutoff, bohr);
    }

    // The same from torch's own operators, written after the formulas of dispersion.hpp.

    Tensor lengths() const { return vectors.square().sum(1).sqrt() / bohr; }
    Tensor of_receivers(const Tensor& rows) const { return rows.index_select(0, index[0]); }
    Tensor of_senders(const Tensor& rows) const { return rows.index_select(0, index[1]); }
    Tensor of_pairs(const Tensor& table) const {
        return table.index({of_receivers(species), of_senders(species)});
    }
    Tensor summed(const Tensor& values) const {
        return at::zeros({rows()}, values.options()).index_add(0, index[0], values);
    }

    static Tensor smooth(const Tensor& r, double cutoff) {
        const Tensor x = (cutoff - r).clamp(0.0, 1.0);
        return 10.0 * x.pow(3) - 15.0 * x.pow(4) + 6.0 * x.pow(5);
    }

    Tensor plain_coordination_numbers() const {
        const Tensor r = lengths();
        const Tensor sum = of_pairs(radii.unsqueeze(1) + radii.unsqueeze(0));
        return summed((counting * (sum / r - 1.0)).sigmoid() * smooth(r, cn_cutoff));
    }

    Tensor plain_energies(const Tensor& coordination) const {
        const Tensor r = lengths();
        const Tensor difference = coordination.unsqueeze(1) - reference_cn.index_select(0, species);
        const Tensor weights =
            (-steepness * difference.square())
                .masked_fill(has_reference.index_select(0, species).logical_not(), -1e20)
                .softmax(1);
        const Tensor c =
            at::einsum("ea,eab,eb->e", {of_receivers(weights), of_pairs(c6), of_senders(weights)});
        const Tensor ratio = of_pairs(3.0 * r2r4.unsqueeze(1) * r2r4.unsqueeze(0));
        const Tensor pair_radius = of_pairs(radius);
        const auto damped = [&](int n) {
            if (damping.empty()) return 1.0 / (r.pow(n) + pair_radius.pow(n));
            const double scale = damping[n == 6 ? 0 : 1], alpha = damping[3] + (n - 6);
            const Tensor x = r / (scale * pair_radius) + damping[2] * pair_radius;
            return 1.0 / (r.pow(n) * (1.0 + 6.0 * x.pow(-alpha)));
        };
        return summed(-0.5 * c * (s6 * damped(6) + s8 * ratio * damped(8)) * smooth(r, cutoff));
    }
};

/// Values of the two operators, or of their plain form, and the gradients of sums of them with
/// factors at random, the second as a function of edge vectors and of coordination numbers.
inline Tensors values_and_gradients(const DispersionCase& given, bool plain) {
    DispersionCase leaves = given;
    leaves.vectors = leaf(given.vectors);
    const auto options = leaves.vectors.options().requires_grad(false);
    const Tensor factors = at::arange(given.rows(), options).sin() + 0.3;
    const Tensor count =
        plain ? leaves.plain_coordination_numbers() : leaves.coordination_numbers();
    const Tensor of_count = gradient((count * factors).sum(), leaves.vectors);
    const Tensor numbers = leaf(given.within_references());
    const Tensor energies = plain ? leaves.plain_energies(numbers) : leaves.energies(numbers);
    const auto of_energies =
        torch::autograd::grad({(energies * factors).sum()}, {leaves.vectors, numbers});
    return {count.detach(), of_count, energies.detach(), of_energies[0], of_energies[1]};
}

}  // namespace nvalchemi::test

#endif
