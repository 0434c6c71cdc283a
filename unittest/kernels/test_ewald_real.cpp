// SPDX-License-Identifier: GPL-2.0-only
// Ewald's sum in real space in one pass over the edges: values, first and second derivatives
// against the same from torch's own operators, and what is refused.
#include <gtest/gtest.h>

#include <string>

#include "unittest/kernels/rank_gradients.hpp"

namespace nvalchemi {
namespace {

using namespace test;

constexpr double kAlpha = 0.4;

Tensor real_energies(const Tensor& vectors, const Tensor& index, const Tensor& charges,
                     double alpha = kAlpha) {
    register_operators();
    return c10::Dispatcher::singleton()
        .findSchemaOrThrow("nvalchemi_lmp::ewald_real_energies", "")
        .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, double)>()
        .call(vectors, index, charges, alpha);
}

Tensor plain(const Tensor& vectors, const Tensor& index, const Tensor& charges,
             double alpha = kAlpha) {
    const Tensor r = vectors.square().sum(1).sqrt();
    const Tensor pair = 0.5 * charges.index_select(0, index[0]) *
                        charges.index_select(0, index[1]) * (alpha * r).erfc() / r;
    return at::zeros_like(charges).index_add(0, index[0], pair);
}

/// Lengths from 1 to 9, so that erfc falls to 4e-7; not sorted, the last row is of no edge.
struct Ions {
    explicit Ions(std::int64_t edges, at::ScalarType type = at::kDouble) {
        const Tensor x = random_rows({edges, 3});
        vectors = (x / x.square().sum(1, true).sqrt() * (5.0 + 4.0 * random_rows({edges, 1}).erf()))
                      .to(type);
        index = (random_rows({2, edges}).abs() * 1e6).to(at::kLong).remainder(6);
        charges = random_rows({7}, type);
    }

    Tensor vectors, index, charges;
};

/// Value, gradients of a weighted sum of it, and the gradients of a function of these.
template <typename Function>
Tensors derivatives(const Function& function, const Ions& ions, double alpha = kAlpha) {
    const Tensor vectors = leaf(ions.vectors), charges = leaf(ions.charges);
    const Tensor value = function(vectors, ions.index, charges, alpha);
    const Tensor factors = at::arange(7, ions.charges.options()).sin() + 0.2;
    const auto first = torch::autograd::grad({(value * factors).sum()}, {vectors, charges}, {},
                                             /*retain_graph=*/true);
    const auto again = torch::autograd::grad({(value * factors).sum()}, {vectors, charges}, {},
                                             /*retain_graph=*/true, /*create_graph=*/true);
    const Tensor of_gradients = again[0].sin().sum() + again[1].sin().sum();
    const auto second = torch::autograd::grad({of_gradients}, {vectors, charges});
    return {value.detach(), first[0], first[1], again[0].detach(), second[0], second[1]};
}

TEST(EwaldReal, GivesThePlainValuesAndDerivatives) {
    for (const std::int64_t edges : {0, 1, 500, 9000}) {
        const Ions ions(edges);
        const auto expected = derivatives(&plain, ions);
        EXPECT_LT(largest_difference(derivatives(&real_energies, ions), expected), 1e-12);
        const auto other = derivatives(&real_energies, ions, 1.001 * kAlpha);
        EXPECT_EQ(largest_difference(other, expected) > 1e-5, edges > 0);
    }
}

TEST(EwaldReal, GivesThePlainValuesAndDerivativesInSinglePrecision) {
    const Ions ions(500, at::kFloat);
    EXPECT_LT(largest_difference(derivatives(&real_energies, ions), derivatives(&plain, ions)),
              1e-5);
}

TEST(EwaldReal, TakesEdgesInAnyOrder) {
    const Ions ions(500);
    const Tensor order = ions.index[0].argsort();

    EXPECT_TRUE(close(real_energies(ions.vectors.index_select(0, order),
                                    ions.index.index_select(1, order), ions.charges),
                      real_energies(ions.vectors, ions.index, ions.charges), 1e-13));
}

TEST(EwaldReal, GivesTheGradientThatIsAskedFor) {
    const Ions ions(500);
    const auto all = derivatives(&real_energies, ions);
    const Tensor factors = at::arange(7, ions.charges.options()).sin() + 0.2;
    const Tensor vectors = leaf(ions.vectors), charges = leaf(ions.charges);
    const auto sum = [&](const Tensor& x, const Tensor& q) {
        return (real_energies(x, ions.index, q) * factors).sum();
    };

    EXPECT_TRUE(same(gradient(sum(vectors, ions.charges), vectors), all[1]));
    EXPECT_TRUE(same(gradient(sum(ions.vectors, charges), charges), all[2]));
    EXPECT_TRUE(close(gradient(sum(ions.vectors, charges), charges, true).detach(), all[2], 1e-12));
}

TEST(EwaldReal, TakesChargesOfAnotherPrecision) {
    const Ions ions(500);

    EXPECT_TRUE(close(real_energies(ions.vectors, ions.index, ions.charges.to(at::kFloat)),
                      real_energies(ions.vectors, ions.index, ions.charges), 1e-5));
}

TEST(EwaldReal, RefusesWhatDoesNotFit) {
    const Ions ions(6);
    const auto refusal = [&](const Tensor& vectors, const Tensor& index, const Tensor& charges) {
        return error_of([&] { real_energies(vectors, index, charges); });
    };
    const auto &x = ions.vectors, &index = ions.index, &q = ions.charges;
    Tensor beyond = index.clone();
    beyond[1][3] = 7;

    EXPECT_EQ(refusal(x, index, q), "nothing");
    EXPECT_CONTAINS(refusal(x.t(), index, q),
                    "ewald_real_energies: got edge_vectors of shape [3, 6], expected (edges, 3)");
    EXPECT_CONTAINS(refusal(x, index.t(), q),
                    "ewald_real_energies: got edge_index of shape [6, 2], expected (2, 6)");
    EXPECT_CONTAINS(refusal(x, index, q.unsqueeze(1)),
                    "ewald_real_energies: got charges of shape [7, 1], expected (rows)");
    EXPECT_CONTAINS(refusal(x, beyond, q), "to 7 in edge_index, expected rows from 0 to 6");
    EXPECT_CONTAINS(refusal(x, index, q.to(at::kMeta)),
                    "ewald_real_energies: got charges Double on meta, expected Double on cpu");
}

}  // namespace
}  // namespace nvalchemi
