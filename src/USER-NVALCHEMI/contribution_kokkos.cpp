// SPDX-License-Identifier: GPL-2.0-only

#include "contribution_kokkos.h"

#include "edge_sums_kokkos.h"

#include "atom_kokkos.h"

using namespace LAMMPS_NS;

namespace {

/* ---------------------------------------------------------------------- */

template <class DeviceType>
EdgeSums<DeviceType> edge_sums(const NeighborGraphKokkos<DeviceType> &graph,
                               const SenderLists<DeviceType> &senders,
                               const nvalchemi::ResultPointers &results)
{
  EdgeSums<DeviceType> sums;
  sums.first_candidate = graph.first_candidate();
  sums.edge_of = graph.edge_of();
  sums.first_sent = senders.first;
  sums.sent = senders.candidates;
  sums.vector = graph.graph().edge_vector;
  sums.gradient = results.edge_gradients;
  sums.moment = results.edge_moments;
  return sums;
}

}    // namespace

/* ---------------------------------------------------------------------- */

template <class DeviceType>
void ContributionKokkos<DeviceType>::begin(const nvalchemi::Evaluation &evaluation)
{
  results_ = nvalchemi::results_of(evaluation);
}

/* ---------------------------------------------------------------------- */

template <class DeviceType>
void ContributionKokkos<DeviceType>::add_atomic_energies(const ResultTargets &)
{
  const double factor = energy_;
  const double *const energies = results_.atomic_energies;
  const auto atom_of_row = graph_.atom_of_row();
  const auto eatom = per_atom_.eatom;
  Kokkos::parallel_for(
      "nvalchemi::add_atomic_energies", Kokkos::RangePolicy<DeviceType>(0, graph_.n_owned()),
      KOKKOS_LAMBDA(const int row) { eatom(atom_of_row(row)) += factor * energies[row]; });
}

/* ----------------------------------------------------------------------
   from edges, or from all rows (raw halo rows stand where their image is)
------------------------------------------------------------------------- */

template <class DeviceType> void ContributionKokkos<DeviceType>::add_virial(double virial[6])
{
  const nvalchemi::AtomGraph &graph = graph_.graph();
  const bool edges = sees_edges();
  const double *const places = edges ? graph.edge_vector : graph.position;
  const double *const slopes = edges ? results_.edge_gradients : results_.row_forces;
  const double factor = edges ? -energy_ : energy_;
  VirialSum sum;
  Kokkos::parallel_reduce(
      "nvalchemi::add_virial",
      Kokkos::RangePolicy<DeviceType>(0, edges ? graph.n_edges : graph.n_rows),
      KOKKOS_LAMBDA(const int k, VirialSum &part) {
        const double *const r = places + 3 * std::int64_t(k);
        const double *const g = slopes + 3 * std::int64_t(k);
        for (int c = 0; c < 6; ++c) part.v[c] += factor * r[virial_first(c)] * g[virial_second(c)];
      },
      sum);
  for (int k = 0; k < 6; ++k) virial[k] += sum.v[k];
}

/* ----------------------------------------------------------------------
   straight to LAMMPS's atoms, ghosts included
------------------------------------------------------------------------- */

template <class DeviceType>
void ContributionKokkos<DeviceType>::scatter_to_atoms(const ResultTargets &targets)
{
  const auto f = atom_.k_f.template view<DeviceType>();
  if (this->sees_rows()) {
    const double factor = force_;
    const double *const forces = results_.row_forces;
    const auto atom_of_row = graph_.atom_of_row();
    Kokkos::parallel_for(
        "nvalchemi::add_row_forces", Kokkos::RangePolicy<DeviceType>(0, graph_.graph().n_rows),
        KOKKOS_LAMBDA(const int row) {
          for (int k = 0; k < 3; ++k)
            f(atom_of_row(row), k) += factor * forces[3 * std::int64_t(row) + k];
        });
  }
  if (!sees_edges()) return;

  EdgeSums<DeviceType> sums = edge_sums(graph_, graph_.senders_by_atom(), results_);
  sums.energy = energy_;
  sums.force = force_;
  sums.virial = targets.vatom != nullptr;
  sums.centroid = targets.cvatom != nullptr;
  const int nlocal = graph_.nlocal();
  const auto row_of_atom = graph_.row_of_atom();
  const auto vatom = per_atom_.vatom;
  const auto cvatom = per_atom_.cvatom;
  Kokkos::parallel_for(
      "nvalchemi::add_edges_to_atoms", Kokkos::RangePolicy<DeviceType>(0, graph_.nall()),
      KOKKOS_LAMBDA(const int i) {
        TargetSum sum;
        for (int k = 0; k < 3; ++k) sum.force[k] = f(i, k);
        for (int k = 0; sums.virial && k < 6; ++k) sum.virial[k] = vatom(i, k);
        for (int k = 0; sums.centroid && k < 9; ++k) sum.centroid[k] = cvatom(i, k);
        sums.add(i < nlocal ? row_of_atom(i) : -1, i, sum);
        for (int k = 0; k < 3; ++k) f(i, k) = sum.force[k];
        for (int k = 0; sums.virial && k < 6; ++k) vatom(i, k) = sum.virial[k];
        for (int k = 0; sums.centroid && k < 9; ++k) cvatom(i, k) = sum.centroid[k];
      });
}

/* ----------------------------------------------------------------------
   to this style's rows, for a journey home of all quantities together
------------------------------------------------------------------------- */

template <class DeviceType>
nvalchemi::RowBlock ContributionKokkos<DeviceType>::scatter_to_rows(const ResultTargets &targets)
{
  const nvalchemi::AtomGraph &graph = graph_.graph();
  const std::int64_t width = width_;
  grow_to(rows_, graph.n_rows * width);
  const auto rows = rows_;
  const Kokkos::RangePolicy<DeviceType> all_rows(0, graph.n_rows);
  nvalchemi::RowBlock block;
  block.data = rows_.data();
  block.rows = graph.n_rows;
  block.width = width_;
  block.cuda_device = graph.cuda_device;

  const bool sees_rows = this->sees_rows();
  const double *const forces = results_.row_forces;
  const double factor = force_;
  if (!sees_edges()) {
    Kokkos::parallel_for(
        "nvalchemi::row_forces_to_rows", all_rows, KOKKOS_LAMBDA(const int row) {
          for (int k = 0; k < width; ++k)
            rows(row * width + k) = k < 3 ? factor * forces[3 * std::int64_t(row) + k] : 0.0;
        });
    return block;
  }

  EdgeSums<DeviceType> sums = edge_sums(graph_, graph_.senders_by_row(), results_);
  sums.energy = energy_;
  sums.force = force_;
  sums.virial = this->wants_row_virials(targets);
  sums.centroid = targets.cvatom != nullptr;
  const std::int64_t n_owned = graph_.n_owned();
  const int vatom_at = VATOM_AT, cvatom_at = cvatom_at_;
  Kokkos::parallel_for(
      "nvalchemi::add_edges_to_rows", all_rows, KOKKOS_LAMBDA(const int row) {
        TargetSum sum = {};
        sums.add(row < n_owned ? row : -1, row, sum);
        for (int k = 0; k < 3; ++k)
          rows(row * width + k) =
              sum.force[k] + (sees_rows ? factor * forces[3 * std::int64_t(row) + k] : 0.0);
        for (int k = 0; sums.virial && k < 6; ++k) rows(row * width + vatom_at + k) = sum.virial[k];
        for (int k = 0; sums.centroid && k < 9; ++k)
          rows(row * width + cvatom_at + k) = sum.centroid[k];
      });
  return block;
}

/* ---------------------------------------------------------------------- */

template <class DeviceType>
void ContributionKokkos<DeviceType>::rows_to_atoms(const ResultTargets &targets)
{
  const bool virial = targets.vatom != nullptr, centroid = targets.cvatom != nullptr;
  const std::int64_t width = width_;
  const int vatom_at = VATOM_AT, cvatom_at = cvatom_at_;
  const auto rows = rows_;
  const auto atom_of_row = graph_.atom_of_row();
  const auto f = atom_.k_f.template view<DeviceType>();
  const auto vatom = per_atom_.vatom;
  const auto cvatom = per_atom_.cvatom;
  Kokkos::parallel_for(
      "nvalchemi::rows_to_atoms", Kokkos::RangePolicy<DeviceType>(0, graph_.n_owned()),
      KOKKOS_LAMBDA(const int row) {
        const int i = atom_of_row(row);
        for (int k = 0; k < 3; ++k) f(i, k) += rows(row * width + k);
        for (int k = 0; virial && k < 6; ++k) vatom(i, k) += rows(row * width + vatom_at + k);
        for (int k = 0; centroid && k < 9; ++k) cvatom(i, k) += rows(row * width + cvatom_at + k);
      });
}

/* ---------------------------------------------------------------------- */

template <class DeviceType> const double *ContributionKokkos<DeviceType>::rows_on_host()
{
  host_rows_.resize(graph_.n_owned() * width_);
  const auto part = Kokkos::subview(rows_, Kokkos::make_pair(std::size_t(0), host_rows_.size()));
  Kokkos::deep_copy(
      Kokkos::View<double *, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
          host_rows_.data(), host_rows_.size()),
      part);
  return host_rows_.data();
}

/* ---------------------------------------------------------------------- */

namespace LAMMPS_NS {
template class ContributionKokkos<LMPDeviceType>;
#ifdef LMP_KOKKOS_GPU
template class ContributionKokkos<LMPHostType>;
#endif
}    // namespace LAMMPS_NS
