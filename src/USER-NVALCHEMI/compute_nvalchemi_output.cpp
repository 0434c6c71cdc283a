// SPDX-License-Identifier: GPL-2.0-only

#include "compute_nvalchemi_output.h"

#include "model_outputs.h"
#include "pair_nvalchemi.h"
#include "the_pair_style.h"

#include "atom.h"
#include "error.h"
#include "update.h"
#include "utils.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace LAMMPS_NS;

namespace {

const std::string WHO = "compute nvalchemi/output";

// ranks that each sum the same numbers differ by rounding at most, in float32 too

constexpr double RANKS_AGREE = 1e-5;

}    // namespace

/* ---------------------------------------------------------------------- */

ComputeNvalchemiOutput::ComputeNvalchemiOutput(LAMMPS *lmp, int narg, char **arg) :
    Compute(lmp, narg, arg), instance(0), width(1), of_system(false)
{
  parse(narg, arg);
  const StoredOutput output = find_output();
  width = static_cast<int>(output.width);
  of_system = !output.per_atom;
  if (output.per_atom) {
    peratom_flag = 1;
    size_peratom_cols = width == 1 ? 0 : width;
    return;
  }
  values.assign(width, 0.0);
  if (width == 1) {
    scalar_flag = 1;
    extscalar = 0;
    return;
  }
  vector_flag = 1;
  size_vector = width;
  extvector = 0;
  vector = values.data();
}

/* ---------------------------------------------------------------------- */

void ComputeNvalchemiOutput::parse(int narg, char **arg)
{
  if (narg < 4)
    error->all(FLERR, "{}: got no output, expected 'compute ID group nvalchemi/output KEY'", WHO);
  key = arg[3];
  for (int k = 4; k < narg; k += 2) {
    if (strcmp(arg[k], "instance") != 0)
      error->all(FLERR, "{}: got keyword {}, expected instance", WHO, arg[k]);
    if (k + 1 == narg) error->all(FLERR, "{}: keyword instance: got no value, expected one", WHO);
    instance = utils::inumeric(FLERR, arg[k + 1], false, lmp);
    if (instance < 1)
      error->all(FLERR, "{}: keyword instance: got {}, expected a number from 1 on", WHO,
                 arg[k + 1]);
  }
}

/* ----------------------------------------------------------------------
   of the model that the pair style has now, which keeps it from now on
------------------------------------------------------------------------- */

StoredOutput ComputeNvalchemiOutput::find_output()
{
  ModelOutputs *outputs = find_pair_style(lmp, WHO, instance)->outputs();
  if (!outputs)
    error->all(FLERR,
               "{}: got a pair style nvalchemi without a model, expected one with outputs; "
               "give pair_coeff before the compute",
               WHO);
  if (const auto output = outputs->request(key)) return *output;
  if (outputs->is_added(key))
    error->all(FLERR,
               "{}: got output {}, which the pair style adds to LAMMPS's own energy, forces or "
               "pressure, expected another output ({}); use compute pair, the attributes fx fy fz "
               "of a dump, or compute pressure",
               WHO, key, outputs->names());
  error->all(FLERR, "{}: got output {}, expected one that the model card declares ({})", WHO, key,
             outputs->names());
}

/* ---------------------------------------------------------------------- */

void ComputeNvalchemiOutput::init()
{
  const StoredOutput output = find_output();
  if (output.width == width && output.per_atom != of_system) return;
  error->all(FLERR,
             "{}: got a model whose output {} has {} values per {}, expected {} per {} as when "
             "compute {} was defined; define it again after pair_coeff",
             WHO, key, output.width, output.per_atom ? "atom" : "system", width,
             of_system ? "system" : "atom", id);
}

/* ---------------------------------------------------------------------- */

StoredOutput ComputeNvalchemiOutput::find_current()
{
  const StoredOutput output = find_output();
  if (output.step == update->ntimestep) {
    check_atoms();
    return output;
  }
  const std::string found =
      output.step < 0 ? "no evaluation of it yet" : "one of step " + std::to_string(output.step);
  error->all(FLERR,
             "{}: output {} is wanted at step {}: got {}, expected an evaluation of the pair style "
             "at this step; use compute {} after the forces of a step (thermo output, dumps and "
             "fixes at the end of a step do), or put 'run 0' before",
             WHO, key, update->ntimestep, found, id);
}

/* ----------------------------------------------------------------------
   of all ranks, which hear of it together
------------------------------------------------------------------------- */

void ComputeNvalchemiOutput::check_atoms()
{
  const int mine = find_pair_style(lmp, WHO, instance)->outputs()->remembers(*atom) ? 0 : 1;
  int any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, world);
  if (any)
    error->all(FLERR,
               "{}: output {}: got other atoms, types or charges than the latest evaluation of the "
               "pair style had, expected the same; where a command between runs has changed them, "
               "put 'run 0' before; where another compute tries some (as compute fep does), name "
               "compute {} before it",
               WHO, key, id);
}

/* ----------------------------------------------------------------------
   the value of rank 0 on all of them
------------------------------------------------------------------------- */

void ComputeNvalchemiOutput::take_global()
{
  const StoredOutput output = find_current();
  std::vector<double> low = output.values, high = output.values;
  MPI_Allreduce(MPI_IN_PLACE, low.data(), width, MPI_DOUBLE, MPI_MIN, world);
  MPI_Allreduce(MPI_IN_PLACE, high.data(), width, MPI_DOUBLE, MPI_MAX, world);
  double largest = 0.0;
  for (int k = 0; k < width; k++)
    largest = std::max({largest, std::fabs(low[k]), std::fabs(high[k])});
  for (int k = 0; k < width; k++)
    if (high[k] - low[k] > RANKS_AGREE * largest)
      error->all(FLERR,
                 "{}: output {} is {} on one rank and {} on another, expected the same on all; "
                 "use fix nvalchemi/validate to find out what the model is not summed over",
                 WHO, key, low[k], high[k]);
  std::copy(output.values.begin(), output.values.end(), values.begin());
  MPI_Bcast(values.data(), width, MPI_DOUBLE, 0, world);
}

/* ---------------------------------------------------------------------- */

double ComputeNvalchemiOutput::compute_scalar()
{
  invoked_scalar = update->ntimestep;
  take_global();
  scalar = values[0];
  return scalar;
}

/* ---------------------------------------------------------------------- */

void ComputeNvalchemiOutput::compute_vector()
{
  invoked_vector = update->ntimestep;
  take_global();
}

/* ----------------------------------------------------------------------
   zero for atoms of other groups, and of types that the model has not
------------------------------------------------------------------------- */

void ComputeNvalchemiOutput::compute_peratom()
{
  invoked_peratom = update->ntimestep;
  const StoredOutput output = find_current();
  values.assign(static_cast<std::size_t>(atom->nmax) * width, 0.0);
  for (int i = 0; i < atom->nlocal; i++)
    if (atom->mask[i] & groupbit)
      std::copy_n(&output.values[static_cast<std::size_t>(i) * width], width,
                  &values[static_cast<std::size_t>(i) * width]);
  vector_atom = values.data();
  if (width == 1) return;
  rows.resize(atom->nmax);
  for (int i = 0; i < atom->nmax; i++) rows[i] = &values[static_cast<std::size_t>(i) * width];
  array_atom = rows.data();
}

/* ---------------------------------------------------------------------- */

double ComputeNvalchemiOutput::memory_usage()
{
  return double(values.capacity()) * sizeof(double) + double(rows.capacity()) * sizeof(double *);
}
