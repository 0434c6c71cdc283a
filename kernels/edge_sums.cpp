// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/edge_sums.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <string>

#include "kernels/edge_sums_source.hpp"

namespace nvalchemi {

namespace {

using namespace edge_formulas;

constexpr std::int64_t kEdgesOfATask = 2048;

// Names of kernels, as edge_sums_source has them.
template <typename T>
constexpr const char* name_of(const CountedNeighbor<T>&) {
    return "counted_neighbor";
}
template <typename T>
constexpr const char* name_of(const PairDispersion<T>&) {
    return "pair_dispersion";
}
template <typename T>
constexpr const char* name_of(const ScreenedCharges<T>&) {
    return "screened_charges";
}

template <typename T>
Edges<T> pointers(const EdgeTensors& edges) {
    return {edges.vectors.const_data_ptr<T>(), edges.receivers.const_data_ptr<Index>(),
            edges.senders.const_data_ptr<Index>(), edges.vectors.size(0)};
}

/// Of the dtype of a formula.
template <template <typename> class Formula, typename T>
T number_of(const Formula<T>&);

template <typename T>
T* address(const at::Tensor& tensor) {
    return tensor.defined() ? tensor.mutable_data_ptr<T>() : nullptr;
}

std::int64_t threads_for(std::int64_t edges) {
    return (edges + kEdgesOfAThread - 1) / kEdgesOfAThread;
}

}  // namespace

EdgeTensors contiguous_edges(const char* name, const at::Tensor& edge_vectors,
                             const at::Tensor& edge_index, std::int64_t rows) {
    const auto dtype = edge_vectors.scalar_type();
    TORCH_CHECK(edge_vectors.dim() == 2 && edge_vectors.size(1) == 3 &&
                    (dtype == at::kFloat || dtype == at::kDouble),
                name, ": got edge_vectors ", dtype, " of shape ", edge_vectors.sizes(),
                ", expected float32 or float64 of shape (edges, 3)");
    TORCH_CHECK(edge_index.dim() == 2 && edge_index.size(0) == 2 &&
                    edge_index.size(1) == edge_vectors.size(0) &&
                    edge_index.scalar_type() == at::kLong,
                name, ": got edge_index ", edge_index.scalar_type(), " of shape ",
                edge_index.sizes(), ", expected int64 of shape (2, ", edge_vectors.size(0), ")");
    TORCH_CHECK(edge_index.device() == edge_vectors.device(), name, ": got edge_index on ",
                edge_index.device(), ", expected it on ", edge_vectors.device(),
                " as edge_vectors");
    TORCH_CHECK(edge_vectors.is_cpu() || edge_vectors.is_cuda(), name, ": got edge_vectors on ",
                edge_vectors.device(), ", expected the CPU or a CUDA device");
    if (edge_index.is_cpu() && edge_index.numel() > 0) {
        const auto [low, high] = edge_index.aminmax();
        TORCH_CHECK(low.item<Index>() >= 0 && high.item<Index>() < rows, name, ": got rows from ",
                    low.item<Index>(), " to ", high.item<Index>(),
                    " in edge_index, expected rows from 0 to ", rows - 1);
    }
    return {edge_vectors.contiguous(), edge_index.select(0, 0).contiguous(),
            edge_index.select(0, 1).contiguous()};
}

at::Tensor contiguous_like(const char* name, const char* what, const at::Tensor& tensor,
                           const at::Tensor& like) {
    TORCH_CHECK(tensor.scalar_type() == like.scalar_type() && tensor.device() == like.device(),
                name, ": got ", what, " ", tensor.scalar_type(), " on ", tensor.device(),
                ", expected ", like.scalar_type(), " on ", like.device());
    return tensor.contiguous();
}

template <typename Formula>
at::Tensor sum_of_edges(const EdgeTensors& edges, const Formula& formula, std::int64_t rows) {
    using T = decltype(number_of(formula));
    const auto all = pointers<T>(edges);
    auto result = at::zeros({rows}, edges.vectors.options());
    if (edges.vectors.is_cuda()) {
        T* out = address<T>(result);
        launch_edge_kernel((std::string("sum_") + name_of(formula)).c_str(), edges.vectors,
                           threads_for(all.count),
                           {const_cast<Edges<T>*>(&all), const_cast<Formula*>(&formula), &out});
        return result;
    }
    const auto values = at::empty({all.count}, edges.vectors.options());
    T* const to = address<T>(values);
    at::parallel_for(0, all.count, kEdgesOfATask, [&](Index begin, Index end) {
        for (Index e = begin; e < end; ++e)
            to[e] = formula.value(all.length(e), all.receivers[e], all.senders[e]);
    });
    return result.index_add_(0, edges.receivers, values);
}

template <typename Formula>
EdgeSumGradients gradients_of_edges(const EdgeTensors& edges, const Formula& formula,
                                    const at::Tensor& grad, bool of_vectors, bool of_rows) {
    using T = decltype(number_of(formula));
    const auto all = pointers<T>(edges);
    const auto rows = grad.contiguous();
    const T* factors = rows.const_data_ptr<T>();
    EdgeSumGradients result;
    if (of_vectors) result.vectors = at::empty_like(edges.vectors);
    if (of_rows) result.rows = at::zeros_like(rows);
    T* vectors = address<T>(result.vectors);
    if (edges.vectors.is_cuda()) {
        T* out = address<T>(result.rows);
        launch_edge_kernel((std::string("gradients_") + name_of(formula)).c_str(), edges.vectors,
                           threads_for(all.count),
                           {const_cast<Edges<T>*>(&all), const_cast<Formula*>(&formula), &factors,
                            &vectors, &out});
        return result;
    }
    const auto of_ends = at::empty({of_rows ? 2 : 0, all.count}, edges.vectors.options());
    T* const ends = of_rows ? address<T>(of_ends) : nullptr;
    at::parallel_for(0, all.count, kEdgesOfATask, [&](Index begin, Index end) {
        for (Index e = begin; e < end; ++e) {
            const auto slopes = formula.slopes(all.length(e), all.receivers[e], all.senders[e]);
            const T factor = factors[all.receivers[e]];
            if (vectors)
                for (Index k = 3 * e; k < 3 * e + 3; ++k)
                    vectors[k] = factor * slopes.along * all.vectors[k];
            if (ends) {
                ends[e] = factor * slopes.of_receiver;
                ends[all.count + e] = factor * slopes.of_sender;
            }
        }
    });
    if (of_rows)
        result.rows.index_add_(0, edges.receivers, of_ends[0])
            .index_add_(0, edges.senders, of_ends[1]);
    return result;
}

template <typename T>
void fill_weights(const ReferenceWeights<T>& weights, std::int64_t rows, const at::Tensor& like) {
    if (like.is_cuda()) {
        launch_edge_kernel("reference_weights", like, rows,
                           {const_cast<ReferenceWeights<T>*>(&weights), &rows});
        return;
    }
    for (Index row = 0; row < rows; ++row) weights(row);
}

#define NVALCHEMI_INSTANTIATE(Formula)                                                  \
    template at::Tensor sum_of_edges(const EdgeTensors&, const Formula&, std::int64_t); \
    template EdgeSumGradients gradients_of_edges(const EdgeTensors&, const Formula&,    \
                                                 const at::Tensor&, bool, bool);

NVALCHEMI_INSTANTIATE(CountedNeighbor<float>)
NVALCHEMI_INSTANTIATE(CountedNeighbor<double>)
NVALCHEMI_INSTANTIATE(PairDispersion<float>)
NVALCHEMI_INSTANTIATE(PairDispersion<double>)
NVALCHEMI_INSTANTIATE(ScreenedCharges<float>)
NVALCHEMI_INSTANTIATE(ScreenedCharges<double>)

template void fill_weights(const ReferenceWeights<float>&, std::int64_t, const at::Tensor&);
template void fill_weights(const ReferenceWeights<double>&, std::int64_t, const at::Tensor&);

}  // namespace nvalchemi
