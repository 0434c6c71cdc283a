#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export the electrostatic energy of point charges in a periodic cell, by Ewald's sum.

Wave vectors follow the cell at each re-neighbouring; alpha and the largest wave vector follow from
the accuracy, as with LAMMPS's kspace_style ewald.
"""

try:
    import torch
    from command_line import run, write_and_check
    from coulomb import Ewald
    from coulomb_archive import (
        coulomb_card,
        coulomb_parser,
        in_precision,
        read_charges,
        reference_atoms,
        settle,
    )
    from evaluate import add_reference, evaluate
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "environment that runs it"
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
    network = in_precision(Ewald(shared, k_max), options.dtype)
    card = coulomb_card("ewald", "SPEC_EWALD_HALO", network, options, elements, charges)
    atoms = reference_atoms(elements, charges)
    add_reference(card, atoms, evaluate(network, card, atoms))
    write_and_check(torch.jit.script(network), card, options.output)
    print(f"alpha {alpha:.6g}, largest wave vector {k_max:.6g} 1/Angstrom")


if __name__ == "__main__":
    run(main)
