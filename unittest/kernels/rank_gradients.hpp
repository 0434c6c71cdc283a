// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_KERNELS_RANK_GRADIENTS_HPP
#define NVALCHEMI_UNITTEST_KERNELS_RANK_GRADIENTS_HPP

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "unittest/kernels/rank_tensors.hpp"

namespace nvalchemi::test {

using Energy = std::function<Tensor(std::size_t rank, const Tensor& x)>;

inline Tensor leaf(const Tensor& values) { return values.detach().clone().requires_grad_(true); }

/// Gradient of a scalar with respect to one leaf, zeros where it does not depend on it.
inline Tensor gradient(const Tensor& scalar, const Tensor& x, bool create_graph = false) {
    return torch::autograd::grad({scalar}, {x}, {}, create_graph, create_graph)[0];
}

/// Gradient of sum_r E_r with respect to every rank's x.
inline Tensors gradients(InMemoryGroup& group, const Tensors& inputs, const Energy& energy) {
    return on_ranks(group, inputs.size(), [&](std::size_t rank) {
        const Tensor x = leaf(inputs[rank]);
        return gradient(energy(rank, x), x);
    });
}

inline double total(InMemoryGroup& group, const Tensors& inputs, const Energy& energy) {
    double sum = 0;
    for (const Tensor& part : on_ranks(group, inputs.size(), [&](std::size_t rank) {
             return energy(rank, leaf(inputs[rank])).detach();
         })) {
        sum += part.item<double>();
    }
    return sum;
}

/// The same by central differences of fourth order.
inline Tensors finite_differences(InMemoryGroup& group, const Tensors& inputs,
                                  const Energy& energy) {
    constexpr double kStep = 1e-3;
    Tensors result;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
        result.push_back(at::zeros_like(inputs[rank]));
        for (std::int64_t i = 0; i < inputs[rank].numel(); ++i) {
            const auto change = [&](double step) {
                Tensors up = inputs;
                Tensors down = inputs;
                up[rank] = inputs[rank].clone();
                down[rank] = inputs[rank].clone();
                up[rank].view(-1)[i] += step;
                down[rank].view(-1)[i] -= step;
                return total(group, up, energy) - total(group, down, energy);
            };
            result[rank].view(-1)[i] = (8 * change(kStep) - change(2 * kStep)) / (12 * kStep);
        }
    }
    return result;
}

/// Compares with the largest component on any rank: differences of one total have one noise.
inline void expect_equal_gradients(const Tensors& analytic, const Tensors& numeric) {
    double largest = 0;
    for (const Tensor& part : numeric) {
        if (part.numel() > 0) largest = std::max(largest, part.abs().max().item<double>());
    }
    ASSERT_GT(largest, 0.1);
    for (std::size_t rank = 0; rank < analytic.size(); ++rank) {
        EXPECT_TRUE(close(analytic[rank] / largest, numeric[rank] / largest, 1e-8))
            << "rank " << rank;
    }
}

/// The largest difference of two lists of tensors, relative to the largest number of each tensor.
inline double largest_difference(const Tensors& found, const Tensors& expected) {
    double largest = 0;
    for (std::size_t n = 0; n < expected.size(); ++n) {
        EXPECT_EQ(found[n].sizes(), expected[n].sizes());
        EXPECT_EQ(found[n].scalar_type(), expected[n].scalar_type());
        if (expected[n].numel() == 0) continue;
        const double scale = std::max(expected[n].abs().max().item<double>(), 1e-300);
        largest = std::max(largest, (found[n] - expected[n]).abs().max().item<double>() / scale);
    }
    return largest;
}

}  // namespace nvalchemi::test

#endif
