#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The archives of this folder, after `. build/env.sh` at the top.
set -e
nvalchemi-export-pair lj --pair Ar Ar 0.0104 3.4 --cutoff 8.5 --output argon_lj.pt
nvalchemi-export-pair lj --pair Ar Ar 0.0104 3.4 8.5 --pair Kr Kr 0.0140 3.65 9.0 --mix arithmetic --shift \
    --output argon_krypton_lj.pt
nvalchemi-export-pair buck --pair Na Na 424.097 0.317 1.05 --pair Na Cl 1256.31 0.317 7.0 \
    --pair Cl Cl 3488.998 0.317 72.5 --cutoff 9 --output nacl_buck.pt
nvalchemi-export-pair morse --pair Cu Cu 0.3429 1.3588 2.866 --cutoff 7 --output copper_morse.pt
