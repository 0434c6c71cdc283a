// SPDX-License-Identifier: GPL-2.0-only
// What the intent verbs refuse, and how they say it.
#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "unittest/kernels/verb_calls.hpp"

namespace nvalchemi {
namespace {

using test::call;
using test::call_system_sum;
using test::column;
using test::error_of;
using test::Tensor;

/// Two owned rows and three halo rows.
class IntentVerbErrors : public ::testing::Test {
  protected:
    /// Text of the error of a verb on the only rank that owns anything.
    std::string refusal(const std::function<void()>& body) {
        InMemoryGroup group({{2, {{0, 0}, {0, 0}, {0, 1}}}});
        std::string text;
        group.run([&](int, HaloExchange&) { text = error_of(body); });
        EXPECT_TRUE(group.events(0).empty());
        return text;
    }
    std::string rows_refusal(const char* name, std::vector<std::int64_t> shape) {
        return refusal([=] { call(name, at::zeros(shape)); });
    }
    std::string sum_refusal(const Tensor& values, const Tensor& index, std::int64_t n_systems = 1,
                            const std::string& scope = "owned") {
        const auto plain = [=] { call_system_sum(values, index, n_systems, scope); };
        const auto ordered = [=] {
            call_system_sum(values, index, n_systems, at::zeros({}), scope);
        };
        EXPECT_EQ(refusal(plain), refusal(ordered));
        return refusal(plain);
    }
    const Tensor five_ = at::zeros({5}, at::kLong);
};

TEST_F(IntentVerbErrors, WrongRowCountsAreRefusedWithTheRightOnes) {
    EXPECT_EQ(rows_refusal("refresh_neighbors", {4, 3}),
              "nvalchemi_lmp::refresh_neighbors: got 4 rows (shape [4, 3]), expected 2 (owned "
              "only), 5 (owned and halo) or more (rows that belong to no atom after them) (the "
              "first dimension must run over the atoms of this rank)");
    EXPECT_EQ(rows_refusal("scatter_to_owners", {2}),
              "nvalchemi_lmp::scatter_to_owners: got 2 rows (shape [2]), expected 5 (owned and "
              "halo) or more (rows that belong to no atom after them) (the first dimension must "
              "run over the atoms of this rank; refresh_neighbors takes owned rows alone)");
    EXPECT_CONTAINS(
        sum_refusal(at::zeros({1, 2}), at::zeros({1}, at::kLong)),
        "nvalchemi_lmp::system_sum: got 1 rows (shape [1, 2]), expected 2 (owned only), "
        "5 (owned and halo) or more");
}

TEST_F(IntentVerbErrors, ScalarsAreRefused) {
    EXPECT_EQ(rows_refusal("refresh_neighbors", {}),
              "nvalchemi_lmp::refresh_neighbors: got a scalar, expected one row for each atom, "
              "(rows, *)");
    EXPECT_CONTAINS(rows_refusal("scatter_to_owners", {}), "scatter_to_owners: got a scalar");
    EXPECT_CONTAINS(sum_refusal(at::zeros({}), five_), "system_sum: got a scalar");
}

TEST_F(IntentVerbErrors, TypesAndDevicesThatCannotMoveAreRefusedInTheNameOfTheVerb) {
    const auto typed = [this](const char* name, at::ScalarType type) {
        return refusal([=] { call(name, at::zeros({5}, type)); });
    };

    EXPECT_EQ(typed("refresh_neighbors", at::kHalf),
              "nvalchemi_lmp::refresh_neighbors: got elements of type Half, expected float32, "
              "float64, int32 or int64 (convert the tensor before the call and its result "
              "afterwards)");
    EXPECT_CONTAINS(typed("scatter_to_owners", at::kLong),
                    "nvalchemi_lmp::scatter_to_owners: got elements of type Long, expected float32 "
                    "or float64 (convert the tensor");
    EXPECT_CONTAINS(sum_refusal(five_, five_),
                    "nvalchemi_lmp::system_sum: got elements of type Long, expected float32 or "
                    "float64 (convert the tensor");
    EXPECT_CONTAINS(
        refusal([] { call("refresh_neighbors", at::zeros({5}, at::device(at::kMeta))); }),
        "nvalchemi_lmp::refresh_neighbors: got a tensor on device meta, expected cpu or cuda");
}

TEST_F(IntentVerbErrors, AnIndexOfAnotherShapeOrTypeIsRefused) {
    const Tensor values = at::zeros({5, 2});

    EXPECT_EQ(sum_refusal(values, five_.unsqueeze(1)),
              "nvalchemi_lmp::system_sum: got an index of shape [5, 1], type Long on cpu, expected "
              "shape [5] (one system for each row of values), type Int or Long, on cpu");
    EXPECT_CONTAINS(sum_refusal(values, five_.narrow(0, 0, 2)), "got an index of shape [2]");
    EXPECT_CONTAINS(sum_refusal(values, five_.to(at::kDouble)),
                    "got an index of shape [5], type Double on cpu");
    EXPECT_CONTAINS(sum_refusal(values, five_.to(at::kShort)), "type Short on cpu");
    EXPECT_CONTAINS(sum_refusal(values, at::zeros({5}, at::device(at::kMeta).dtype(at::kLong))),
                    "type Long on meta, expected");
}

TEST_F(IntentVerbErrors, ASystemThatDoesNotExistIsRefusedOnOwnedRowsOnly) {
    const Tensor values = at::zeros({5});

    EXPECT_EQ(sum_refusal(values, column({0, 3, 0, 0, 0}, at::kLong), 3),
              "nvalchemi_lmp::system_sum: got system 3 for an owned row, expected 0 to 2 "
              "(n_systems is 3)");
    EXPECT_CONTAINS(sum_refusal(values, column({0, 1, 0, 0, 0}, at::kInt)),
                    "got system 1 for an owned row, expected 0 to 0 (n_systems is 1)");
    EXPECT_CONTAINS(sum_refusal(values, column({-1, 0, 0, 0, 0}, at::kLong)), "got system -1");
    EXPECT_CONTAINS(sum_refusal(values, five_, 0), "got system 0 for an owned row");
    InMemoryGroup group({{2, {{0, 0}, {0, 0}, {0, 1}}}});
    group.run([&](int, HaloExchange&) {
        call_system_sum(values, column({0, 0, 9, -9, 9}, at::kLong), 1);
    });
}

TEST_F(IntentVerbErrors, ANegativeNumberOfSystemsIsRefused) {
    EXPECT_EQ(sum_refusal(at::zeros({5}), five_, -1),
              "nvalchemi_lmp::system_sum: got n_systems -1, expected 0 or more (how many systems "
              "`index` counts; 1 in LAMMPS)");
}

TEST_F(IntentVerbErrors, AnUnknownScopeIsRefused) {
    EXPECT_EQ(sum_refusal(at::zeros({5}), five_, 1, "OWNED"),
              "nvalchemi_lmp::system_sum: got scope 'OWNED', expected 'owned' (the owned rows of "
              "all ranks) or 'local' (those of this rank alone)");
    EXPECT_CONTAINS(sum_refusal(at::zeros({5}), five_, 1, ""), "got scope ''");
}

TEST_F(IntentVerbErrors, OnlyAFloatingScalarIsAToken) {
    const Tensor wrong = at::zeros({1});
    const std::string text =
        ": got a token of shape [1] and type Float, expected a floating point scalar";

    for (const char* name : {"refresh_neighbors", "scatter_to_owners"}) {
        EXPECT_CONTAINS(refusal([=] { call(name, at::zeros({5}), wrong); }),
                        std::string("nvalchemi_lmp::") + name + text);
    }
    for (const char* scope : {"owned", "local"}) {
        EXPECT_CONTAINS(
            refusal([=, this] { call_system_sum(at::zeros({5}), five_, 1, wrong, scope); }),
            "nvalchemi_lmp::system_sum" + text);
    }
}

}  // namespace
}  // namespace nvalchemi
