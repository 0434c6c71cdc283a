// SPDX-License-Identifier: GPL-2.0-only
// The tensor product of senders' features with the edges' filters, summed over receivers: values
// and gradients against the same from torch's own operators, and what is refused.
#include <gtest/gtest.h>

#include <string>

#include "unittest/kernels/tensor_product_case.hpp"

namespace nvalchemi {
namespace {

using namespace test;

struct Shape {
    const char* name;
    std::vector<Channels> groups;
    std::vector<std::int64_t> filters;
    std::int64_t rows, edges;

    friend void PrintTo(const Shape& shape, std::ostream* stream) { *stream << shape.name; }
};

const Shape kShapes[] = {
    {"one scalar channel", {{1, 1, {1}}}, {1}, 4, 9},
    {"several groups and paths",
     {{5, 1, {1, 3}}, {3, 3, {1, 3, 5}}, {2, 5, {5}}},
     {1, 3, 5},
     7,
     40},
    {"multiplicities that are no multiple of 32", {{33, 3, {1, 3}}, {70, 1, {3}}}, {3, 5}, 6, 30},
    {"one edge", {{4, 3, {1, 3}}}, {1, 3}, 3, 1},
    {"no edge", {{4, 3, {1, 3}}}, {1, 3}, 3, 0},
    {"one row beside the edges'", {{2, 1, {1}}, {9, 3, {3}}}, {1, 3}, 2, 5},
};

class TensorProduct : public ::testing::TestWithParam<Shape> {
  protected:
    TensorProduct()
        : paths(make_paths(GetParam().groups, GetParam().filters)),
          graph(make_graph(paths, GetParam().rows, GetParam().edges)) {}

    double deviation(const Graph& of) const {
        return largest_difference(value_and_gradients(&convolve, of, paths),
                                  value_and_gradients(&convolve_by_messages, of, paths));
    }

    Graph converted(at::ScalarType type) const {
        return {graph.x.to(type), graph.filter.to(type), graph.weights.to(type), graph.edge_index};
    }

    Paths paths;
    Graph graph;
};

TEST_P(TensorProduct, GivesTheValuesAndGradientsOfMessagesInDoublePrecision) {
    EXPECT_LT(deviation(graph), 1e-13);
}

TEST_P(TensorProduct, GivesTheValuesAndGradientsOfMessagesInSinglePrecision) {
    EXPECT_LT(deviation(converted(at::kFloat)), 1e-5);
}

TEST_P(TensorProduct, DiffersFromMessagesWithOneOtherCoefficient) {
    Paths other = paths;
    other.coefficients.back() += 0.01;
    const auto found = largest_difference(value_and_gradients(&convolve, graph, paths),
                                          value_and_gradients(&convolve_by_messages, graph, other));
    if (GetParam().edges > 0)
        EXPECT_GT(found, 1e-6);
    else
        EXPECT_EQ(found, 0.0);
}

TEST_P(TensorProduct, GivesTheSameBitsTwice) {
    const auto first = value_and_gradients(&convolve, graph, paths);
    const auto second = value_and_gradients(&convolve, graph, paths);

    for (std::size_t n = 0; n < first.size(); ++n) EXPECT_TRUE(at::equal(first[n], second[n]));
}

TEST_P(TensorProduct, TakesTensorsWhoseNumbersDoNotLieInARow) {
    const auto spread = [](const Tensor& tensor) { return tensor.t().contiguous().t(); };
    const Graph other{spread(graph.x), spread(graph.filter), spread(graph.weights),
                      spread(graph.edge_index)};

    EXPECT_TRUE(at::equal(convolve(other, paths), convolve(graph, paths)));
    EXPECT_LT(deviation(other), 1e-13);
}

TEST_P(TensorProduct, LeavesColumnsAloneThatNoPathReads) {
    const auto widen = [](const Tensor& tensor) {
        return at::constant_pad_nd(tensor, {0, 2}, 7.0);
    };
    const Graph wide{widen(graph.x), widen(graph.filter), widen(graph.weights), graph.edge_index};

    const auto found = value_and_gradients(&convolve, wide, paths);

    EXPECT_TRUE(at::equal(found[0], convolve(graph, paths)));
    EXPECT_LT(deviation(wide), 1e-13);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TensorProduct, ::testing::ValuesIn(kShapes));

/// A graph with few numbers, for finite differences and refusals.
struct Small {
    Paths paths = make_paths({{2, 3, {1, 3}}, {3, 1, {3}}}, {1, 3});
    Graph graph = make_graph(paths, 4, 6);

    Tensor operator()() const { return convolve(graph, paths); }
};

TEST(TensorProductGradient, EqualsFiniteDifferences) {
    const Small small;
    const Tensor factors = at::arange(4 * small.paths.out_columns, at::kDouble)
                               .cos()
                               .view({4, small.paths.out_columns});
    InMemoryGroup alone(std::vector<RankRows>{{4, {}}});
    const auto with = [&](int which, const Tensor& value) {
        Graph graph = small.graph;
        (which == 0 ? graph.x : which == 1 ? graph.filter : graph.weights) = value;
        return (convolve(graph, small.paths).tanh() * factors).sum();
    };
    for (const int which : {0, 1, 2}) {
        const Energy energy = [&](std::size_t, const Tensor& value) { return with(which, value); };
        const Tensors inputs = {small.graph.differentiable()[static_cast<std::size_t>(which)]};
        const Tensors analytic = gradients(alone, inputs, energy);
        expect_equal_gradients(analytic, finite_differences(alone, inputs, energy));
        EXPECT_FALSE(
            close(1.001 * analytic[0], finite_differences(alone, inputs, energy)[0], 1e-8));
    }
}

TEST(TensorProductGradient, IsFormedForTheInputsThatAskForIt) {
    const Small small;
    Graph graph = small.graph;
    graph.weights = leaf(graph.weights);

    const Tensor found = gradient(convolve(graph, small.paths).sum(), graph.weights);

    const Tensors all = value_and_gradients(&convolve_by_messages, small.graph, small.paths);
    EXPECT_EQ(found.sizes(), all[3].sizes());
    EXPECT_GT(found.abs().max().item<double>(), 0.1);
}

TEST(TensorProductGradient, OfAnInputThatSomebodyWroteToIsRefused) {
    const Small small;
    Graph graph = small.graph;
    graph.x = leaf(graph.x);
    const Tensor weights = graph.weights.clone();
    graph.weights = weights;
    const Tensor sum = convolve(graph, small.paths).sum();
    weights.mul_(2.0);

    EXPECT_CONTAINS(error_of([&] { gradient(sum, graph.x); }), "modified by an inplace operation");
}

TEST(TensorProductGradient, OfSecondOrderIsRefused) {
    const Small small;
    Graph graph = small.graph;
    graph.x = leaf(graph.x);
    const Tensor sum = convolve(graph, small.paths).sum();

    EXPECT_CONTAINS(error_of([&] { gradient(sum, graph.x, /*create_graph=*/true); }),
                    "tensor_product_convolution: got a request for second derivatives, expected "
                    "first derivatives only (create_graph=False)");
}

/// Text of the error with a changed graph or changed paths.
std::string refusal(const std::function<void(Small&)>& change) {
    Small small;
    change(small);
    return error_of([&] { small(); });
}

TEST(TensorProductRefusal, NothingIsRefusedOfTheUnchanged) {
    EXPECT_EQ(refusal([](Small&) {}), "nothing");
}

TEST(TensorProductRefusal, OfPathsThatAreNoPlan) {
    using Change = std::function<void(Paths&)>;
    const std::pair<Change, const char*> kChanges[] = {
        {[](Paths& p) { p.numbers.pop_back(); },
         "got 47 numbers of paths, expected eight for each"},
        {[](Paths& p) { p.numbers.clear(); }, "got 0 numbers of paths, expected eight for each"},
        {[](Paths& p) { p.numbers[1] = 0; },
         "got a path with multiplicity and sizes [2, 0, 1, 1], columns from [0, 0, 0, 0], expected "
         "sizes of at least 1 and columns of at least 0"},
        {[](Paths& p) { p.numbers[5] = -1; },
         "got a path with multiplicity and sizes [2, 3, 1, 1], columns from [0, -1, 0, 0], "
         "expected sizes of at least 1 and columns of at least 0"},
        {[](Paths& p) { p.coefficients.pop_back(); },
         "got 59 coefficients, expected at least 60 for the first 6 paths"},
        {[](Paths& p) { p.coefficients.push_back(1.0); },
         "got 61 coefficients, expected 60 for these paths"},
        {[](Paths& p) { p.numbers[8 + 6] = 1; },
         "got two paths that share weights from column 1, expected columns of their own"},
        {[](Paths& p) { p.numbers[8 + 7] = 1; },
         "got two paths that share the result from column 1, expected columns of their own"},
        {[](Paths& p) { p.numbers[8 + 4] = 1; },
         "got two paths that share a part of x from column 1, expected columns of their own"},
    };
    for (const auto& [change, text] : kChanges)
        EXPECT_CONTAINS(refusal([&, change = change](Small& small) { change(small.paths); }),
                        std::string("tensor_product_convolution: ") + text);
}

TEST(TensorProductRefusal, OfTensorsThatDoNotFit) {
    using Change = std::function<void(Graph&)>;
    const std::pair<Change, const char*> kChanges[] = {
        {[](Graph& g) { g.edge_index = g.edge_index.t(); },
         "got edge_index CPULongType of shape [6, 2], expected int64 of shape (2, edges)"},
        {[](Graph& g) { g.edge_index = g.edge_index.to(at::kInt); },
         "got edge_index CPUIntType of shape [2, 6], expected int64"},
        {[](Graph& g) { g.x = g.x.narrow(1, 0, 8); },
         "got x of shape [4, 8], expected (rows, at least 9)"},
        {[](Graph& g) { g.filter = g.filter.narrow(0, 0, 5); },
         "got a filter of shape [5, 4], expected (6, at least 4)"},
        {[](Graph& g) { g.weights = g.weights[0]; },
         "got weights of shape [14], expected (6, at least 14)"},
        {[](Graph& g) { g.filter = g.filter.to(at::kFloat); },
         "got x, filter and weights of dtypes Double, Float, Double, expected all float32 or all "
         "float64"},
        {[](Graph& g) {
             for (Tensor* tensor : {&g.x, &g.filter, &g.weights}) *tensor = tensor->to(at::kHalf);
         },
         "got x, filter and weights of dtypes Half, Half, Half, expected all float32"},
        {[](Graph& g) { g.weights = g.weights.to(at::kMeta); },
         "got tensors on cpu and meta, expected one device"},
        {[](Graph& g) {
             for (Tensor* tensor : {&g.x, &g.filter, &g.weights, &g.edge_index})
                 *tensor = tensor->to(at::kMeta);
         },
         "got tensors on meta, expected the CPU or a CUDA device"},
        {[](Graph& g) { g.edge_index[0][2] = 4; },
         "in edge_index, expected rows of x, from 0 to 3"},
        {[](Graph& g) { g.edge_index[0][2] = -1; }, "got rows from -1 to"},
    };
    for (const auto& [change, text] : kChanges) {
        const auto found = refusal([&, change = change](Small& small) { change(small.graph); });
        EXPECT_CONTAINS(found, "tensor_product_convolution: ");
        EXPECT_CONTAINS(found, text);
    }
}

// Senders are read before anything sorts them.
TEST(TensorProductRefusal, OfSendersThatAreNoRows) {
    for (const std::int64_t row : {-1, 4})
        EXPECT_CONTAINS(refusal([&](Small& small) { small.graph.edge_index[1][2] = row; }),
                        "in edge_index, expected rows of x, from 0 to 3");
}

}  // namespace
}  // namespace nvalchemi
