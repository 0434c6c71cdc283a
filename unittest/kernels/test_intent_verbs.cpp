// SPDX-License-Identifier: GPL-2.0-only
// The intent verbs against what one process computes that holds all atoms.
#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/passes/constant_propagation.h>

#include <memory>
#include <string>
#include <vector>

#include "unittest/kernels/verb_calls.hpp"

namespace nvalchemi {
namespace {

using test::apply;
using test::call;
using test::call_context;
using test::call_system_sum;
using test::close;
using test::column;
using test::Context;
using test::error_of;
using test::on_ranks;
using test::same;
using test::Tensor;
using test::Tensors;

using Kind = ExchangeEvent::Kind;
using Events = std::vector<ExchangeEvent>;

class IntentVerbs : public ::testing::TestWithParam<at::ScalarType> {
  protected:
    Tensor values(std::initializer_list<double> numbers) const {
        return column(numbers, GetParam());
    }
    double rounding() const { return GetParam() == at::kFloat ? 1e-6 : 1e-14; }
    InMemoryGroup group_{test::three_atoms_on_two_ranks()};
};

INSTANTIATE_TEST_SUITE_P(, IntentVerbs, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& test) { return std::string(c10::toString(test.param)); });

/// Decompositions of 1 to 4 ranks, one of which may be empty, with `body(parts)`.
template <typename Body>
void for_random_decompositions(const Body& body) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (unsigned seed = 0; seed < 8; ++seed) {
            SCOPED_TRACE(std::to_string(ranks) + " ranks, seed " + std::to_string(seed));
            body(test::random_decomposition(ranks, seed));
        }
    }
}

/// One tensor for each rank: all rows, then `others(rank)` rows that belong to no atom.
template <typename Others>
Tensors random_inputs(const std::vector<RankRows>& parts, at::ScalarType type,
                      const std::vector<std::int64_t>& trailing, const Others& others) {
    Tensors inputs;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        std::vector<std::int64_t> shape = {test::total_rows(parts[rank]) + others(rank)};
        shape.insert(shape.end(), trailing.begin(), trailing.end());
        inputs.push_back(test::random_rows(shape, type));
    }
    return inputs;
}

Tensor owned_rows(const Tensor& x, const RankRows& part) { return x.narrow(0, 0, part.owned); }

/// The owned rows of all ranks, in the order of atoms.
Tensor all_atoms(const Tensors& inputs, const std::vector<RankRows>& parts) {
    Tensors owned;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        owned.push_back(owned_rows(inputs[rank], parts[rank]));
    }
    return at::cat(owned);
}

/// What each rank should have if `dense` holds the right row of each atom.
void expect_rows_of(const Tensor& dense, const Tensors& inputs, const Tensors& got,
                    const std::vector<RankRows>& parts, double rounding) {
    const Tensors atoms = test::atoms_of_rows(parts);
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        const std::int64_t total = test::total_rows(parts[rank]);
        const std::int64_t others = std::max<std::int64_t>(0, inputs[rank].size(0) - total);
        const Tensor kept = inputs[rank].narrow(0, inputs[rank].size(0) - others, others);
        const Tensor expected = at::cat({dense.index_select(0, atoms[rank]), kept});
        EXPECT_EQ(got[rank].scalar_type(), inputs[rank].scalar_type());
        EXPECT_TRUE(close(got[rank], expected, rounding)) << "rank " << rank;
    }
}

TEST_P(IntentVerbs, RefreshNeighborsGivesEveryCopyItsOwnersRowAndKeepsOtherRows) {
    for (const auto& trailing : std::vector<std::vector<std::int64_t>>{{}, {3}, {2, 3}, {0}}) {
        for_random_decompositions([&](const std::vector<RankRows>& parts) {
            InMemoryGroup group(parts);
            // Ranks may pad differently: only rows of atoms move.
            for (const int most : {0, 1, 3}) {
                const auto others = [most](std::size_t rank) {
                    return std::min(most, static_cast<int>(rank));
                };
                const Tensors inputs = random_inputs(parts, GetParam(), trailing, others);

                const Tensors got = apply(group, "refresh_neighbors", inputs);

                expect_rows_of(all_atoms(inputs, parts), inputs, got, parts, 0);
            }
        });
    }
}

TEST_P(IntentVerbs, RefreshNeighborsWidensOwnedRows) {
    for_random_decompositions([&](const std::vector<RankRows>& parts) {
        InMemoryGroup group(parts);
        Tensors inputs;
        for (const RankRows& part : parts) {
            inputs.push_back(test::random_rows({part.owned, 2}, GetParam()));
        }

        const Tensors got = apply(group, "refresh_neighbors", inputs);

        expect_rows_of(at::cat(inputs), inputs, got, parts, 0);
    });
}

TEST_P(IntentVerbs, ScatterToOwnersGivesEveryCopyTheSumAndKeepsOtherRows) {
    for_random_decompositions([&](const std::vector<RankRows>& parts) {
        InMemoryGroup group(parts);
        const auto others = [](std::size_t rank) { return static_cast<int>(rank) % 2; };
        const Tensors inputs = random_inputs(parts, GetParam(), {2}, others);
        const Tensors atoms = test::atoms_of_rows(parts);
        Tensor sums = at::zeros({test::atom_count(parts), 2}, GetParam());
        for (std::size_t rank = 0; rank < parts.size(); ++rank) {
            sums.index_add_(0, atoms[rank], inputs[rank].narrow(0, 0, atoms[rank].size(0)));
        }

        const Tensors got = apply(group, "scatter_to_owners", inputs);

        expect_rows_of(sums, inputs, got, parts, 10 * rounding());
    });
}

/// Sizes of the values that system_sum takes for one rank.
enum class Given { Owned, Total, More };

class SystemSum : public ::testing::TestWithParam<std::tuple<at::ScalarType, at::ScalarType>> {};
INSTANTIATE_TEST_SUITE_P(, SystemSum,
                         ::testing::Combine(::testing::Values(at::kFloat, at::kDouble),
                                            ::testing::Values(at::kInt, at::kLong)),
                         [](const auto& test) {
                             return std::string(c10::toString(std::get<0>(test.param))) +
                                    c10::toString(std::get<1>(test.param));
                         });

TEST_P(SystemSum, IsThatOfAllAtomsOrOfThisRanksWhateverOtherRowsHold) {
    const auto [type, index_type] = GetParam();
    for_random_decompositions([type, index_type](const std::vector<RankRows>& parts) {
        InMemoryGroup group(parts);
        const std::int64_t n_atoms = test::atom_count(parts);
        for (const std::int64_t n_systems : {1, 3, 50}) {
            for (const Given given : {Given::Owned, Given::Total, Given::More}) {
                const Tensor system_of_atom = at::arange(n_atoms).mul(7).remainder(n_systems);
                Tensors inputs = random_inputs(parts, type, {2}, [](std::size_t) { return 2; });
                Tensors indices;
                std::int64_t first = 0;
                for (std::size_t rank = 0; rank < parts.size(); ++rank) {
                    const std::int64_t owned = parts[rank].owned;
                    if (given != Given::More) {
                        const bool all = given == Given::Total;
                        inputs[rank] =
                            inputs[rank].narrow(0, 0, all ? test::total_rows(parts[rank]) : owned);
                    }
                    Tensor index = at::full({inputs[rank].size(0)}, -7, index_type);
                    index.narrow(0, 0, owned).copy_(system_of_atom.narrow(0, first, owned));
                    indices.push_back(index);
                    first += owned;
                }
                const auto dense = [n_systems, type](const Tensor& values, const Tensor& index) {
                    return at::zeros({n_systems, 2}, at::kDouble)
                        .index_add(0, index.to(at::kLong), values.to(at::kDouble))
                        .to(type);
                };
                const double rounding = type == at::kFloat ? 1e-6 : 1e-13;

                for (const bool over_ranks : {true, false}) {
                    const Tensors got = on_ranks(group, parts.size(), [&](std::size_t rank) {
                        return call_system_sum(inputs[rank], indices[rank], n_systems,
                                               over_ranks ? "owned" : "local");
                    });

                    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
                        const Tensor expected =
                            over_ranks ? dense(all_atoms(inputs, parts), system_of_atom)
                                       : dense(owned_rows(inputs[rank], parts[rank]),
                                               owned_rows(indices[rank], parts[rank]));
                        EXPECT_EQ(got[rank].scalar_type(), type);
                        EXPECT_TRUE(close(got[rank], expected, rounding));
                    }
                }
                EXPECT_TRUE(group.events(0).empty());  // the last was local
            }
        }
    });
}

TEST_P(SystemSum, AddsFloat32InDouble) {
    for (const std::int64_t n_systems : {1, 2}) {
        Tensor rows = at::ones({105}, at::kFloat);
        rows[0] = 1e8;
        const Tensor index = at::full({105}, n_systems - 1, std::get<1>(GetParam()));

        const Tensor sum = call_system_sum(rows, index, n_systems);

        EXPECT_EQ(sum[n_systems - 1].item<double>(), 100000104.0);
        EXPECT_EQ(sum.scalar_type(), at::kFloat);
    }
}

TEST_P(IntentVerbs, SystemSumTakesAnyTrailingShapeAndNoSystems) {
    for (const auto& trailing : std::vector<std::vector<std::int64_t>>{{}, {1}, {2, 3}, {0}}) {
        for (const std::int64_t n_systems : {1, 2}) {
            std::vector<std::int64_t> shape = {3};
            shape.insert(shape.end(), trailing.begin(), trailing.end());
            const Tensor x = test::random_rows(shape, GetParam());
            const Tensor index = at::zeros({3}, at::kLong);

            const Tensor sum = call_system_sum(x, index, n_systems);

            shape[0] = n_systems;
            EXPECT_EQ(sum.sizes().vec(), shape);
            EXPECT_TRUE(close(sum[0], x.sum(0), 10 * rounding()));
        }
    }
    const Tensor none = call_system_sum(at::ones({0, 4}, GetParam()), at::zeros({0}, at::kInt), 0);
    EXPECT_EQ(none.sizes().vec(), (std::vector<std::int64_t>{0, 4}));
}

TEST_P(IntentVerbs, NonContiguousInputGivesTheSameAsItsCopy) {
    const Tensor transposed = test::random_rows({4, 5}, GetParam()).t();
    const Tensor strided = test::random_rows({10, 4}, GetParam()).slice(0, 0, 10, 2);
    const Tensor expanded = test::random_rows({1, 4}, GetParam()).expand({5, 4});
    const Tensor index = at::zeros({10}, at::kLong).slice(0, 0, 10, 2);
    for (const Tensor& rows : {transposed, strided, expanded}) {
        ASSERT_FALSE(rows.is_contiguous());
        for (const char* name : {"refresh_neighbors", "scatter_to_owners"}) {
            const Tensors got = apply(group_, name, {rows, rows});
            const Tensors expected = apply(group_, name, {rows.contiguous(), rows.contiguous()});

            EXPECT_TRUE(same(got[1], expected[1])) << name;
        }
        EXPECT_TRUE(
            close(call_system_sum(rows, index, 2)[0], rows.contiguous().sum(0), 10 * rounding()));
    }
}

TEST_P(IntentVerbs, InputsAreNotModifiedAndResultsShareNoMemoryWithThem) {
    for (const char* name : {"refresh_neighbors", "scatter_to_owners"}) {
        const Tensors inputs = {values({1, 2, 30, 4}), values({3, 20, 10})};
        const Tensors before = {inputs[0].clone(), inputs[1].clone()};

        for (const Tensor& result : apply(group_, name, inputs)) Tensor(result).zero_();
        call(name, inputs[0]).zero_();

        EXPECT_TRUE(same(inputs[0], before[0])) << name;
        EXPECT_TRUE(same(inputs[1], before[1])) << name;
    }
}

TEST_P(IntentVerbs, ToLocalAndAutogradTargetAreTheTensorItself) {
    for (const char* name : {"to_local", "autograd_target"}) {
        const Tensor x = values({1, 2}).requires_grad_(true);

        EXPECT_TRUE(call(name, x).is_same(x)) << name;
        group_.run([&](int, HaloExchange&) { EXPECT_TRUE(call(name, x).is_same(x)) << name; });
    }
}

TEST_P(IntentVerbs, WithoutExchangeOneProcessIsAll) {
    const Tensor rows = test::random_rows({4, 2}, GetParam());
    const Tensor index = at::tensor({1, 0, 1, 1}, at::kLong);
    const Tensor sums = at::stack({rows[1], rows[0] + rows[2] + rows[3]});

    EXPECT_TRUE(same(call("refresh_neighbors", rows), rows));
    EXPECT_TRUE(same(call("scatter_to_owners", rows), rows));
    for (const char* scope : {"owned", "local"}) {
        EXPECT_TRUE(close(call_system_sum(rows, index, 2, scope), sums, 10 * rounding()));
    }
    EXPECT_EQ(call_context(), (Context{false, 0, 1, -1, -1}));
}

TEST_P(IntentVerbs, OrderedOverloadsGiveTheSameAndPassTheTokenOn) {
    const Tensor token = values({0.25}).squeeze();
    const Tensors inputs = {values({1, 2, 30, 4}), values({3, 20, 10, 5})};
    const Tensor index = at::zeros({4}, at::kLong);
    const auto check = [&](const Tensor& next_token) {
        EXPECT_TRUE(same(next_token, token));
        EXPECT_FALSE(next_token.is_alias_of(token));
    };

    group_.run([&](int rank, HaloExchange&) {
        const Tensor& x = inputs[static_cast<std::size_t>(rank)];
        for (const char* name : {"refresh_neighbors", "scatter_to_owners"}) {
            const auto [result, next_token] = call(name, x, token);
            EXPECT_TRUE(same(result, call(name, x))) << name;
            check(next_token);
        }
        for (const char* scope : {"owned", "local"}) {
            const auto [sum, next_token] = call_system_sum(x, index, 1, token, scope);
            EXPECT_TRUE(same(sum, call_system_sum(x, index, 1, scope))) << scope;
            check(next_token);
        }
    });
}

TEST(IntentVerbCalls, EachVerbCallsItsExchangeOnceForEachMapWhateverRowsItPads) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());

    group.run([](int rank, HaloExchange&) {
        const Tensor x = at::ones({3 + rank, 2});
        call("to_local", x);
        call("refresh_neighbors", x);
        call("scatter_to_owners", x);
        call_system_sum(x, at::zeros({3 + rank}, at::kLong), 4);
        call_system_sum(x, at::zeros({3 + rank}, at::kLong), 4, "local");
        call("autograd_target", x);
        call_context();
    });

    const Events expected = {{Kind::Forward, 2, ElementType::Float32},
                             {Kind::Reverse, 2, ElementType::Float32},
                             {Kind::Forward, 2, ElementType::Float32},
                             {Kind::SystemSum, 8}};
    EXPECT_EQ(group.events(0), expected);
    EXPECT_EQ(group.events(1), expected);
}

TEST(CurrentDdContext, StatesRankAndRowsOfTheCurrentExchange) {
    InMemoryGroup group({{2, {{1, 0}}}, {1, {}}, {0, {}}});
    std::vector<Context> contexts(3);

    group.run([&](int rank, HaloExchange&) {
        contexts[static_cast<std::size_t>(rank)] = call_context();
    });

    EXPECT_EQ(contexts,
              (std::vector<Context>{{true, 0, 3, 2, 3}, {true, 1, 3, 1, 1}, {true, 2, 3, 0, 0}}));
    SerialExchange serial(4);
    const ExchangeScope scope(serial);
    EXPECT_EQ(call_context(), (Context{true, 0, 1, 4, 4}));
}

/// How often `name` is called after constants have been propagated through a graph.
int calls_left(const std::string& name, const std::string& text) {
    register_operators();
    auto graph = std::make_shared<torch::jit::Graph>();
    torch::jit::parseIR(text, graph.get());
    torch::jit::ConstantPropagation(graph);
    int calls = 0;
    for (const torch::jit::Node* node : graph->nodes()) {
        calls += node->kind().toQualString() == name;
    }
    return calls;
}

/// Freezing a model would otherwise keep the answer of a process without an exchange.
TEST(IntentVerbCalls, WithConstantArgumentsAreNotFoldedIntoTheirResults) {
    EXPECT_EQ(calls_left("nvalchemi_lmp::current_dd_context", R"IR(
graph():
  %d : bool, %r : int, %w : int, %o : int, %p : int = nvalchemi_lmp::current_dd_context()
  return (%w))IR"),
              1);
    for (const char* name : {"system_sum", "refresh_neighbors", "scatter_to_owners", "halo_forward",
                             "halo_reverse", "halo_correct", "owned_system_sum", "to_local"}) {
        const std::string call = std::string("nvalchemi_lmp::") + name;
        const std::string text = R"IR(
graph():
  %one : int = prim::Constant[value=1]()
  %type : int = prim::Constant[value=6]()
  %none : NoneType = prim::Constant()
  %size : int[] = prim::ListConstruct(%one)
  %x : Tensor = aten::ones(%size, %type, %none, %none, %none)
  %y : Tensor = )IR" + call + R"IR((%x)
  return (%y))IR";
        const bool is_local = std::string(name) == "to_local";  // control: this one may be folded

        EXPECT_EQ(calls_left(call, text), is_local ? 0 : 1) << name;
    }
}

}  // namespace
}  // namespace nvalchemi
