// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/edge_sums_source.hpp"

#include "kernels/edge_formulas.hpp"

namespace nvalchemi {

namespace {

// Lanes beyond the last edge go along with its receiver and zero: all lanes of a warp meet in the
// functions that exchange numbers. Nothing is sent for zeros, of which a padded graph has many.
constexpr const char* kKernels = R"cuda(
constexpr unsigned kAll = 0xffffffffu;

struct RowSum {
    T* out;
    int lane;
    Index row;
    T sum;

    __device__ RowSum(T* out) : out(out), lane(threadIdx.x % 32), row(-1), sum(0) {}

    __device__ void flush() {
        if (row < 0) return;
        for (int m = 16; m > 0; m /= 2) sum += __shfl_xor_sync(kAll, sum, m);
        if (lane == 0 && sum != T(0)) atomicAdd(out + row, sum);
        row = -1;
        sum = T(0);
    }

    __device__ void add(Index to, T value) {
        const Index first = __shfl_sync(kAll, to, 0);
        if (__all_sync(kAll, to == first)) {
            if (first != row) flush();
            row = first;
            sum += value;
            return;
        }
        flush();
        const Index before = __shfl_up_sync(kAll, to, 1);
        const unsigned heads = __ballot_sync(kAll, lane == 0 || before != to);
        const int start = 31 - __clz(heads & (kAll >> (31 - lane)));
        for (int d = 1; d < 32; d *= 2) {
            const T other = __shfl_up_sync(kAll, value, d);
            if (lane - d >= start) value += other;
        }
        const bool ends = lane == 31 || ((heads >> (lane + 1)) & 1u);
        if (ends && value != T(0)) atomicAdd(out + to, value);
    }
};

__device__ __forceinline__ Index first_edge() {
    const Index warp = (Index(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    return warp * 32 * kEdgesOfAThread;
}

template <typename Formula>
__device__ __forceinline__ void sum_edges(const Edges<T>& edges, const Formula& formula, T* out) {
    RowSum rows(out);
    Index base = first_edge();
    for (int step = 0; step < kEdgesOfAThread && base < edges.count; ++step, base += 32) {
        const Index e = base + rows.lane;
        const bool in = e < edges.count;
        const Index to = edges.receivers[in ? e : edges.count - 1];
        rows.add(to, in ? formula.value(edges.length(e), to, edges.senders[e]) : T(0));
    }
    rows.flush();
}

// of_vectors (edges, 3) and of_rows (rows,), either of them null where it is not asked for
template <typename Formula>
__device__ __forceinline__ void edge_gradients(const Edges<T>& edges, const Formula& formula,
                                               const T* grad, T* of_vectors, T* of_rows) {
    RowSum rows(of_rows);
    Index base = first_edge();
    for (int step = 0; step < kEdgesOfAThread && base < edges.count; ++step, base += 32) {
        const Index e = base + rows.lane;
        const bool in = e < edges.count;
        const Index to = edges.receivers[in ? e : edges.count - 1];
        T of_receiver = T(0);
        if (in) {
            const Index from = edges.senders[e];
            const Slopes<T> slopes = formula.slopes(edges.length(e), to, from);
            const T factor = grad[to];
            of_receiver = factor * slopes.of_receiver;
            if (of_vectors) {
                const T along = factor * slopes.along;
                for (int k = 0; k < 3; ++k)
                    of_vectors[3 * e + k] = along * edges.vectors[3 * e + k];
            }
            const T of_sender = factor * slopes.of_sender;
            if (of_rows && of_sender != T(0)) atomicAdd(of_rows + from, of_sender);
        }
        if (of_rows) rows.add(to, of_receiver);
    }
    if (of_rows) rows.flush();
}

extern "C" __global__ void reference_weights(ReferenceWeights<T> weights, Index rows) {
    const Index row = Index(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row < rows) weights(row);
}
)cuda";

std::string kernels_of(const std::string& name, const std::string& formula) {
    return "extern \"C\" __global__ void sum_" + name + "(Edges<T> edges, " + formula +
           "<T> formula, T* out) { sum_edges(edges, formula, out); }\n"
           "extern \"C\" __global__ void gradients_" +
           name + "(Edges<T> edges, " + formula +
           "<T> formula, const T* grad, T* of_vectors, T* of_rows) "
           "{ edge_gradients(edges, formula, grad, of_vectors, of_rows); }\n";
}

}  // namespace

std::string edge_sums_source(const std::string& scalar) {
    return "typedef " + scalar +
           " T;\n"
           "typedef long long Index;\n"
           "#define NVALCHEMI_DEVICE __device__ __forceinline__\n"
           "constexpr int kEdgesOfAThread = " +
           std::to_string(kEdgesOfAThread) + ";\n" + edge_formulas::kFormulas + kKernels +
           kernels_of("counted_neighbor", "CountedNeighbor") +
           kernels_of("pair_dispersion", "PairDispersion") +
           kernels_of("screened_charges", "ScreenedCharges");
}

}  // namespace nvalchemi
