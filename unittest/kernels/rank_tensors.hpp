// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_KERNELS_RANK_TENSORS_HPP
#define NVALCHEMI_UNITTEST_KERNELS_RANK_TENSORS_HPP

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/in_memory_exchange.hpp"
#include "kernels/register_ops.hpp"
#include "unittest/kernels/decompositions.hpp"
#include "unittest/kernels/expect_contains.hpp"

namespace nvalchemi::test {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using TensorAndToken = std::tuple<Tensor, Tensor>;

/// Call an operator as a model does.
inline Tensor call(const std::string& name, const Tensor& input) {
    register_operators();
    return c10::Dispatcher::singleton()
        .findSchemaOrThrow(("nvalchemi_lmp::" + name).c_str(), "")
        .typed<Tensor(const Tensor&)>()
        .call(input);
}

inline TensorAndToken call(const std::string& name, const Tensor& input, const Tensor& token) {
    register_operators();
    return c10::Dispatcher::singleton()
        .findSchemaOrThrow(("nvalchemi_lmp::" + name).c_str(), "ordered")
        .typed<TensorAndToken(const Tensor&, const Tensor&)>()
        .call(input, token);
}

/// Result of `body` on every rank.
inline Tensors on_ranks(InMemoryGroup& group, std::size_t ranks,
                        const std::function<Tensor(std::size_t)>& body) {
    Tensors results(ranks);
    group.run([&](int rank, HaloExchange&) {
        const auto index = static_cast<std::size_t>(rank);
        results[index] = body(index);
    });
    return results;
}

/// `name` applied to one input for each rank.
inline Tensors apply(InMemoryGroup& group, const std::string& name, const Tensors& inputs) {
    return on_ranks(group, inputs.size(),
                    [&](std::size_t rank) { return call(name, inputs[rank]); });
}

/// Text of the error that `body` throws, or "nothing".
inline std::string error_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const c10::Error& error) {
        return error.what_without_backtrace();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "nothing";
}

inline Tensor column(std::initializer_list<double> values, at::ScalarType type = at::kDouble) {
    return at::tensor(at::ArrayRef<double>(values.begin(), values.size()), at::dtype(at::kDouble))
        .to(type);
}

/// The same numbers in every run: torch seeds its own generator differently each time.
inline Tensor random_rows(const std::vector<std::int64_t>& shape,
                          at::ScalarType type = at::kDouble) {
    static const at::Generator generator = at::detail::createCPUGenerator(/*seed=*/2024);
    return at::randn(shape, generator, at::dtype(at::kDouble)).to(type);
}

inline ::testing::AssertionResult same(const Tensor& got, const Tensor& expected) {
    if (got.scalar_type() == expected.scalar_type() && at::equal(got, expected)) {
        return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "got\n" << got << "\nexpected\n" << expected;
}

inline ::testing::AssertionResult close(const Tensor& got, const Tensor& expected,
                                        double tolerance) {
    if (got.sizes() == expected.sizes() && at::allclose(got, expected, tolerance, tolerance)) {
        return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "got\n" << got << "\nexpected\n" << expected;
}

}  // namespace nvalchemi::test

#endif
