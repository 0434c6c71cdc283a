// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The binary interface between LAMMPS's PLUGIN package and a plugin.

   Installed LAMMPS packages often lack lammpsplugin.h. The layout has not
   changed since the package exists, and it is plain C.
------------------------------------------------------------------------- */

#ifndef LMP_LAMMPS_PLUGIN_ABI_H
#define LMP_LAMMPS_PLUGIN_ABI_H

extern "C" {

// makes a style: v1 takes the LAMMPS instance, v2 also the input line's arguments

typedef void *(*NvalchemiFactory1)(void *);
typedef void *(*NvalchemiFactory2)(void *, int, char **);

struct NvalchemiPluginEntry {
  const char *version;    // of the LAMMPS that the style was built for
  const char *style;      // "pair", "fix", ...
  const char *name;
  const char *info;
  const char *author;
  union {
    NvalchemiFactory1 v1;
    NvalchemiFactory2 v2;
  } creator;
  void *handle;    // of the file that "plugin load" opened
};

// LAMMPS copies the entry and adds the style to its tables

typedef void (*NvalchemiRegisterStyle)(NvalchemiPluginEntry *, void *lmp);

// exported by each build of the glue; the entry library calls it

typedef void (*NvalchemiRegisterAll)(void *lmp, void *handle, NvalchemiRegisterStyle);
}

#endif
