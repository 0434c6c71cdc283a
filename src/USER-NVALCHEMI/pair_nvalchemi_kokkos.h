// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Pair style nvalchemi/kk: atoms, neighbour lists and results stay in the
   memory of a Kokkos execution space, which the model shares
------------------------------------------------------------------------- */

#ifdef PAIR_CLASS
// clang-format off
PairStyle(nvalchemi/kk,PairNvalchemiKokkos<LMPDeviceType>);
PairStyle(nvalchemi/kk/device,PairNvalchemiKokkos<LMPDeviceType>);
PairStyle(nvalchemi/kk/host,PairNvalchemiKokkos<LMPHostType>);
// clang-format on
#else

#ifndef LMP_PAIR_NVALCHEMI_KOKKOS_H
#define LMP_PAIR_NVALCHEMI_KOKKOS_H

#include "contribution_kokkos.h"
#include "pair_nvalchemi.h"

#include "kokkos_type.h"

#include <string>

namespace LAMMPS_NS {

template <class DeviceType> class PairNvalchemiKokkos : public PairNvalchemi {
 public:
  PairNvalchemiKokkos(class LAMMPS *);
  ~PairNvalchemiKokkos() override;

  void compute(int, int) override;
  void init_style() override;

 protected:
  std::string model_device(const std::string &keyword) override;

 private:
  void prepare_per_atom();
  template <class ViewType> void show_on_host(ViewType &);

  ContributionKokkos<DeviceType> *contribution_views;    // owned by the base class
  AtomEnergies k_eatom;
  AtomVirials k_vatom;
  AtomCentroidVirials k_cvatom;
};

}    // namespace LAMMPS_NS

#endif
#endif
