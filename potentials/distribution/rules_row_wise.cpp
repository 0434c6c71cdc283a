// SPDX-License-Identifier: GPL-2.0-only
#include <numeric>

#include "potentials/distribution/operator_rules.hpp"

namespace nvalchemi::rules {

namespace {

using Rows = std::vector<std::int64_t>;

/// The one set of rows or edges that all placed operands enumerate, each along one dimension;
/// nothing if there are several.
std::optional<Dim> common_dim(TraceBuilder& builder, const Call& call) {
    std::optional<Dim> common;
    for (const auto& tensor : tensor_arguments(call)) {
        const auto facts = builder.facts(tensor);
        if (facts.placed_dim() < 0) continue;
        const auto dim = facts.dims[facts.placed_dim()];
        if (dim.factor != 1 || (common && *common != dim)) return std::nullopt;
        common = dim;
    }
    return common;
}

/// The operator on the rows `rows` of every placed operand of sample `probe`.
std::vector<c10::IValue> run_on(TraceBuilder& builder, const Call& call, const Rows& rows,
                                int probe) {
    const auto index = torch::tensor(rows, torch::kInt64);
    const auto part_of = [&](const AbstractPtr& value) -> c10::IValue {
        const int dim = value->is_tensor() ? builder.facts(value).placed_dim() : -1;
        if (dim < 0) return concrete(*value, probe);
        const auto tensor = value->probe[probe].toTensor();
        return tensor.detach().index_select(dim, index.to(tensor.device()));
    };
    torch::jit::Stack stack;
    for (const auto& argument : call.args) {
        if (argument->form != AbstractValue::Form::List) {
            stack.push_back(part_of(argument));
            continue;
        }
        c10::impl::GenericList list(argument->item_type);
        for (const auto& item : argument->items) list.push_back(part_of(item));
        stack.push_back(list);
    }
    call.run(stack);
    return stack;
}

bool same_values(const torch::Tensor& a, const torch::Tensor& b) {
    if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
    if (!a.is_floating_point() && !a.is_complex()) return a.equal(b);
    const double tolerance = a.scalar_type() == torch::kFloat64 ? 1e-11 : 1e-5;
    return torch::allclose(a, b, tolerance, tolerance, /*equal_nan=*/true);
}

/// For each result, the dimension whose extent is that of the rows in both samples.
std::optional<std::vector<int>> placed_dims(const std::vector<c10::IValue>& first,
                                            const std::vector<c10::IValue>& second,
                                            std::int64_t extent_first, std::int64_t extent_second) {
    std::vector<int> placed;
    for (std::size_t k = 0; k < first.size(); ++k) {
        if (!first[k].isTensor() || !second[k].isTensor()) return std::nullopt;
        const auto a = first[k].toTensor(), b = second[k].toTensor();
        int found = -1;
        for (std::int64_t dim = 0; dim < std::min(a.dim(), b.dim()); ++dim) {
            if (a.size(dim) != extent_first || b.size(dim) != extent_second) continue;
            if (found >= 0) return std::nullopt;
            found = static_cast<int>(dim);
        }
        if (found < 0) return std::nullopt;
        placed.push_back(found);
    }
    return placed;
}

/// Every second row in reversed order, and some rows alone.
std::vector<Rows> selections(std::int64_t extent) {
    Rows every_second;
    for (std::int64_t row = extent - 1; row >= 0; row -= 2) every_second.push_back(row);
    std::vector<Rows> chosen{every_second};
    for (const std::int64_t part : {0, 1, 3, 7, 11}) chosen.push_back({part * extent / 12});
    return chosen;
}

bool is_row_wise(TraceBuilder& builder, const Call& call, Space space, std::vector<int>& placed) {
    std::array<std::vector<c10::IValue>, 2> whole;
    for (int probe = 0; probe < 2; ++probe) {
        Rows all(builder.extent(space, probe));
        std::iota(all.begin(), all.end(), 0);
        whole[probe] = run_on(builder, call, all, probe);
    }
    const auto dims =
        placed_dims(whole[0], whole[1], builder.extent(space, 0), builder.extent(space, 1));
    if (!dims) return false;
    placed = *dims;
    for (int probe = 0; probe < 2; ++probe) {
        for (const auto& rows : selections(builder.extent(space, probe))) {
            const auto part = run_on(builder, call, rows, probe);
            const auto index = torch::tensor(rows, torch::kInt64);
            for (std::size_t k = 0; k < part.size(); ++k) {
                const auto& all = whole[probe][k].toTensor();
                if (!same_values(part[k].toTensor(),
                                 all.index_select(placed[k], index.to(all.device()))))
                    return false;
            }
        }
    }
    return true;
}

}  // namespace

std::optional<std::vector<AbstractPtr>> try_row_wise(TraceBuilder& builder, Call& call) {
    const auto dim = common_dim(builder, call);
    if (!dim || call.in_place || builder.extent(dim->space, 0) < 12) return std::nullopt;
    require_data(builder, call);
    std::vector<int> placed;
    try {
        if (!is_row_wise(builder, call, dim->space, placed)) return std::nullopt;
    } catch (const std::exception&) {
        return std::nullopt;  // what works on the whole and fails on a part does mix rows
    }
    auto results = builder.emit(call);
    for (std::size_t k = 0; k < results.size(); ++k) {
        std::vector<Dim> dims(builder.facts(results[k]).dims.size());
        dims[placed[k]] = *dim;
        place(builder, call, results[k], dims);
        follow_positions(builder, call, results[k]);
    }
    return results;
}

}  // namespace nvalchemi::rules
