// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_EDGE_FORMULAS_HPP
#define NVALCHEMI_KERNELS_EDGE_FORMULAS_HPP

#include <cmath>
#include <cstdint>

namespace nvalchemi::edge_formulas {

using std::erfc;
using std::exp;
using std::pow;
using std::sqrt;
using Index = std::int64_t;

// The formulas are code here, for the CPU, and a text, which is compiled for a GPU at run time: so
// what the tests find right on a CPU is what a GPU computes. NVALCHEMI_DEVICE is CUDA's word for a
// function there and nothing here. There is no header of the standard library there.
#define NVALCHEMI_DEVICE
#define NVALCHEMI_CODE_AND_TEXT(text, ...) \
    __VA_ARGS__                            \
    inline constexpr const char* text = #__VA_ARGS__;

NVALCHEMI_CODE_AND_TEXT(
    kFormulas,

    /// The edges of a graph, in any order: vectors (count, 3), and rows of receivers and senders.
    template <typename T> struct Edges {
        const T* vectors;
        const Index* receivers;
        const Index* senders;
        Index count;

        NVALCHEMI_DEVICE T length(Index e) const {
            const T x = vectors[3 * e];
            const T y = vectors[3 * e + 1];
            const T z = vectors[3 * e + 2];
            return sqrt(x * x + y * y + z * z);
        }
    };

    /// Derivatives of an edge's value V: V'(length) / length, and those with respect to a number of
    /// its receiver's row and of its sender's row.
    template <typename T> struct Slopes { T along, of_receiver, of_sender; };

    // A formula has value(length, receiver, sender) and slopes(length, receiver, sender).

    /// 1 up to one unit below the cutoff, 0 from it on, a polynomial of degree 5 between.
    template <typename T> NVALCHEMI_DEVICE T switched(T r, T cutoff) {
        const T x = cutoff - r;
        if (x >= T(1)) return T(1);
        if (x <= T(0)) return T(0);
        return x * x * x * (T(10) + x * (T(6) * x - T(15)));
    }

    template <typename T>
    NVALCHEMI_DEVICE T switched_slope(T r, T cutoff) {
        const T x = cutoff - r;
        if (x >= T(1) || x <= T(0)) return T(0);
        return T(-30) * x * x * (T(1) - x) * (T(1) - x);
    }

    /// How much an edge's sender counts as a neighbour of its receiver; no number of rows enters.
    template <typename T>
    struct CountedNeighbor {
        const Index* species;
        const T* radii;
        T steepness, cutoff, scale;

        NVALCHEMI_DEVICE T ratio(T r, Index i, Index j) const {
            return (radii[species[i]] + radii[species[j]]) / r;
        }

        NVALCHEMI_DEVICE T rest(T ratio) const { return exp(steepness * (T(1) - ratio)); }

        NVALCHEMI_DEVICE T value(T length, Index i, Index j) const {
            const T r = scale * length;
            if (r >= cutoff) return T(0);
            return switched(r, cutoff) / (T(1) + rest(ratio(r, i, j)));
        }

        NVALCHEMI_DEVICE Slopes<T> slopes(T length, Index i, Index j) const {
            const T r = scale * length;
            // a vector of no length has no direction
            if (r >= cutoff || r <= T(0)) return Slopes<T>{T(0), T(0), T(0)};
            const T x = ratio(r, i, j);
            const T e = rest(x);
            const T count = T(1) / (T(1) + e);
            // 1 - count without a difference of near numbers
            const T lacks = e < T(1) ? e * count : T(1) - count;
            const T of_count = count * lacks * steepness * (-x / r);
            const T slope = of_count * switched(r, cutoff) + count * switched_slope(r, cutoff);
            return Slopes<T>{scale * slope / length, T(0), T(0)};
        }
    };

    /// How much of a reference system an atom is, and the derivative of that with respect to the
    /// atom's coordination number.
    template <typename T> struct alignas(2 * sizeof(T)) Weight { T value, slope; };

    constexpr int kReferences = 5;

    template <typename T> struct ReferenceWeights {
        const Index* species;
        const T* coordination;
        const T* reference_coordination;
        const bool* has_reference;
        Weight<T>* weights;
        T steepness;

        /// The weights of one row: a softmax of -steepness (difference)^2.
        NVALCHEMI_DEVICE void operator()(Index row) const {
            const Index first = species[row] * kReferences;
            T difference[kReferences];
            T least = T(-1);
            for (int a = 0; a < kReferences; ++a) {
                difference[a] = coordination[row] - reference_coordination[first + a];
                const T square = difference[a] * difference[a];
                if (has_reference[first + a] && (least < T(0) || square < least)) least = square;
            }
            T value[kReferences];
            T sum = T(0);
            for (int a = 0; a < kReferences; ++a) {
                const T exponent = steepness * (least - difference[a] * difference[a]);
                value[a] = has_reference[first + a] ? exp(exponent) : T(0);
                sum += value[a];
            }
            const T norm = sum > T(0) ? T(1) / sum : T(0);
            for (int a = 0; a < kReferences; ++a) {
                // of each pair alone, so that one system that outweighs all leaves no rounding
                T apart = T(0);
                for (int b = 0; b < kReferences; ++b)
                    apart +=
                        norm * value[b] *
                        (reference_coordination[first + b] - reference_coordination[first + a]);
                const T own = norm * value[a];
                weights[row * kReferences + a] = Weight<T>{own, T(-2) * steepness * own * apart};
            }
        }
    };

    /// Half of a pair's dispersion energy; the numbers of rows are coordination numbers.
    template <typename T> struct PairDispersion {
        const Index* species;
        const Weight<T>* weights;
        const T* c6;
        const T* r2r4;
        const T* radius;
        Index kinds;
        T s6, s8, cutoff, scale;
        bool rational;
        T scale6, scale8, shift, alpha;

        /// (C6, its derivatives with respect to the two coordination numbers)
        NVALCHEMI_DEVICE Slopes<T> coefficient(Index i, Index j) const {
            const Weight<T>* first = weights + i * kReferences;
            const Weight<T>* second = weights + j * kReferences;
            const T* table = c6 + (species[i] * kinds + species[j]) * kReferences * kReferences;
            Weight<T> other[kReferences];
            for (int b = 0; b < kReferences; ++b) other[b] = second[b];
            Slopes<T> sum{T(0), T(0), T(0)};
            for (int a = 0; a < kReferences; ++a) {
                T of_value = T(0);
                T of_slope = T(0);
                for (int b = 0; b < kReferences; ++b) {
                    of_value += table[a * kReferences + b] * other[b].value;
                    of_slope += table[a * kReferences + b] * other[b].slope;
                }
                const Weight<T> own = first[a];
                sum.along += own.value * of_value;
                sum.of_receiver += own.slope * of_value;
                sum.of_sender += own.value * of_slope;
            }
            return sum;
        }

        /// Of 1 / damped r^n: value and derivative.
        NVALCHEMI_DEVICE Weight<T> damped(T r, T power, int n, T pair_radius) const {
            if (rational) {
                const T square = pair_radius * pair_radius;
                const T fourth = square * square;
                const T least = n == 6 ? fourth * square : fourth * fourth;
                const T value = T(1) / (power + least);
                return Weight<T>{value, -T(n) * (power / r) * value * value};
            }
            const T step = T(1) / ((n == 6 ? scale6 : scale8) * pair_radius);
            const T x = r * step + shift * pair_radius;
            const T exponent = n == 6 ? alpha : alpha + T(2);
            const T whole = T(1) + T(6) * pow(x, -exponent);
            const T value = T(1) / (power * whole);
            // the second term as it stays finite where the power is not
            const T relative = T(n) / r - exponent * step / x * (T(1) - T(1) / whole);
            return Weight<T>{value, -value * relative};
        }

        /// Of minus the energy without C6: value and derivative, both with respect to r.
        NVALCHEMI_DEVICE Weight<T> shape(T r, Index i, Index j) const {
            const Index a = species[i];
            const Index b = species[j];
            const T square = r * r;
            const T sixth = square * square * square;
            const T pair_radius = radius[a * kinds + b];
            const Weight<T> six = damped(r, sixth, 6, pair_radius);
            const Weight<T> eight = damped(r, sixth * square, 8, pair_radius);
            const T factor8 = s8 * T(3) * r2r4[a] * r2r4[b];
            const T value = T(0.5) * (s6 * six.value + factor8 * eight.value);
            const T slope = T(0.5) * (s6 * six.slope + factor8 * eight.slope);
            const T smooth = switched(r, cutoff);
            return Weight<T>{value * smooth, slope * smooth + value * switched_slope(r, cutoff)};
        }

        NVALCHEMI_DEVICE T value(T length, Index i, Index j) const {
            const T r = scale * length;
            if (r >= cutoff) return T(0);
            return -coefficient(i, j).along * shape(r, i, j).value;
        }

        NVALCHEMI_DEVICE Slopes<T> slopes(T length, Index i, Index j) const {
            const T r = scale * length;
            if (r >= cutoff) return Slopes<T>{T(0), T(0), T(0)};
            const Slopes<T> c = coefficient(i, j);
            const Weight<T> s = shape(r, i, j);
            const T along = length > T(0) ? -c.along * s.slope * scale / length : T(0);
            return Slopes<T>{along, -c.of_receiver * s.value, -c.of_sender * s.value};
        }
    };

    /// Half of q_i q_j erfc(alpha r) / r; the numbers of rows are charges.
    template <typename T> struct ScreenedCharges {
        const T* charges;
        T alpha;

        NVALCHEMI_DEVICE T value(T r, Index i, Index j) const {
            return T(0.5) * erfc(alpha * r) / r * charges[i] * charges[j];
        }

        NVALCHEMI_DEVICE Slopes<T> slopes(T r, Index i, Index j) const {
            const T two_by_sqrt_pi = T(1.1283791670955125739);
            const T x = alpha * r;
            const T potential = T(0.5) * erfc(x) / r;
            const T gaussian = T(0.5) * two_by_sqrt_pi * alpha * exp(-x * x);
            const T along = -charges[i] * charges[j] * (potential + gaussian) / (r * r);
            return Slopes<T>{along, potential * charges[j], potential * charges[i]};
        }
    };)

#undef NVALCHEMI_CODE_AND_TEXT
#undef NVALCHEMI_DEVICE

}  // namespace nvalchemi::edge_formulas

#endif
