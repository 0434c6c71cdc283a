#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export the electrostatic energy of point charges in a periodic cell, by Ewald's sum.

Wave vectors follow the cell at each re-neighbouring; alpha and the largest wave vector follow from
the accuracy, as with LAMMPS's kspace_style ewald.
"""

try:
    from command_line import run
    from coulomb import Ewald
    from coulomb_archive import coulomb_parser, read_charges, settle, write_coulomb
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "environment that runs it; 'nvalchemi-export ewald --make-environment' makes one"
    ) from missing


def main(arguments=None):
    options = coulomb_parser(__doc__, "ewald")
    options.add_argument("--k-max", type=float, help="1/Angstrom; to be given with --alpha")
    options = options.parse_args(arguments)
    if (options.alpha is None) != (options.k_max is None):
        raise ValueError("--alpha, --k-max: got one of them, expected both or none")
    elements, charges = read_charges(options)
    alpha, k_max, shared = settle(options, charges)
    k_max = options.k_max or k_max
    network = Ewald(shared, k_max)
    write_coulomb("ewald", "SPEC_EWALD_HALO", network, options, elements, charges)
    print(f"alpha {alpha:.6g}, largest wave vector {k_max:.6g} 1/Angstrom")


if __name__ == "__main__":
    run(main)
