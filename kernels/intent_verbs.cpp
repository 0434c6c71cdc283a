// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/intent_verbs.hpp"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include <optional>
#include <string>
#include <utility>

#include "kernels/collective.hpp"
#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

namespace {

using at::Tensor;

/// A verb that applies a collective to the rows of atoms.
struct RowVerb {
    const char* name;
    Collective collective;
    bool accepts_owned_only;
    const char* remedy;
};

constexpr RowVerb kRefreshNeighbors{"refresh_neighbors", Collective::HaloForward, true,
                                    "the first dimension must run over the atoms of this rank"};
constexpr RowVerb kScatterToOwners{
    "scatter_to_owners", Collective::HaloCorrect, false,
    "the first dimension must run over the atoms of this rank; refresh_neighbors takes owned rows "
    "alone"};
constexpr RowVerb kSystemSum{"system_sum", Collective::SystemSum, true,
                             "the first dimension must run over the atoms of this rank"};

/// Row counts of the current exchange; without one, all rows of `x` are owned.
RowCounts count_rows(const Tensor& x, const RowVerb& verb) {
    check_movable(x, verb.collective, verb.name);
    TORCH_CHECK(x.dim() > 0, "nvalchemi_lmp::", verb.name,
                ": got a scalar, expected one row for each atom, (rows, *)");
    const std::int64_t got = x.size(0);
    const HaloExchange* exchange = current_exchange();
    if (exchange == nullptr) return {got, got};

    const RowCounts counts{exchange->owned_rows(), exchange->total_rows()};
    if (got >= counts.total || (verb.accepts_owned_only && got == counts.owned)) return counts;
    const std::string owned_only =
        verb.accepts_owned_only ? std::to_string(counts.owned) + " (owned only), " : "";
    TORCH_CHECK(false, "nvalchemi_lmp::", verb.name, ": got ", got, " rows (shape ", x.sizes(),
                "), expected ", owned_only, counts.total,
                " (owned and halo) or more (rows that belong to no atom after them) (", verb.remedy,
                ")");
}

/// The argument of a RowVerb in its two parts.
struct Rows {
    Tensor of_atoms;
    std::optional<Tensor> others;  ///< rows that belong to no atom, if there are any
};

Rows divide(const Tensor& x, const RowVerb& verb) {
    const std::int64_t atoms = count_rows(x, verb).total;
    const std::int64_t others = x.size(0) - atoms;
    if (others <= 0) return {x, std::nullopt};
    return {x.narrow(0, 0, atoms), x.narrow(0, atoms, others)};
}

Tensor join(Tensor of_atoms, const std::optional<Tensor>& others) {
    if (!others) return of_atoms;
    return at::cat({of_atoms, *others});
}

Tensor apply(const RowVerb& verb, const Tensor& x) {
    const Rows rows = divide(x, verb);
    return join(call_operator(verb.collective, rows.of_atoms), rows.others);
}

TensorAndToken apply(const RowVerb& verb, const Tensor& x, const Tensor& token) {
    check_token(token, verb.name);
    const Rows rows = divide(x, verb);
    auto [moved, next_token] = call_operator(verb.collective, rows.of_atoms, token);
    return {join(std::move(moved), rows.others), std::move(next_token)};
}

/// Whether the sum goes over all ranks.
bool spans_ranks(c10::string_view scope) {
    if (scope == "owned") return true;
    TORCH_CHECK(scope == "local", "nvalchemi_lmp::system_sum: got scope '", scope,
                "', expected 'owned' (the owned rows of all ranks) or 'local' (those of this rank "
                "alone)");
    return false;
}

void check_index(const Tensor& values, const Tensor& index) {
    const bool fits = index.dim() == 1 && index.size(0) == values.size(0);
    const bool is_integer = index.scalar_type() == at::kInt || index.scalar_type() == at::kLong;
    TORCH_CHECK(fits && is_integer && index.device() == values.device(),
                "nvalchemi_lmp::system_sum: got an index of shape ", index.sizes(), ", type ",
                index.scalar_type(), " on ", index.device(), ", expected shape [", values.size(0),
                "] (one system for each row of values), type Int or Long, on ", values.device());
}

/// Only owned rows are looked at: a halo row may carry anything.
void check_systems(const Tensor& index_of_owned, std::int64_t n_systems) {
    const Tensor outside =
        index_of_owned.masked_select(index_of_owned.lt(0).logical_or(index_of_owned.ge(n_systems)));
    TORCH_CHECK(outside.numel() == 0, "nvalchemi_lmp::system_sum: got system ",
                outside.numel() == 0 ? 0 : outside[0].item<std::int64_t>(),
                " for an owned row, expected 0 to ", n_systems - 1, " (n_systems is ", n_systems,
                ")");
}

/// This rank's part of system_sum_by_index: (n_systems, *), in float64.
Tensor sum_owned_rows(const Tensor& values, const Tensor& index, std::int64_t n_systems) {
    TORCH_CHECK(n_systems >= 0, "nvalchemi_lmp::system_sum: got n_systems ", n_systems,
                ", expected 0 or more (how many systems `index` counts; 1 in LAMMPS)");
    const std::int64_t owned = count_rows(values, kSystemSum).owned;
    check_index(values, index);
    const Tensor owned_values = values.narrow(0, 0, owned);
    const Tensor owned_index = index.narrow(0, 0, owned);
    check_systems(owned_index, n_systems);
    // Atomic additions on a GPU come in any order; a reduction gives the same bits in every run.
    if (n_systems == 1) return owned_values.sum(/*dim=*/0, /*keepdim=*/true, at::kDouble);
    at::DimVector shape(values.sizes());
    shape[0] = n_systems;
    return at::zeros(shape, values.options().dtype(at::kDouble))
        .index_add(0, owned_index, owned_values.to(at::kDouble));
}

}  // namespace

Tensor refresh_neighbors(const Tensor& x) { return apply(kRefreshNeighbors, x); }

TensorAndToken refresh_neighbors_ordered(const Tensor& x, const Tensor& token) {
    return apply(kRefreshNeighbors, x, token);
}

Tensor scatter_to_owners(const Tensor& x) { return apply(kScatterToOwners, x); }

TensorAndToken scatter_to_owners_ordered(const Tensor& x, const Tensor& token) {
    return apply(kScatterToOwners, x, token);
}

Tensor system_sum_by_index(const Tensor& values, const Tensor& index, std::int64_t n_systems,
                           c10::string_view scope) {
    const bool over_ranks = spans_ranks(scope);
    Tensor sum = sum_owned_rows(values, index, n_systems);
    if (over_ranks) sum = call_operator(Collective::SystemSum, sum);
    return sum.to(values.scalar_type());
}

TensorAndToken system_sum_by_index_ordered(const Tensor& values, const Tensor& index,
                                           std::int64_t n_systems, const Tensor& token,
                                           c10::string_view scope) {
    check_token(token, kSystemSum.name);
    if (!spans_ranks(scope)) {
        return {system_sum_by_index(values, index, n_systems, scope), token.clone()};
    }
    auto [sum, next_token] =
        call_operator(Collective::SystemSum, sum_owned_rows(values, index, n_systems), token);
    return {sum.to(values.scalar_type()), std::move(next_token)};
}

Tensor to_local(const Tensor& x) { return x; }

Tensor autograd_target(const Tensor& x) { return x; }

std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t> current_dd_context() {
    const HaloExchange* exchange = current_exchange();
    if (exchange == nullptr) return {false, 0, 1, -1, -1};
    return {true, exchange->rank(), exchange->ranks(), exchange->owned_rows(),
            exchange->total_rows()};
}

}  // namespace nvalchemi
