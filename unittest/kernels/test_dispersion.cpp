// SPDX-License-Identifier: GPL-2.0-only
// Coordination numbers and energies of DFT-D3 in one pass over the edges each: values and gradients
// against the same from torch's own operators, and what is refused.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "unittest/kernels/dispersion_case.hpp"

namespace nvalchemi {
namespace {

using namespace test;

struct Setting {
    const char* name;
    std::int64_t rows, edges;
    std::vector<double> damping;

    friend void PrintTo(const Setting& setting, std::ostream* stream) { *stream << setting.name; }
};

const Setting kSettings[] = {
    {"rational", 9, 400, {}},
    {"zero", 9, 400, {1.2, 1.0, 0.0, 14.0}},
    {"modified zero", 9, 400, {1.2, 1.0, 0.05, 14.0}},
    {"many edges", 60, 3000, {}},
    {"one edge", 3, 1, {}},
    {"no edge", 3, 0, {}},
};

class D3 : public ::testing::TestWithParam<Setting> {
  protected:
    DispersionCase given{GetParam().rows, GetParam().edges, GetParam().damping};
};

TEST_P(D3, GivesThePlainValuesAndGradientsInDoublePrecision) {
    EXPECT_LT(
        largest_difference(values_and_gradients(given, false), values_and_gradients(given, true)),
        1e-12);
}

TEST_P(D3, IsAsPreciseAsItsNumbersInSinglePrecision) {
    const auto single = given.converted(at::kFloat);
    auto found = values_and_gradients(single, false);
    for (auto& tensor : found) {
        EXPECT_EQ(tensor.scalar_type(), at::kFloat);
        tensor = tensor.to(at::kDouble);
    }
    EXPECT_LT(largest_difference(found, values_and_gradients(single.converted(at::kDouble), true)),
              2e-5);
}

TEST_P(D3, DiffersWithOneOtherNumber) {
    const auto expected = values_and_gradients(given, false);
    for (const auto member : {&DispersionCase::radii, &DispersionCase::reference_cn,
                              &DispersionCase::r2r4, &DispersionCase::radius}) {
        DispersionCase other = given;
        other.*member = 1.001 * (given.*member);
        const auto found = largest_difference(values_and_gradients(other, false), expected);
        EXPECT_EQ(found > 1e-6, GetParam().edges > 0) << found;
    }
}

TEST_P(D3, TakesEdgesInAnyOrder) {
    const Tensor order = given.index[0].argsort();
    DispersionCase sorted = given;
    sorted.vectors = given.vectors.index_select(0, order);
    sorted.index = given.index.index_select(1, order);
    auto expected = values_and_gradients(given, false);
    for (const int n : {1, 3}) expected[n] = expected[n].index_select(0, order);

    EXPECT_LT(largest_difference(values_and_gradients(sorted, false), expected), 1e-13);
}

TEST_P(D3, TakesTensorsWhoseNumbersDoNotLieInARow) {
    DispersionCase spread = given;
    for (Tensor* tensor : {&spread.vectors, &spread.index, &spread.reference_cn, &spread.radius,
                           &spread.has_reference})
        *tensor = tensor->t().contiguous().t();

    EXPECT_EQ(
        largest_difference(values_and_gradients(spread, false), values_and_gradients(given, false)),
        0.0);
}

TEST_P(D3, LeavesRowsWithoutEdgesAtZero) {
    const auto found = values_and_gradients(given, false);
    for (const int n : {0, 2, 4}) EXPECT_EQ(found[n][-1].item<double>(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Settings, D3, ::testing::ValuesIn(kSettings));

TEST(D3Gradient, EqualsFiniteDifferences) {
    for (const auto& damping : {std::vector<double>{}, {1.2, 1.0, 0.05, 14.0}}) {
        DispersionCase given(5, 12, damping);
        // shorter edges change too fast for these steps
        const Tensor lengths = given.vectors.square().sum(1, true).sqrt();
        given.vectors = given.vectors / lengths * (1.5 + 0.7 * lengths);
        InMemoryGroup alone(std::vector<RankRows>{{5, {}}});
        const Energy energy = [&](std::size_t, const Tensor& x) {
            DispersionCase moved = given;
            moved.vectors = x;
            const Tensor factors = at::arange(5, x.options()).cos();
            return 1e3 * (moved.energies(moved.coordination_numbers()) * factors).sum();
        };
        const Tensors inputs = {given.vectors};
        const auto analytic = gradients(alone, inputs, energy);
        const auto numeric = finite_differences(alone, inputs, energy);
        expect_equal_gradients(analytic, numeric);
        EXPECT_FALSE(close(1.001 * analytic[0], numeric[0], 1e-8));
    }
}

TEST(D3Gradient, IsFormedForTheInputsThatAskForIt) {
    const DispersionCase given(5, 30, {});
    const auto all = values_and_gradients(given, false);
    const Tensor numbers = leaf(given.within_references());
    const Tensor factors = at::arange(5, numbers.options().requires_grad(false)).sin() + 0.3;

    EXPECT_TRUE(same(gradient((given.energies(numbers) * factors).sum(), numbers), all[4]));
}

TEST(D3Gradient, OfAnInputThatSomebodyWroteToIsRefused) {
    DispersionCase given(5, 30, {});
    given.vectors = leaf(given.vectors);
    const Tensor numbers = at::ones({5}, at::kDouble);
    const Tensor sum = given.energies(numbers).sum();
    numbers.mul_(2.0);

    EXPECT_CONTAINS(error_of([&] { gradient(sum, given.vectors); }),
                    "modified by an inplace operation");
}

TEST(D3Gradient, OfSecondOrderIsRefused) {
    DispersionCase given(5, 30, {});
    given.vectors = leaf(given.vectors);
    const std::string rest =
        ": got a request for second derivatives, expected first derivatives only "
        "(create_graph=False); evaluate an archive that was exported with --no-fused instead";
    const Tensor count = given.coordination_numbers();

    EXPECT_CONTAINS(error_of([&] { gradient(count.sum(), given.vectors, true); }),
                    "d3_coordination_numbers" + rest);
    EXPECT_CONTAINS(
        error_of([&] { gradient(given.energies(count.detach()).sum(), given.vectors, true); }),
        "d3_energies" + rest);
}

TEST(D3Energies, AreFiniteWhereAtomsMeet) {
    DispersionCase given(3, 1, {1.2, 1.0, 0.0, 14.0});
    given.vectors = leaf(given.vectors.detach() * 0.0 + 1e-4).to(at::kFloat);
    auto single = given.converted(at::kFloat);
    single.vectors = leaf(single.vectors);
    const Tensor numbers = leaf(single.coordination_numbers().detach());
    const Tensor energies = single.energies(numbers);

    EXPECT_TRUE(energies.isfinite().all().item<bool>());
    EXPECT_TRUE(gradient(energies.sum(), single.vectors).isfinite().all().item<bool>());

    single.vectors = leaf(0.0 * single.vectors);
    const Tensor count = single.coordination_numbers();
    EXPECT_TRUE(count.isfinite().all().item<bool>());
    EXPECT_EQ(gradient(count.sum(), single.vectors).abs().max().item<double>(), 0.0);
}

using Change = std::function<void(DispersionCase&, Tensor& numbers)>;

/// Texts of the errors of both operators with a changed case.
std::string refusal(const Change& change) {
    DispersionCase given(4, 6, {});
    Tensor numbers = at::ones({4}, at::kDouble);
    change(given, numbers);
    return error_of([&] { given.coordination_numbers(); }) + "|" +
           error_of([&] { given.energies(numbers); });
}

TEST(D3Refusal, NothingIsRefusedOfTheUnchanged) {
    EXPECT_EQ(refusal([](DispersionCase&, Tensor&) {}), "nothing|nothing");
}

TEST(D3Refusal, OfEdgesAndSpecies) {
    const std::pair<Change, const char*> kChanges[] = {
        {[](auto& c, auto&) { c.vectors = c.vectors.t(); },
         "got edge_vectors Double of shape [3, 6], expected float32 or float64 of shape (edges, "
         "3)"},
        {[](auto& c, auto&) { c.vectors = c.vectors.to(at::kHalf); },
         "got edge_vectors Half of shape [6, 3], expected float32"},
        {[](auto& c, auto&) { c.index = c.index.slice(1, 1); },
         "got edge_index Long of shape [2, 5], expected int64 of shape (2, 6)"},
        {[](auto& c, auto&) { c.index = c.index.to(at::kInt); },
         "got edge_index Int of shape [2, 6], expected int64"},
        {[](auto& c, auto&) { c.index = c.index.to(at::kMeta); },
         "got edge_index on meta, expected it on cpu as edge_vectors"},
        {[](auto& c, auto&) { c.index[0][2] = -1; }, "got rows from -1 to "},
        {[](auto& c, auto&) { c.index[1][2] = 4; },
         " to 4 in edge_index, expected rows from 0 to 3"},
        {[](auto& c, auto&) { c.species = c.species.to(at::kInt); },
         "got species Int of shape [4], expected int64 of shape (rows)"},
        {[](auto& c, auto&) { c.species = c.species.unsqueeze(1); },
         "got species Long of shape [4, 1], expected"},
        {[](auto& c, auto&) { c.species = c.species.to(at::kMeta); },
         "got species on meta, expected them on cpu as edge_vectors"},
        {[](auto& c, auto&) { c.species[1] = 3; },
         "got species from 0 to 3, expected numbers from 0 to 2, of which the tables know"},
        {[](auto& c, auto&) { c.species[1] = -1; }, "got species from -1 to 2"},
    };
    for (const auto& [change, text] : kChanges) {
        const auto found = refusal(change);
        const auto both = found.find('|');
        for (const auto& [name, part] :
             {std::pair{"d3_coordination_numbers: ", found.substr(0, both)},
              std::pair{"d3_energies: ", found.substr(both + 1)}}) {
            EXPECT_CONTAINS(part, name);
            EXPECT_CONTAINS(part, text);
        }
    }
}

TEST(D3Refusal, OfAllTensorsOnADeviceOfNoKernels) {
    EXPECT_CONTAINS(refusal([](auto& c, auto&) {
                        c.vectors = c.vectors.to(at::kMeta);
                        c.index = c.index.to(at::kMeta);
                        c.species = c.species.to(at::kMeta);
                    }),
                    "got edge_vectors on meta, expected the CPU or a CUDA device");
}

TEST(D3Refusal, OfTablesAndNumbers) {
    const std::pair<Change, const char*> kChanges[] = {
        {[](auto& c, auto&) { c.radii = c.radii.unsqueeze(0); },
         "d3_coordination_numbers: got radii of shape [1, 3], expected (kinds)"},
        {[](auto& c, auto&) { c.radii = c.radii.to(at::kFloat); },
         "d3_coordination_numbers: got radii Float on cpu, expected Double on cpu"},
        {[](auto& c, auto&) { c.c6 = c.c6.slice(3, 0, 4); },
         "d3_energies: got c6 of shape [3, 3, 5, 4], expected [3, 3, 5, 5]"},
        {[](auto& c, auto&) { c.reference_cn = c.reference_cn.t(); },
         "d3_energies: got reference_cn of shape [5, 3], expected [3, 5]"},
        {[](auto& c, auto&) { c.has_reference = c.has_reference[0]; },
         "d3_energies: got has_reference of shape [5], expected [3, 5]"},
        {[](auto& c, auto&) { c.has_reference = c.has_reference.to(at::kDouble); },
         "d3_energies: got has_reference Double on cpu, expected Bool on cpu"},
        {[](auto& c, auto&) {
             c.r2r4 = c.r2r4.view({3, 1});
         },
         "d3_energies: got r2r4 of shape [3, 1], expected [3]"},
        {[](auto& c, auto&) { c.radius = c.radius[0]; },
         "d3_energies: got radius of shape [3], expected [3, 3]"},
        {[](auto& c, auto&) { c.c6 = c.c6.to(at::kFloat); },
         "d3_energies: got c6 Float on cpu, expected Double on cpu"},
        {[](auto&, auto& numbers) { numbers = numbers.slice(0, 1); },
         "d3_energies: got coordination_numbers of shape [3], expected [4]"},
        {[](auto&, auto& numbers) { numbers = numbers.to(at::kFloat); },
         "d3_energies: got coordination_numbers Float on cpu, expected Double on cpu"},
        {[](auto& c, auto&) {
             c.damping = {1.0, 2.0};
         },
         "d3_energies: got 2 numbers of the damping, expected none (Becke-Johnson) or scale6, "
         "scale8, shift, alpha (zero damping)"},
    };
    for (const auto& [change, text] : kChanges) EXPECT_CONTAINS(refusal(change), text);
}

}  // namespace
}  // namespace nvalchemi
