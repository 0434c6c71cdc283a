// SPDX-License-Identifier: GPL-2.0-only
#ifndef LMP_REGISTER_KOKKOS_H
#define LMP_REGISTER_KOKKOS_H

#include "lammps_plugin_abi.h"

namespace LAMMPS_NS {

// add nvalchemi/kk, nvalchemi/kk/device and nvalchemi/kk/host; `entry` holds what all styles share

void register_kokkos_styles(NvalchemiPluginEntry entry, NvalchemiRegisterStyle register_style,
                            void *lmp);

}    // namespace LAMMPS_NS

#endif
