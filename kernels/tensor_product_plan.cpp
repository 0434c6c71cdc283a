// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/tensor_product_plan.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

namespace nvalchemi {

namespace {

constexpr std::size_t kNumbers = 8;
constexpr const char* kName = "tensor_product_convolution: ";
using Range = std::pair<std::int64_t, std::int64_t>;

void refuse_overlap(std::vector<Range> ranges, const char* what) {
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t k = 1; k < ranges.size(); ++k)
        TORCH_CHECK(ranges[k - 1].second <= ranges[k].first, kName, "got two paths that share ",
                    what, " from column ", ranges[k].first, ", expected columns of their own");
}

TensorProductPath read_path(c10::IntArrayRef numbers) {
    const TensorProductPath path{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
                                 numbers[5], numbers[6], numbers[7], {}};
    const bool sizes = std::all_of(numbers.begin(), numbers.begin() + 4,
                                   [](std::int64_t size) { return size >= 1; });
    const bool begins = std::all_of(numbers.begin() + 4, numbers.end(),
                                    [](std::int64_t begin) { return begin >= 0; });
    TORCH_CHECK(sizes && begins, kName, "got a path with multiplicity and sizes ",
                numbers.slice(0, 4), ", columns from ", numbers.slice(4),
                ", expected sizes of at least 1 and columns of at least 0");
    return path;
}

TensorProductGroup& group_of(TensorProductPlan& plan, const TensorProductPath& path) {
    for (auto& group : plan.groups)
        if (group.x_begin == path.x_begin && group.multiplicity == path.multiplicity &&
            group.x_size == path.x_size)
            return group;
    return plan.groups.emplace_back(path.multiplicity, path.x_size, path.x_begin,
                                    std::vector<TensorProductPath>{});
}

}  // namespace

TensorProductPlan make_tensor_product_plan(c10::IntArrayRef paths,
                                           c10::ArrayRef<double> coefficients) {
    TORCH_CHECK(!paths.empty() && paths.size() % kNumbers == 0, kName, "got ", paths.size(),
                " numbers of paths, expected eight for each");
    TensorProductPlan plan;
    std::vector<Range> x, weights, out;
    std::size_t used = 0;
    for (std::size_t at = 0; at < paths.size(); at += kNumbers) {
        auto path = read_path(paths.slice(at, kNumbers));
        const auto count = static_cast<std::size_t>(path.x_size * path.filter_size * path.out_size);
        TORCH_CHECK(used + count <= coefficients.size(), kName, "got ", coefficients.size(),
                    " coefficients, expected at least ", used + count, " for the first ",
                    at / kNumbers + 1, " paths");
        const auto own = coefficients.slice(used, count);
        path.coefficients.assign(own.begin(), own.end());
        used += count;
        weights.emplace_back(path.weight_begin, path.weight_begin + path.multiplicity);
        out.emplace_back(path.out_begin, path.out_begin + path.multiplicity * path.out_size);
        plan.filter_columns = std::max(plan.filter_columns, path.filter_begin + path.filter_size);
        group_of(plan, path).paths.push_back(std::move(path));
    }
    TORCH_CHECK(used == coefficients.size(), kName, "got ", coefficients.size(),
                " coefficients, expected ", used, " for these paths");
    for (const auto& group : plan.groups)
        x.emplace_back(group.x_begin, group.x_begin + group.multiplicity * group.x_size);
    refuse_overlap(x, "a part of x");
    refuse_overlap(weights, "weights");
    refuse_overlap(out, "the result");
    const auto end = [](const std::vector<Range>& ranges) {
        return std::max_element(ranges.begin(), ranges.end(),
                                [](const Range& a, const Range& b) { return a.second < b.second; })
            ->second;
    };
    plan.x_columns = end(x);
    plan.weight_columns = end(weights);
    plan.out_columns = end(out);
    return plan;
}

}  // namespace nvalchemi
