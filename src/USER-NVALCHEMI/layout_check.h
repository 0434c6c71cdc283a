// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   A version alone does not tell a patched LAMMPS from the one whose
   headers this build was compiled with. Where its classes keep their
   members does: LAMMPS's C interface hands out addresses of some.
------------------------------------------------------------------------- */

#ifndef LMP_LAYOUT_CHECK_H
#define LMP_LAYOUT_CHECK_H

namespace nvalchemi {

// stops every rank if members of LAMMPS's classes are elsewhere than this build was told

void require_same_layout(void *lmp);

}    // namespace nvalchemi

#endif
