// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   Adds the styles of this package to a LAMMPS instance. Called by
   nvalchemi_plugin.so after it has found this build fit for its host.
------------------------------------------------------------------------- */

#include "lammps_plugin_abi.h"

#include "fix_nvalchemi_deviation.h"
#include "fix_nvalchemi_validate.h"
#include "pair_nvalchemi.h"
#include "register_kokkos.h"
#include "write_model_input.h"

#include "lammps.h"

using namespace LAMMPS_NS;

namespace {

void *create_pair(void *lmp)
{
  return static_cast<Pair *>(new PairNvalchemi(static_cast<LAMMPS *>(lmp)));
}

void *create_validate(void *lmp, int narg, char **arg)
{
  return static_cast<Fix *>(new FixNvalchemiValidate(static_cast<LAMMPS *>(lmp), narg, arg));
}

void *create_deviation(void *lmp, int narg, char **arg)
{
  return static_cast<Fix *>(new FixNvalchemiDeviation(static_cast<LAMMPS *>(lmp), narg, arg));
}

void *create_write(void *lmp)
{
  return static_cast<Command *>(new WriteModelInput(static_cast<LAMMPS *>(lmp)));
}

}    // namespace

/* ---------------------------------------------------------------------- */

extern "C" __attribute__((visibility("default"))) void
nvalchemi_register(void *lmp, void *handle, NvalchemiRegisterStyle register_style)
{
  NvalchemiPluginEntry entry = {};
  entry.version = static_cast<LAMMPS *>(lmp)->version;
  entry.author = "the lammps-nvalchemi developers";
  entry.handle = handle;

  entry.style = "pair";
  entry.name = "nvalchemi";
  entry.info = "nvalchemi pair style: TorchScript potentials on any number of ranks";
  entry.creator.v1 = create_pair;
  register_style(&entry, lmp);

  entry.style = "fix";
  entry.name = "nvalchemi/validate";
  entry.info = "nvalchemi/validate fix: decomposed against undecomposed evaluation";
  entry.creator.v2 = create_validate;
  register_style(&entry, lmp);

  entry.name = "nvalchemi/deviation";
  entry.info = "nvalchemi/deviation fix: how far several models disagree";
  entry.creator.v2 = create_deviation;
  register_style(&entry, lmp);

  entry.style = "command";
  entry.name = "nvalchemi/write";
  entry.info = "nvalchemi/write command: what the model sees, as files";
  entry.creator.v1 = create_write;
  register_style(&entry, lmp);

#if defined(LMP_KOKKOS)
  register_kokkos_styles(entry, register_style, lmp);
#endif
}
