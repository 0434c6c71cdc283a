// SPDX-License-Identifier: GPL-2.0-only
#ifndef LMP_GHOST_CUTOFF_H
#define LMP_GHOST_CUTOFF_H

namespace nvalchemi {

// throws std::runtime_error if ghosts reach less far than the model; both in LAMMPS's length unit

void check_ghost_cutoff(double model_cutoff, double ghost_cutoff);

}    // namespace nvalchemi

#endif
