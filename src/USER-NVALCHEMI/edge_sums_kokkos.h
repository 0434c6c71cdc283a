// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   What the edges of one target, an atom or a row, give it
------------------------------------------------------------------------- */

#ifndef LMP_EDGE_SUMS_KOKKOS_H
#define LMP_EDGE_SUMS_KOKKOS_H

#include "contribution.h"
#include "neighbor_graph_kokkos.h"

#include "kokkos_type.h"

namespace LAMMPS_NS {

// positions in LAMMPS's order of products; functions, because device code sees no host arrays

KOKKOS_INLINE_FUNCTION constexpr int virial_first(int k)
{
  constexpr int POSITIONS[9] = {0, 1, 2, 0, 0, 1, 1, 2, 2};
  return POSITIONS[k];
}

KOKKOS_INLINE_FUNCTION constexpr int virial_second(int k)
{
  constexpr int POSITIONS[9] = {0, 1, 2, 1, 2, 2, 0, 0, 1};
  return POSITIONS[k];
}

struct VirialSum {
  double v[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  KOKKOS_INLINE_FUNCTION VirialSum() {}
  KOKKOS_INLINE_FUNCTION VirialSum &operator+=(const VirialSum &other)
  {
    for (int k = 0; k < 6; ++k) v[k] += other.v[k];
    return *this;
  }
};

struct TargetSum {
  double force[3], virial[6], centroid[9];
};

template <class DeviceType> struct EdgeSums {
  Kokkos::View<int *, DeviceType> first_candidate, edge_of, first_sent, sent;
  const double *vector, *gradient, *moment;    // moment: null if they are zero
  double energy, force;                        // factors to LAMMPS's units
  bool virial, centroid;                       // wanted?

  // add to `sum` the edges that the row receives (row < 0: none) and those that the target sends, in
  // the order of edges

  KOKKOS_INLINE_FUNCTION void add(std::int64_t row, int target, TargetSum &sum) const
  {
    int at = first_sent(target);
    const int end = first_sent(target + 1);
    int k = row < 0 ? 0 : first_candidate(row);
    const int last = row < 0 ? 0 : first_candidate(row + 1);
    for (; at < end && sent(at) < k; ++at) add_sent(sent(at), sum);
    for (; k < last; ++k) {
      add_received(k, sum);
      for (; at < end && sent(at) == k; ++at) add_sent(k, sum);
    }
    for (; at < end; ++at) add_sent(sent(at), sum);
  }

 private:
  KOKKOS_INLINE_FUNCTION bool inside(int candidate) const
  {
    return edge_of(candidate + 1) > edge_of(candidate);
  }

  KOKKOS_INLINE_FUNCTION void add_half_virial(std::int64_t edge, TargetSum &sum) const
  {
    const double *const r = vector + 3 * edge;
    const double *const g = gradient + 3 * edge;
    for (int k = 0; k < 6; ++k)
      sum.virial[k] += -0.5 * energy * r[virial_first(k)] * g[virial_second(k)];
  }

  KOKKOS_INLINE_FUNCTION double moment_of(std::int64_t edge, int k) const
  {
    return energy * moment[9 * edge + 3 * virial_first(k) + virial_second(k)];
  }

  KOKKOS_INLINE_FUNCTION void add_received(int candidate, TargetSum &sum) const
  {
    if (!inside(candidate)) return;
    const std::int64_t edge = edge_of(candidate);
    for (int k = 0; k < 3; ++k) sum.force[k] += force * gradient[3 * edge + k];
    if (virial) add_half_virial(edge, sum);
    if (centroid && moment)
      for (int k = 0; k < 9; ++k) sum.centroid[k] -= moment_of(edge, k);
  }

  KOKKOS_INLINE_FUNCTION void add_sent(int candidate, TargetSum &sum) const
  {
    if (!inside(candidate)) return;
    const std::int64_t edge = edge_of(candidate);
    for (int k = 0; k < 3; ++k) sum.force[k] -= force * gradient[3 * edge + k];
    if (virial) add_half_virial(edge, sum);
    if (!centroid) return;
    const double *const r = vector + 3 * edge;
    const double *const g = gradient + 3 * edge;
    for (int k = 0; k < 9; ++k)
      sum.centroid[k] -= energy * r[virial_first(k)] * g[virial_second(k)];
    if (moment)
      for (int k = 0; k < 9; ++k) sum.centroid[k] += moment_of(edge, k);
  }
};

}    // namespace LAMMPS_NS

#endif
