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

// An instance of pair style nvalchemi, with suffix kk or without: `instance` is its number under
// hybrid, from 1 on, or 0 for the only one. Ends all ranks with a message that begins with `who`
// where there is none of that number, or several and no number.

PairNvalchemi *find_pair_style(LAMMPS *lmp, const std::string &who, int instance);

}    // namespace LAMMPS_NS

#endif
