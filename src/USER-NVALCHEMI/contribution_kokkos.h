// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Results to LAMMPS's Kokkos views. No atomics: every target (an atom or a
   row) has one thread, which adds what its edges give in the order of
   edges, so that sums have the same bits in every run, and on the host
   those of HostContribution.
------------------------------------------------------------------------- */

#ifndef LMP_CONTRIBUTION_KOKKOS_H
#define LMP_CONTRIBUTION_KOKKOS_H

#include "contribution.h"
#include "neighbor_graph_kokkos.h"

#include "kokkos_type.h"

#include <vector>

namespace LAMMPS_NS {

class AtomKokkos;

// arrays over atoms that the pair style owns; the element type is LAMMPS's of energies and virials

using AtomEnergies = Kokkos::DualView<double *, LMPDeviceType::array_layout, LMPDeviceType>;
using AtomVirials = Kokkos::DualView<double *[6], Kokkos::LayoutRight, LMPDeviceType>;
using AtomCentroidVirials = Kokkos::DualView<double *[9], Kokkos::LayoutRight, LMPDeviceType>;

template <class DeviceType> struct PerAtomViews {
  decltype(AtomEnergies().view<DeviceType>()) eatom;
  decltype(AtomVirials().view<DeviceType>()) vatom;
  decltype(AtomCentroidVirials().view<DeviceType>()) cvatom;
};

template <class DeviceType> class ContributionKokkos final : public Contribution {
 public:
  ContributionKokkos(NeighborGraphKokkos<DeviceType> &graph, AtomKokkos &atom) :
      graph_(graph), atom_(atom)
  {
  }

  // of the following add(); those that are wanted

  void set_per_atom(const PerAtomViews<DeviceType> &views) { per_atom_ = views; }

  // kernels; public, because nvcc takes no lambdas in private functions

  void add_atomic_energies(const ResultTargets &targets) override;
  void add_virial(double virial[6]) override;
  void scatter_to_atoms(const ResultTargets &targets) override;
  nvalchemi::RowBlock scatter_to_rows(const ResultTargets &targets) override;
  void rows_to_atoms(const ResultTargets &targets) override;

 private:
  const ModelGraph &graph() const override { return graph_; }
  void begin(const nvalchemi::Evaluation &evaluation) override;
  const double *rows_on_host() override;

  NeighborGraphKokkos<DeviceType> &graph_;
  AtomKokkos &atom_;
  PerAtomViews<DeviceType> per_atom_;
  nvalchemi::ResultPointers results_;
  Kokkos::View<double *, DeviceType> rows_;    // (n_rows, width_)
  std::vector<double> host_rows_;              // (n_owned, width_)
};

}    // namespace LAMMPS_NS

#endif
