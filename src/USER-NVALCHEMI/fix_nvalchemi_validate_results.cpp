// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   What fix nvalchemi/validate keeps for thermo output, dumps and variables
------------------------------------------------------------------------- */

#include "fix_nvalchemi_validate.h"

#include "validation_verdict.h"

#include "atom.h"
#include "memory.h"

#include <cmath>

using namespace LAMMPS_NS;

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::store(const ValidationVerdict &verdict)
{
  for (int k = 0; k < ValidationVerdict::QUANTITIES; k++) {
    figures[k < 4 ? DIFFERENCE + k : VIRIAL_DIFFERENCE] = verdict.difference[k];
    figures[k < 4 ? TOLERANCE + k : VIRIAL_TOLERANCE] = verdict.tolerance[k];
  }
  const double ratio = verdict.worst_ratio();
  if (!std::isnan(figures[WORST_RATIO]) && !(ratio <= figures[WORST_RATIO]))
    figures[WORST_RATIO] = ratio;
  figures[OUTPUT_RATIO] = verdict.output_ratio;
  figures[PASSED] = verdict.undecided ? -1.0 : verdict.passed() ? 1.0 : 0.0;
  figures[ATOMS] = static_cast<double>(verdict.natoms);
  figures[SECONDS] = verdict.seconds;
  figures[COMPARISONS] += 1.0;
  figures[INCOMPLETE_ATOMS] = static_cast<double>(verdict.atoms_wrong);
  figures[EXCHANGE_GOOD] = verdict.exchange_good ? 1.0 : 0.0;
}

/* ----------------------------------------------------------------------
   zero for atoms outside of the group
------------------------------------------------------------------------- */

void FixNvalchemiValidate::store_errors(const std::vector<double> &local)
{
  for (int i = 0; i < atom->nlocal; i++) {
    const double *error_of = &local[3 * i];
    set_arrays(i);
    if (!(atom->mask[i] & groupbit)) continue;
    for (int k = 0; k < 3; k++) errors[i][k] = error_of[k];
    errors[i][3] = std::sqrt(error_of[0] * error_of[0] + error_of[1] * error_of[1] +
                             error_of[2] * error_of[2]);
  }
}

/* ---------------------------------------------------------------------- */

double FixNvalchemiValidate::compute_vector(int n)
{
  return figures[n];
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::grow_arrays(int nmax)
{
  memory->grow(errors, nmax, COLUMNS, "nvalchemi/validate:errors");
  array_atom = errors;
}

/* ---------------------------------------------------------------------- */

void FixNvalchemiValidate::copy_arrays(int i, int j, int)
{
  for (int k = 0; k < COLUMNS; k++) errors[j][k] = errors[i][k];
}

/* ----------------------------------------------------------------------
   new atoms, and all of them before the first comparison
------------------------------------------------------------------------- */

void FixNvalchemiValidate::set_arrays(int i)
{
  for (int k = 0; k < COLUMNS; k++) errors[i][k] = 0.0;
}

/* ---------------------------------------------------------------------- */

int FixNvalchemiValidate::pack_exchange(int i, double *buf)
{
  for (int k = 0; k < COLUMNS; k++) buf[k] = errors[i][k];
  return COLUMNS;
}

/* ---------------------------------------------------------------------- */

int FixNvalchemiValidate::unpack_exchange(int nlocal, double *buf)
{
  for (int k = 0; k < COLUMNS; k++) errors[nlocal][k] = buf[k];
  return COLUMNS;
}

/* ---------------------------------------------------------------------- */

double FixNvalchemiValidate::memory_usage()
{
  return static_cast<double>(atom->nmax) * COLUMNS * sizeof(double);
}
