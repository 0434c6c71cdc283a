// SPDX-License-Identifier: GPL-2.0-only

#include "register_kokkos.h"

#include "pair_nvalchemi_kokkos.h"

using namespace LAMMPS_NS;

namespace {

template <class DeviceType> void *create_pair(void *lmp)
{
  return static_cast<Pair *>(new PairNvalchemiKokkos<DeviceType>(static_cast<LAMMPS *>(lmp)));
}

}    // namespace

/* ---------------------------------------------------------------------- */

void LAMMPS_NS::register_kokkos_styles(NvalchemiPluginEntry entry,
                                       NvalchemiRegisterStyle register_style, void *lmp)
{
  entry.style = "pair";
  entry.info = "nvalchemi/kk pair style: TorchScript potentials where Kokkos keeps the atoms";
  entry.creator.v1 = create_pair<LMPDeviceType>;
  for (const char *name : {"nvalchemi/kk", "nvalchemi/kk/device"}) {
    entry.name = name;
    register_style(&entry, lmp);
  }
  entry.name = "nvalchemi/kk/host";
  entry.creator.v1 = create_pair<LMPHostType>;
  register_style(&entry, lmp);
}
