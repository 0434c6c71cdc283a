// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Numbers on their way between vectors of the host and views of Kokkos
------------------------------------------------------------------------- */

#ifndef LMP_ARRAYS_KOKKOS_H
#define LMP_ARRAYS_KOKKOS_H

#include "kokkos_type.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace LAMMPS_NS {

template <typename T> using HostNumbers =
    Kokkos::View<T *, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

// room for `count` elements, some more when it must grow; the contents are lost then

template <class ViewType> void grow_to(ViewType &view, std::int64_t count)
{
  if (static_cast<std::int64_t>(view.extent(0)) >= count && view.extent(0) > 0) return;
  const std::string label = view.label().empty() ? "nvalchemi" : view.label();
  view = ViewType();    // first, so that old and new are not there together
  view = ViewType(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), count + count / 10 + 1);
}

// all numbers to the first places of a view

template <class ViewType, typename T> void upload(ViewType &view, const std::vector<T> &numbers)
{
  grow_to(view, numbers.size());
  const auto part = Kokkos::subview(view, Kokkos::make_pair(std::size_t(0), numbers.size()));
  Kokkos::deep_copy(part, HostNumbers<T>(const_cast<T *>(numbers.data()), numbers.size()));
}

// positions of `count` atoms, in a view as LAMMPS keeps them

template <class ViewType> ViewType upload_positions(const double *const *x, int count)
{
  ViewType positions("nvalchemi::positions", count);
  const auto host = Kokkos::create_mirror_view(positions);
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < 3; ++k) host(i, k) = x[i][k];
  Kokkos::deep_copy(positions, host);
  return positions;
}

// the first places of a view to the numbers that are there

template <class ViewType, typename T> void download(std::vector<T> &numbers, const ViewType &view)
{
  const auto part = Kokkos::subview(view, Kokkos::make_pair(std::size_t(0), numbers.size()));
  Kokkos::deep_copy(HostNumbers<T>(numbers.data(), numbers.size()), part);
}

// the first `count` places of a view

template <class ViewType, typename T>
void download(std::vector<T> &numbers, const ViewType &view, std::int64_t count)
{
  numbers.resize(count);
  if (count > 0) download(numbers, view);
}

// place of the first number that is not finite, -1 if there is none

template <class DeviceType> std::int64_t first_bad(const double *numbers, std::int64_t count)
{
  if (!numbers) return -1;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  Kokkos::parallel_reduce(
      "nvalchemi::first_bad",
      Kokkos::RangePolicy<DeviceType, Kokkos::IndexType<std::int64_t>>(0, count),
      KOKKOS_LAMBDA(const std::int64_t k, std::int64_t &least) {
        if (!Kokkos::isfinite(numbers[k]) && k < least) least = k;
      },
      Kokkos::Min<std::int64_t>(first));
  return first < count ? first : -1;
}

}    // namespace LAMMPS_NS

#endif
