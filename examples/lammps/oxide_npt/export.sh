#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The archive of this folder, after `. build/env.sh` at the top: the ions of M. Matsui and M. Akaogi, Molecular
# Simulation 6, 239 (1991). It is small and quick, for trying things out.
set -e
parts=$(mktemp -d)
trap 'rm -r "${parts}"' EXIT
nvalchemi-export-pair buck --pair Ti Ti 31120.1 0.154 5.25 --pair Ti O 16957.53 0.194 12.59 \
    --pair O O 11782.76 0.234 30.22 --cutoff 9 --output "${parts}/buck.pt"
nvalchemi-export-pme --charge Ti 2.196 --charge O -1.098 --accuracy 1e-5 --cutoff 9 --output "${parts}/pme.pt"
nvalchemi-compose "${parts}/buck.pt" "${parts}/pme.pt" -o tio2_ionic.pt --name tio2_ionic
