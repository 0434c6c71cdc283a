// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   Adds the styles of this package to a LAMMPS instance. Called by
   nvalchemi_plugin.so after it has found this build fit for its host.
------------------------------------------------------------------------- */

#include "lammps_plugin_abi.h"

#include "compute_nvalchemi_output.h"
#include "fix_nvalchemi_deviation.h"
#include "fix_nvalchemi_validate.h"
#include "layout_check.h"
#include "pair_nvalchemi.h"
#include "register_kokkos.h"
#include "write_model_input.h"

#include "force.h"
#include "input.h"
#include "lammps.h"
#include "modify.h"

using namespace LAMMPS_NS;

namespace {

Pair *new_pair(LAMMPS *lmp)
{
  return new PairNvalchemi(lmp);
}

Fix *new_validate(LAMMPS *lmp, int narg, char **arg)
{
  return new FixNvalchemiValidate(lmp, narg, arg);
}

Fix *new_deviation(LAMMPS *lmp, int narg, char **arg)
{
  return new FixNvalchemiDeviation(lmp, narg, arg);
}

Compute *new_output(LAMMPS *lmp, int narg, char **arg)
{
  return new ComputeNvalchemiOutput(lmp, narg, arg);
}

Command *new_write(LAMMPS *lmp)
{
  return new WriteModelInput(lmp);
}

void *create_pair(void *lmp)
{
  return new_pair(static_cast<LAMMPS *>(lmp));
}

void *create_validate(void *lmp, int narg, char **arg)
{
  return new_validate(static_cast<LAMMPS *>(lmp), narg, arg);
}

void *create_deviation(void *lmp, int narg, char **arg)
{
  return new_deviation(static_cast<LAMMPS *>(lmp), narg, arg);
}

void *create_output(void *lmp, int narg, char **arg)
{
  return new_output(static_cast<LAMMPS *>(lmp), narg, arg);
}

void *create_write(void *lmp)
{
  return new_write(static_cast<LAMMPS *>(lmp));
}

/* ----------------------------------------------------------------------
   LAMMPS has one list of plugins for all instances of a process, and keeps
   a style that is in the list from every instance but the first
------------------------------------------------------------------------- */

void add_to_further_instance(LAMMPS *lmp)
{
  lmp->force->pair_map->emplace("nvalchemi", &new_pair);
  lmp->modify->fix_map->emplace("nvalchemi/validate", &new_validate);
  lmp->modify->fix_map->emplace("nvalchemi/deviation", &new_deviation);
  lmp->modify->compute_map->emplace("nvalchemi/output", &new_output);
  lmp->input->command_map->emplace("nvalchemi/write", &new_write);
}

}    // namespace

/* ---------------------------------------------------------------------- */

extern "C" __attribute__((visibility("default"))) void
nvalchemi_register(void *lmp, void *handle, NvalchemiRegisterStyle register_style)
{
  nvalchemi::require_same_layout(lmp);

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

  entry.style = "compute";
  entry.name = "nvalchemi/output";
  entry.info = "nvalchemi/output compute: what a model returns beside energy and forces";
  entry.creator.v2 = create_output;
  register_style(&entry, lmp);

  entry.style = "command";
  entry.name = "nvalchemi/write";
  entry.info = "nvalchemi/write command: what the model sees, as files";
  entry.creator.v1 = create_write;
  register_style(&entry, lmp);

  add_to_further_instance(static_cast<LAMMPS *>(lmp));

#if defined(LMP_KOKKOS)
  register_kokkos_styles(entry, register_style, lmp);
#endif
}
