// SPDX-License-Identifier: GPL-2.0-only
// What the operators compute, and what they leave alone.
#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "unittest/kernels/rank_tensors.hpp"

namespace nvalchemi {
namespace {

using test::apply;
using test::call;
using test::close;
using test::column;
using test::error_of;
using test::same;
using test::Tensor;
using test::Tensors;

/// Keeps what an operator handed over; moves nothing.
class RecordingExchange final : public HaloExchange {
  public:
    RecordingExchange(std::int64_t owned, std::int64_t total) : owned_(owned), total_(total) {}
    std::int64_t owned_rows() const override { return owned_; }
    std::int64_t total_rows() const override { return total_; }
    int ranks() const override { return 1; }
    void forward(const RowBlock& block) override { record("forward", block); }
    void reverse(const RowBlock& block) override { record("reverse", block); }
    void system_sum(const RowBlock& block) override { record("system_sum", block); }

    std::vector<std::string> calls;
    RowBlock last;

  private:
    void record(const char* name, const RowBlock& block) {
        calls.emplace_back(name);
        last = block;
    }
    std::int64_t owned_;
    std::int64_t total_;
};

class CollectiveValues : public ::testing::TestWithParam<at::ScalarType> {
  protected:
    Tensor values(std::initializer_list<double> numbers) const {
        return column(numbers, GetParam());
    }
    InMemoryGroup group_{test::three_atoms_on_two_ranks()};
};

INSTANTIATE_TEST_SUITE_P(, CollectiveValues, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& test) { return std::string(c10::toString(test.param)); });

// rank 0:  a b | c'      rank 1:  c | b' a'
TEST_P(CollectiveValues, HaloForwardCopiesOwnersToHaloRows) {
    const Tensors got = apply(group_, "halo_forward", {values({1, 2, -9}), values({3, -9, -9})});

    EXPECT_TRUE(same(got[0], values({1, 2, 3})));
    EXPECT_TRUE(same(got[1], values({3, 2, 1})));
}

TEST_P(CollectiveValues, HaloForwardWidensOwnedRows) {
    const Tensors got = apply(group_, "halo_forward", {values({1, 2}), values({3})});

    EXPECT_TRUE(same(got[0], values({1, 2, 3})));
    EXPECT_TRUE(same(got[1], values({3, 2, 1})));
}

TEST_P(CollectiveValues, HaloReverseAddsHaloRowsToOwnersAndZeroesThem) {
    const Tensors got = apply(group_, "halo_reverse", {values({1, 2, 30}), values({3, 20, 10})});

    EXPECT_TRUE(same(got[0], values({11, 22, 0})));
    EXPECT_TRUE(same(got[1], values({33, 0, 0})));
}

TEST_P(CollectiveValues, HaloCorrectGivesEveryCopyTheWholeSum) {
    const Tensors got = apply(group_, "halo_correct", {values({1, 2, 30}), values({3, 20, 10})});

    EXPECT_TRUE(same(got[0], values({11, 22, 33})));
    EXPECT_TRUE(same(got[1], values({33, 22, 11})));
}

TEST_P(CollectiveValues, HaloCorrectTwiceCountsTwice) {
    const Tensors once = apply(group_, "halo_correct", {values({1, 2, 30}), values({3, 20, 10})});
    const Tensors twice = apply(group_, "halo_correct", once);

    EXPECT_TRUE(same(twice[0], values({22, 44, 66})));
}

TEST_P(CollectiveValues, OwnedSystemSumLeavesHaloRowsOut) {
    const Tensors all =
        apply(group_, "owned_system_sum", {values({1, 2, 99}), values({3, 99, 99})});
    const Tensors owned = apply(group_, "owned_system_sum", {values({1, 2}), values({3})});

    for (const Tensors& sums : {all, owned}) {
        for (const Tensor& sum : sums) EXPECT_TRUE(same(sum, values({6}).squeeze()));
    }
}

TEST_P(CollectiveValues, SystemSumAddsAnyShapeOverRanks) {
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{}, {1}, {4, 2}, {0}, {2, 0, 3}}) {
        const Tensor value = test::random_rows(shape, GetParam());

        const Tensors got = apply(group_, "system_sum", {value, value});

        EXPECT_TRUE(same(got[0], value + value));
        EXPECT_TRUE(same(got[1], value + value));
    }
}

TEST_P(CollectiveValues, AnyTrailingShapeMovesWholeRows) {
    for (const std::vector<std::int64_t>& trailing :
         std::vector<std::vector<std::int64_t>>{{}, {1}, {3, 2}, {0}, {2, 0}}) {
        std::vector<std::int64_t> shape = {3};
        shape.insert(shape.end(), trailing.begin(), trailing.end());
        const Tensor x = test::random_rows(shape, GetParam());
        const Tensor y = test::random_rows(shape, GetParam());

        const Tensors got = apply(group_, "halo_forward", {x, y});

        EXPECT_TRUE(same(got[0], at::stack({x[0], x[1], y[0]})));
        EXPECT_TRUE(same(got[1], at::stack({y[0], x[1], x[0]})));
    }
}

TEST_P(CollectiveValues, NonContiguousInputGivesTheSameAsItsCopy) {
    const Tensor transposed = test::random_rows({4, 3}, GetParam()).t();
    const Tensor strided = test::random_rows({6, 4}, GetParam()).slice(0, 0, 6, 2);
    const Tensor expanded = test::random_rows({1, 4}, GetParam()).expand({3, 4});
    for (const Tensor& rows : {transposed, strided, expanded}) {
        ASSERT_FALSE(rows.is_contiguous());
        for (const char* name : {"halo_forward", "halo_reverse", "halo_correct", "system_sum"}) {
            const Tensors got = apply(group_, name, {rows, rows});
            const Tensors expected = apply(group_, name, {rows.contiguous(), rows.contiguous()});

            EXPECT_TRUE(same(got[1], expected[1])) << name;
            EXPECT_TRUE(got[1].is_contiguous()) << name;
        }
    }
}

TEST_P(CollectiveValues, InputsAreNotModified) {
    const Tensors inputs = {values({1, 2, 30}), values({3, 20, 10})};
    const Tensors before = {inputs[0].clone(), inputs[1].clone()};
    for (const char* name :
         {"halo_forward", "halo_reverse", "halo_correct", "system_sum", "owned_system_sum"}) {
        apply(group_, name, inputs);

        EXPECT_TRUE(same(inputs[0], before[0])) << name;
        EXPECT_TRUE(same(inputs[1], before[1])) << name;
    }
}

TEST_P(CollectiveValues, ResultsShareNoMemoryWithTheInputAlsoOnOneRank) {
    InMemoryGroup alone(std::vector<RankRows>{{3, {}}});
    for (const char* name : {"halo_forward", "halo_reverse", "halo_correct", "system_sum"}) {
        const Tensor input = values({1, 2, 3});

        apply(alone, name, {input})[0].zero_();
        call(name, input).zero_();

        EXPECT_TRUE(same(input, values({1, 2, 3}))) << name;
    }
}

TEST_P(CollectiveValues, ZeroRowsOnOneRankTakePart) {
    InMemoryGroup group({{0, {}}, {2, {}}});

    const Tensors got =
        apply(group, "halo_correct", {at::empty({0, 2}, GetParam()), at::ones({2, 2}, GetParam())});
    const Tensors sums = apply(group, "owned_system_sum",
                               {at::empty({0, 2}, GetParam()), at::ones({2, 2}, GetParam())});

    EXPECT_TRUE(same(got[0], at::empty({0, 2}, GetParam())));
    EXPECT_TRUE(same(sums[0], values({2, 2})));
}

TEST_P(CollectiveValues, WithoutExchangeOneProcessIsAll) {
    const Tensor rows = test::random_rows({4, 2}, GetParam());

    for (const char* name : {"halo_forward", "halo_reverse", "halo_correct", "system_sum"}) {
        EXPECT_TRUE(same(call(name, rows), rows)) << name;
    }
    EXPECT_TRUE(close(call("owned_system_sum", rows), rows.sum(0), 1e-6));
    EXPECT_TRUE(same(call("drop_halo_gradient", rows), rows));
}

TEST_P(CollectiveValues, OrderedOverloadsGiveTheSameAndPassTheTokenOn) {
    const Tensor token = values({0.25}).squeeze();
    for (const char* name :
         {"halo_forward", "halo_reverse", "halo_correct", "system_sum", "owned_system_sum"}) {
        const Tensors inputs = {values({1, 2, 30}), values({3, 20, 10})};
        const Tensors plain = apply(group_, name, inputs);

        const Tensors ordered = test::on_ranks(group_, 2, [&](std::size_t rank) {
            const auto [result, next_token] = call(name, inputs[rank], token);
            EXPECT_TRUE(same(next_token, token));
            EXPECT_FALSE(next_token.is_alias_of(token));
            return result;
        });

        EXPECT_TRUE(same(ordered[0], plain[0])) << name;
        EXPECT_TRUE(same(ordered[1], plain[1])) << name;
    }
}

TEST_P(CollectiveValues, TellsTheExchangeWhatItHandsOver) {
    RecordingExchange exchange(2, 5);
    const ExchangeScope scope(exchange);
    const Tensor rows = test::random_rows({5, 3, 2}, GetParam());

    const Tensor result = call("halo_forward", rows);

    EXPECT_EQ(exchange.last.data, result.data_ptr());
    EXPECT_EQ(exchange.last.rows, 5);
    EXPECT_EQ(exchange.last.width, 6);
    EXPECT_EQ(exchange.last.row_bytes(), 6 * result.element_size());
    EXPECT_EQ(exchange.last.cuda_device, -1);
    call("system_sum", rows);
    EXPECT_EQ(exchange.last.rows * exchange.last.width, 30);
}

TEST_P(CollectiveValues, HaloRowsThatNoExchangeFilledAreZero) {
    RecordingExchange exchange(1, 3);
    const ExchangeScope scope(exchange);

    EXPECT_TRUE(same(call("halo_forward", values({1, 7, 7})), values({1, 0, 0})));
    EXPECT_TRUE(same(call("halo_forward", values({1})), values({1, 0, 0})));
}

TEST(CollectiveCalls, EachOperatorCallsItsExchangeOnceForEachMap) {
    RecordingExchange exchange(2, 2);
    const ExchangeScope scope(exchange);
    for (const char* name : {"halo_forward", "halo_reverse", "halo_correct", "system_sum",
                             "owned_system_sum", "drop_halo_gradient"}) {
        call(name, at::ones({2, 0}));
    }

    EXPECT_EQ(exchange.calls, (std::vector<std::string>{"forward", "reverse", "reverse", "forward",
                                                        "system_sum", "system_sum"}));
}

TEST(CollectiveTypes, HaloForwardMovesIntegers) {
    InMemoryGroup group(test::three_atoms_on_two_ranks());
    for (const at::ScalarType type : {at::kInt, at::kLong}) {
        const Tensors got =
            apply(group, "halo_forward", {column({1, 2}, type), column({1 << 30}, type)});

        EXPECT_TRUE(same(got[0], column({1, 2, 1 << 30}, type)));
        EXPECT_TRUE(same(got[1], column({1 << 30, 2, 1}, type)));
    }
}

TEST(CollectiveTypes, OthersAreRefusedWithWhatIsAccepted) {
    const auto refusal = [](const char* name, at::ScalarType type) {
        return error_of([=] { call(name, at::zeros({2}, type)); });
    };

    EXPECT_EQ(refusal("halo_forward", at::kBool),
              "nvalchemi_lmp::halo_forward: got elements of type Bool, expected float32, float64, "
              "int32 or int64 (convert the tensor before the call and its result afterwards)");
    for (const char* name : {"halo_reverse", "halo_correct", "system_sum", "owned_system_sum"}) {
        EXPECT_CONTAINS(refusal(name, at::kLong), std::string("nvalchemi_lmp::") + name +
                                                      ": got elements of type Long, expected "
                                                      "float32 or float64 (convert the tensor");
    }
    EXPECT_CONTAINS(refusal("halo_forward", at::kHalf), "got elements of type Half");
    EXPECT_CONTAINS(error_of([] { call("halo_forward", at::zeros({2}, at::device(at::kMeta))); }),
                    "got a tensor on device meta, expected cpu or cuda (move the tensor there)");
}

TEST(CollectiveRows, WrongCountsAreRefusedWithTheRightOnes) {
    RecordingExchange exchange(2, 5);
    const ExchangeScope scope(exchange);
    const auto refusal = [](const char* name, std::vector<std::int64_t> shape) {
        return error_of([=] { call(name, at::zeros(shape)); });
    };

    for (const char* name : {"halo_forward", "owned_system_sum", "drop_halo_gradient"}) {
        EXPECT_EQ(refusal(name, {4, 3}),
                  std::string("nvalchemi_lmp::") + name +
                      ": got 4 rows (shape [4, 3]), expected 5 (owned and halo) or 2 (owned only) "
                      "(the first dimension must run over the atoms of this rank)");
    }
    for (const char* name : {"halo_reverse", "halo_correct"}) {
        EXPECT_CONTAINS(refusal(name, {2}),
                        "got 2 rows (shape [2]), expected 5 (owned and halo) (");
        EXPECT_CONTAINS(refusal(name, {2}),
                        "only halo_forward and owned_system_sum take owned rows");
    }
    EXPECT_CONTAINS(refusal("halo_forward", {}), "got a scalar, expected one row for each atom");
    EXPECT_TRUE(exchange.calls.empty());
}

TEST(CollectiveTokens, OnlyAFloatingScalarIsAToken) {
    const auto refusal = [](const Tensor& token) {
        return error_of([&] { call("halo_forward", at::zeros({2}), token); });
    };

    EXPECT_CONTAINS(refusal(at::zeros({1})),
                    "got a token of shape [1] and type Float, expected a "
                    "floating point scalar (start with the sum of");
    EXPECT_CONTAINS(refusal(at::zeros({}, at::kLong)), "got a token of shape [] and type Long");
}

TEST(OwnedSystemSum, AddsFloat32InDouble) {
    // 1e8 + 1 is 1e8 in float32: a plain sum would lose all 104 ones.
    Tensor rows = at::ones({105}, at::kFloat);
    rows[0] = 1e8;
    const SerialExchange serial(105);

    const Tensor sum = call("owned_system_sum", rows);

    EXPECT_EQ(sum.item<double>(), 100000104.0);
    EXPECT_EQ(sum.scalar_type(), at::kFloat);
}

class RandomDecomposition : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, RandomDecomposition, ::testing::Values(1, 2, 3, 4));

TEST_P(RandomDecomposition, ForwardAndReverseAreTransposesAndCorrectIsSymmetric) {
    const auto pairs = {std::pair("halo_forward", "halo_reverse"),
                        std::pair("halo_correct", "halo_correct"),
                        std::pair("system_sum", "system_sum")};
    for (unsigned seed = 0; seed < 20; ++seed) {
        const std::vector<RankRows> parts = test::random_decomposition(GetParam(), seed);
        InMemoryGroup group(parts);
        for (const auto& [map, transposed] : pairs) {
            Tensors x;
            Tensors y;
            for (const RankRows& part : parts) {
                const bool sum = std::string(map) == "system_sum";
                x.push_back(test::random_rows({sum ? 4 : test::total_rows(part), 3}));
                y.push_back(test::random_rows(x.back().sizes().vec()));
            }

            const Tensors map_of_x = apply(group, map, x);
            const Tensors transposed_of_y = apply(group, transposed, y);

            double left = 0;
            double right = 0;
            for (std::size_t rank = 0; rank < parts.size(); ++rank) {
                left += (map_of_x[rank] * y[rank]).sum().item<double>();
                right += (x[rank] * transposed_of_y[rank]).sum().item<double>();
            }
            EXPECT_NEAR(left, right, 1e-12) << map << ", seed " << seed;
        }
    }
}

TEST_P(RandomDecomposition, OwnedRowsPassThroughHaloForward) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const std::vector<RankRows> parts = test::random_decomposition(GetParam(), seed);
        InMemoryGroup group(parts);
        Tensors x;
        for (const RankRows& part : parts) x.push_back(test::random_rows({test::total_rows(part)}));

        const Tensors got = apply(group, "halo_forward", x);

        for (std::size_t rank = 0; rank < parts.size(); ++rank) {
            const std::int64_t owned = parts[rank].owned;
            EXPECT_TRUE(same(got[rank].narrow(0, 0, owned), x[rank].narrow(0, 0, owned)));
            for (std::size_t i = 0; i < parts[rank].halo.size(); ++i) {
                const auto [owner, row] = parts[rank].halo[i];
                EXPECT_TRUE(same(got[rank][owned + static_cast<std::int64_t>(i)],
                                 x[static_cast<std::size_t>(owner)][row]));
            }
        }
    }
}

}  // namespace
}  // namespace nvalchemi
