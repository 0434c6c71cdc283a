// SPDX-License-Identifier: GPL-2.0-only
#ifndef LMP_THE_PAIR_STYLE_H
#define LMP_THE_PAIR_STYLE_H

#include <string>

namespace LAMMPS_NS {

class LAMMPS;
class PairNvalchemi;

// The only instance of pair style nvalchemi, with its atoms in host memory. Ends all ranks with a
// message that begins with `who` where there is none, or several.

PairNvalchemi *the_pair_style(LAMMPS *lmp, const std::string &who);

}    // namespace LAMMPS_NS

#endif
