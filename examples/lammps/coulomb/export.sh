#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The archives of this folder, after `. build/env.sh` at the top.
set -e
nvalchemi-export-ewald --elements Na Cl Cs Zn S --accuracy 1e-5 --output ewald.pt
nvalchemi-export-pme --elements Na Cl Cs Zn S --accuracy 1e-5 --output pme.pt
# for tests: exp(-(alpha cutoff)^2) is below 1e-15, so that no pair makes a jump at the cutoff, and for Ewald's
# sum exp(-(k_max / 2 alpha)^2) as well
nvalchemi-export-ewald --elements Na Cl Cs Zn S --cutoff 9 --alpha 0.66 --k-max 7.9 --output ewald_converged.pt
nvalchemi-export-pme --elements Na Cl --cutoff 9 --alpha 0.66 --spacing 0.7 --output pme_smooth.pt
nvalchemi-export-ewald --elements Na Cl --cutoff 9 --accuracy 1e-8 --slab 3 --output ewald_slab.pt
nvalchemi-export-pme --charge Na 1 --charge Cl -1 --accuracy 1e-5 --output pme_nacl.pt
