# SPDX-License-Identifier: GPL-2.0-only
"""Make a LAMMPS data file from a CIF, a POSCAR, or whatever else ASE reads.

    python3 make_data.py rutile.cif rutile.data --types Ti O --repeat 3 3 4

--types is the order of the atom types: the same elements in the same order follow in pair_coeff.
Needs ASE (python3 -m pip install ase).
"""

import argparse
import sys

import ase.io


def read_crystal(path):
    """The structure, every site of it full and without two atoms on one place."""
    atoms = ase.io.read(path)
    if any(len(site) > 1 or min(site.values()) < 1 for site in occupancies(atoms)):
        sys.exit(
            f"error: {path}: got sites that are occupied in part, expected one whole atom on each: "
            "choose an ordered cell first"
        )
    distances = atoms.get_all_distances(mic=True)
    closest = min((d for row in range(len(atoms)) for d in distances[row, :row]), default=1.0)
    if closest < 0.5:
        sys.exit(
            f"error: {path}: got two atoms {closest:.2f} Angstrom apart, expected more than 0.5: "
            "check the coordinates and the symmetry operations"
        )
    return atoms


def occupancies(atoms):
    return atoms.info.get("occupancy", {}).values()


def check_types(path, atoms, types):
    for element in sorted(set(atoms.symbols) - set(types)):
        sys.exit(
            f"error: --types: got {' '.join(types)}, expected {element} among them, "
            f"which {path} holds"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("structure", help="CIF, POSCAR, ...")
    parser.add_argument("data", help="the data file to write")
    parser.add_argument("--types", nargs="+", required=True, metavar="ELEMENT")
    parser.add_argument("--repeat", nargs=3, type=int, default=[1, 1, 1], metavar=("A", "B", "C"))
    options = parser.parse_args()
    crystal = read_crystal(options.structure)
    check_types(options.structure, crystal, options.types)
    atoms = crystal.repeat(options.repeat)
    ase.io.write(
        options.data,
        atoms,
        format="lammps-data",
        specorder=options.types,
        masses=True,
        units="metal",
        atom_style="atomic",
    )
    lengths = " ".join(f"{length:.4f}" for length in atoms.cell.lengths())
    angles = " ".join(f"{angle:.2f}" for angle in atoms.cell.angles())
    print(f"{options.data}: {atoms.symbols.formula.format('metal')}, {len(atoms)} atoms")
    print(f"cell {lengths} Angstrom, angles {angles} degrees")
    print(f"pair_coeff * * MODEL {' '.join(options.types)}")


if __name__ == "__main__":
    main()
