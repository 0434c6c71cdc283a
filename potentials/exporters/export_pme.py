#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export the electrostatic energy of point charges in a periodic cell, by a particle-mesh sum.

alpha follows from the accuracy; the spacing of the mesh is the widest that reaches it on a
disordered system of the given density, measured here against Ewald's sum.
"""

try:
    from command_line import run
    from coulomb import ParticleMesh, choose_spacing
    from coulomb_archive import coulomb_parser, read_charges, settle, write_coulomb
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "environment that runs it; 'nvalchemi-export pme --make-environment' makes one"
    ) from missing


def main(arguments=None):
    options = coulomb_parser(__doc__, "pme")
    options.add_argument("--order", type=int, default=6, help="of the splines: 4, 6, 8 or 10")
    options.add_argument("--spacing", type=float, help="of mesh points, Angstrom")
    options = options.parse_args(arguments)
    if options.order not in (4, 6, 8, 10):
        raise ValueError(f"--order: got {options.order}, expected 4, 6, 8 or 10")
    elements, charges = read_charges(options)
    alpha, _, shared = settle(options, charges)
    spacing = options.spacing or choose_spacing(
        options.accuracy, options.order, alpha, options.density, options.mean_square_charge
    )
    network = ParticleMesh(shared, spacing, options.order)
    write_coulomb("pme", "SPEC_PME_HALO", network, options, elements, charges)
    print(f"alpha {alpha:.6g} 1/Angstrom, mesh points {spacing:.4g} Angstrom apart at most")


if __name__ == "__main__":
    run(main)
