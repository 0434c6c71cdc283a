// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/pair_potentials_source.hpp"

namespace nvalchemi {

namespace {

constexpr const char* kPrologue = R"cuda(
typedef long long I;
struct Radial { T energy, slope; };  // V, and V'(r)/r
)cuda";

// p: parameter k of a pair is p[k * stride]; s: the square of the distance
constexpr const char* kLennardJones = R"cuda(
constexpr int kCutoff = 2;
static __device__ __forceinline__ Radial radial(const T* p, I stride, T s) {
    const T inverse = T(1) / s;
    const T x = p[stride] * p[stride] * inverse;
    const T six = x * x * x;
    const T four = T(4) * p[0];
    return {four * six * (six - T(1)), four * six * (T(6) - T(12) * six) * inverse};
}
)cuda";

constexpr const char* kBuckingham = R"cuda(
constexpr int kCutoff = 3;
static __device__ __forceinline__ Radial radial(const T* p, I stride, T s) {
    const T r = sqrt(s);
    const T inverse = T(1) / s;
    const T repulsion = p[0] * exp(-r / p[stride]);
    const T attraction = p[2 * stride] * inverse * inverse * inverse;
    return {repulsion - attraction,
            T(6) * attraction * inverse - repulsion / (p[stride] * r)};
}
)cuda";

constexpr const char* kMorse = R"cuda(
constexpr int kCutoff = 3;
static __device__ __forceinline__ Radial radial(const T* p, I stride, T s) {
    const T r = sqrt(s);
    const T decay = exp(p[stride] * (p[2 * stride] - r));
    return {p[0] * decay * (decay - T(2)),
            T(2) * p[0] * p[stride] * decay * (T(1) - decay) / r};
}
)cuda";

// A row has `kLanes` threads, which take turns at its edges. The shape of the grid is part of the
// order in which the virial is added up, and nothing else is.
constexpr const char* kKernels = R"cuda(
// ranges[2 row], ranges[2 row + 1]: first edge of a row and the edge after its last, zero at first
extern "C" __global__ void find_rows(I edges, const I* __restrict__ receivers,
                                     I* __restrict__ ranges, int* __restrict__ unsorted) {
    const I e = I(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e > edges) return;
    const I row = e < edges ? receivers[e] : -1;
    const I before = e > 0 ? receivers[e - 1] : -1;
    if (e > 0 && row == before) return;
    if (e < edges) ranges[2 * row] = e;
    if (e > 0) ranges[2 * before + 1] = e;
    if (e < edges && row < before) *unsorted = 1;
}

struct Vector { T x, y, z; };

struct Sums {
    T energy, force[3];
    double virial[6];
};

struct Pairs {
    I kinds;
    const T* vectors;
    const I* senders;
    const I* species;
    const T* table;

    __device__ __forceinline__ Vector vector(I e) const {
        return {vectors[3 * e], vectors[3 * e + 1], vectors[3 * e + 2]};
    }

    __device__ __forceinline__ void add(I row, I e, const Vector& v, Sums& sums) const {
        const T x = v.x, y = v.y, z = v.z;
        const T s = x * x + y * y + z * z;
        const I stride = kinds * kinds;
        const T* p = table;
        if (kinds > 1) p += species[row] * kinds + species[senders[e]];
        const T cutoff = p[kCutoff * stride];
        if (!(s < cutoff * cutoff)) {
            // a distance that is not a number must not get lost
            if (s != s) sums.energy += s;
            return;
        }
        const Radial pair = radial(p, stride, s);
        const T fx = pair.slope * x, fy = pair.slope * y, fz = pair.slope * z;
        sums.energy += T(0.5) * (pair.energy - p[(kCutoff + 1) * stride]);
        sums.force[0] += fx;
        sums.force[1] += fy;
        sums.force[2] += fz;
        sums.virial[0] -= 0.5 * (double(x) * fx);
        sums.virial[1] -= 0.5 * (double(x) * fy);
        sums.virial[2] -= 0.5 * (double(x) * fz);
        sums.virial[3] -= 0.5 * (double(y) * fy);
        sums.virial[4] -= 0.5 * (double(y) * fz);
        sums.virial[5] -= 0.5 * (double(z) * fz);
    }
};

// of all threads of a block: (3, 3) numbers for each block
static __device__ __forceinline__ void write_virial(const Sums& sums, double* virials) {
    __shared__ double parts[32][6];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = 0; k < 6; ++k) {
        double sum = sums.virial[k];
        for (int m = 16; m > 0; m /= 2) sum += __shfl_down_sync(0xffffffffu, sum, m);
        if (lane == 0) parts[warp][k] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= 6) return;
    double sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) sum += parts[w][threadIdx.x];
    const int first[6] = {0, 1, 2, 4, 5, 8}, second[6] = {0, 3, 6, 4, 7, 8};
    virials[9 * I(blockIdx.x) + first[threadIdx.x]] = sum;
    virials[9 * I(blockIdx.x) + second[threadIdx.x]] = sum;
}

extern "C" __global__ void pair_rows(I rows, I kinds, const T* __restrict__ vectors,
                                     const I* __restrict__ senders, const I* __restrict__ species,
                                     const T* __restrict__ table, const I* __restrict__ ranges,
                                     const int* __restrict__ unsorted, T* __restrict__ energies,
                                     T* __restrict__ forces, double* __restrict__ virials) {
    if (*unsorted) return;
    const Pairs pairs{kinds, vectors, senders, species, table};
    const I first = (I(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
    const int lane = threadIdx.x % kLanes;
    const unsigned together = ((1u << kLanes) - 1) << (threadIdx.x % 32 / kLanes * kLanes);
    Sums sums = {};
    for (I row = first; row < rows; row += I(gridDim.x) * blockDim.x / kLanes) {
        sums.energy = sums.force[0] = sums.force[1] = sums.force[2] = T(0);
        const I end = ranges[2 * row + 1];
        for (I e = ranges[2 * row] + lane; e < end; e += 2 * kLanes) {
            // two at once: while one is computed the other is on its way
            const bool two = e + kLanes < end;
            const Vector one = pairs.vector(e), other = pairs.vector(two ? e + kLanes : e);
            pairs.add(row, e, one, sums);
            if (two) pairs.add(row, e + kLanes, other, sums);
        }
        __syncwarp(together);
        T total[4] = {sums.energy, sums.force[0], sums.force[1], sums.force[2]};
        for (int k = 0; k < 4; ++k)
            for (int m = kLanes / 2; m > 0; m /= 2)
                total[k] += __shfl_down_sync(together, total[k], m, kLanes);
        if (lane != 0) continue;
        energies[row] = total[0];
        for (int k = 0; k < 3; ++k) forces[3 * row + k] = total[k + 1];
    }
    __syncthreads();
    write_virial(sums, virials);
}

// energies, forces and virials of zeros
extern "C" __global__ void pair_edges(I edges, I kinds, const T* __restrict__ vectors,
                                      const I* __restrict__ receivers,
                                      const I* __restrict__ senders, const I* __restrict__ species,
                                      const T* __restrict__ table,
                                      const int* __restrict__ unsorted, T* energies, T* forces,
                                      double* virials) {
    if (!*unsorted) return;
    const Pairs pairs{kinds, vectors, senders, species, table};
    Sums all = {};
    for (I e = I(blockIdx.x) * blockDim.x + threadIdx.x; e < edges;
         e += I(gridDim.x) * blockDim.x) {
        all.energy = all.force[0] = all.force[1] = all.force[2] = T(0);
        const I row = receivers[e];
        pairs.add(row, e, pairs.vector(e), all);
        if (all.energy != T(0)) atomicAdd(energies + row, all.energy);
        for (int k = 0; k < 3; ++k)
            if (all.force[k] != T(0)) atomicAdd(forces + 3 * row + k, all.force[k]);
    }
    __syncthreads();
    write_virial(all, virials);
}
)cuda";

}  // namespace

std::string pair_sums_source(PairForm form, const std::string& scalar) {
    const char* const radial = form == PairForm::LennardJones ? kLennardJones
                               : form == PairForm::Buckingham ? kBuckingham
                                                              : kMorse;
    return "typedef " + scalar + " T;\nconstexpr int kLanes = " + std::to_string(kPairLanes) + ";" +
           kPrologue + radial + kKernels;
}

}  // namespace nvalchemi
