// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_KERNELS_VERB_CALLS_HPP
#define NVALCHEMI_UNITTEST_KERNELS_VERB_CALLS_HPP

#include <ATen/ATen.h>
#include <c10/util/string_view.h>

#include <string>
#include <tuple>
#include <vector>

#include "unittest/kernels/rank_tensors.hpp"

namespace nvalchemi::test {

/// system_sum.by_index, called as a model does.
inline Tensor call_system_sum(const Tensor& values, const Tensor& index, std::int64_t n_systems,
                              const std::string& scope = "owned") {
    register_operators();
    return c10::Dispatcher::singleton()
        .findSchemaOrThrow("nvalchemi_lmp::system_sum", "by_index")
        .typed<Tensor(const Tensor&, const Tensor&, std::int64_t, c10::string_view)>()
        .call(values, index, n_systems, scope);
}

inline TensorAndToken call_system_sum(const Tensor& values, const Tensor& index,
                                      std::int64_t n_systems, const Tensor& token,
                                      const std::string& scope) {
    register_operators();
    return c10::Dispatcher::singleton()
        .findSchemaOrThrow("nvalchemi_lmp::system_sum", "by_index_ordered")
        .typed<TensorAndToken(const Tensor&, const Tensor&, std::int64_t, const Tensor&,
                              c10::string_view)>()
        .call(values, index, n_systems, token, scope);
}

using Context = std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

inline Context call_context() {
    register_operators();
    return c10::Dispatcher::singleton()
        .findSchemaOrThrow("nvalchemi_lmp::current_dd_context", "")
        .typed<Context()>()
        .call();
}

/// The atom of each row of each rank, if atoms are numbered by rank and then by owned row.
inline Tensors atoms_of_rows(const std::vector<RankRows>& parts) {
    std::vector<std::int64_t> first = {0};
    for (const RankRows& part : parts) first.push_back(first.back() + part.owned);
    Tensors atoms;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        std::vector<std::int64_t> rows;
        for (std::int64_t i = 0; i < parts[rank].owned; ++i) rows.push_back(first[rank] + i);
        for (const auto& [owner, row] : parts[rank].halo) {
            rows.push_back(first[static_cast<std::size_t>(owner)] + row);
        }
        atoms.push_back(at::tensor(rows, at::kLong));
    }
    return atoms;
}

inline std::int64_t atom_count(const std::vector<RankRows>& parts) {
    std::int64_t count = 0;
    for (const RankRows& part : parts) count += part.owned;
    return count;
}

}  // namespace nvalchemi::test

#endif
