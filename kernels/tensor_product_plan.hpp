// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_TENSOR_PRODUCT_PLAN_HPP
#define NVALCHEMI_KERNELS_TENSOR_PRODUCT_PLAN_HPP

#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <vector>

namespace nvalchemi {

/// One path of a tensor product whose channels do not mix ("uvu" of e3nn, with one channel of the
/// filter): for each channel u of `multiplicity`
///
///     out[u, k] = weight[u] * sum_ij C[i, j, k] x[u, i] filter[j],
///
/// where x[u, i] is column x_begin + u * x_size + i, filter[j] is filter_begin + j, weight[u] is
/// weight_begin + u and out[u, k] is out_begin + u * out_size + k.
struct TensorProductPath {
    std::int64_t multiplicity, x_size, filter_size, out_size;
    std::int64_t x_begin, filter_begin, weight_begin, out_begin;
    std::vector<double> coefficients;  ///< C, (x_size, filter_size, out_size)

    double coefficient(std::int64_t i, std::int64_t j, std::int64_t k) const {
        return coefficients[(i * filter_size + j) * out_size + k];
    }

    /// Whether x[u, i] enters out[u, k].
    bool couples(std::int64_t i, std::int64_t k) const {
        for (std::int64_t j = 0; j < filter_size; ++j)
            if (coefficient(i, j, k) != 0.0) return true;
        return false;
    }
};

/// The paths that read the same columns of x.
struct TensorProductGroup {
    std::int64_t multiplicity, x_size, x_begin;
    std::vector<TensorProductPath> paths;
};

struct TensorProductPlan {
    std::vector<TensorProductGroup> groups;
    /// columns that x, filter and weights need at least, and that the result has
    std::int64_t x_columns = 0, filter_columns = 0, weight_columns = 0, out_columns = 0;
};

/// The plan of `paths`, eight numbers each in the order of TensorProductPath's members, and of the
/// coefficients of all paths in a row.
///
/// Throws c10::Error for a list of another length, for numbers below their range, and where paths
/// share columns of weights or of the result, or columns of x in part.
TensorProductPlan make_tensor_product_plan(c10::IntArrayRef paths,
                                           c10::ArrayRef<double> coefficients);

}  // namespace nvalchemi

#endif
