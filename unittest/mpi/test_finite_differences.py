# SPDX-License-Identifier: GPL-2.0-only
"""Forces and stress of a run on two unequal parts against central differences of its energy."""

from dataclasses import replace

import numpy as np
from comparison import UNITS, VOIGT
from simulation import read_thermo, vectors
from structure import to_restricted_frame
from suite import LONG, LammpsTest, main, models

STEP = 1e-4  # Angstrom
# Neighbours at a cutoff of 5 Angstrom move by STEP. Cutoff functions have a kink in a higher
# derivative, and with a larger strain the shells that cross it show: SevenNet-0 on silicon is off
# by 1e-6 at 1e-4, by 4e-9 at 2e-5.
STRAIN = 2e-5
WEIGHTS = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))  # 4-point first derivative
FAMILIES = (
    "toy_index_add",
    "nequip_rand_f64_energy",
    "mace_rand_f64",
    "allegro_rand_f64_energy",
    "d3bj_pbe",
    "sevennet_0_f64",
)
CUT = 0.3  # fraction of the box that the first rank owns


def write_snapshots(path, structures, boundary="pp pp pp"):
    """A text dump in LAMMPS's restricted triclinic format, one structure a step."""
    with open(path, "w") as stream:
        for step, structure in enumerate(structures, start=1):
            (lx, _, _), (xy, ly, _), (xz, yz, lz) = structure.cell
            tilted = np.any(np.tril(structure.cell, -1))
            low = np.array([min(0, xy, xz, xy + xz), min(0, yz), 0]) + structure.origin
            high = np.array([lx + max(0, xy, xz, xy + xz), ly + max(0, yz), lz]) + structure.origin
            stream.write(
                f"ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{len(structure)}\n"
                f"ITEM: BOX BOUNDS {'xy xz yz ' if tilted else ''}{boundary}\n"
            )
            for axis, tilt in enumerate((xy, xz, yz)):
                stream.write(
                    f"{low[axis]:.17g} {high[axis]:.17g}{f' {tilt:.17g}' if tilted else ''}\n"
                )
            stream.write("ITEM: ATOMS id type x y z\n")
            for k, x in enumerate(structure.positions):
                kind = structure.species.index(structure.symbols[k]) + 1
                stream.write(f"{k + 1} {kind} {x[0]:.17g} {x[1]:.17g} {x[2]:.17g}\n")


def strained(structure, a, b, strain):
    matrix = np.eye(3)
    matrix[b, a] += strain  # x_a += strain * x_b for row vectors
    return replace(structure, cell=structure.cell @ matrix, positions=structure.positions @ matrix)


class FiniteDifferences(LammpsTest):
    def chosen_atoms(self, structure, count):
        """Atoms next to the cut, and one in each part; all of them, if that many are asked for."""
        if count == len(structure):
            return list(range(count))
        fractions = (structure.positions @ np.linalg.inv(structure.cell))[:, 0]
        order = np.argsort(abs(fractions - CUT))
        return [order[0], np.argmin(abs(fractions - CUT / 2)), order[-1]][:count]

    def displaced(self, structure, atoms):
        """Structures for the slopes along 3 directions of each atom, then along six strains."""
        moves = []
        for atom in atoms:
            for axis in range(3):
                for k, _ in WEIGHTS:
                    moved = structure.positions.copy()
                    moved[atom, axis] += k * STEP
                    moves.append(replace(structure, positions=moved))
        # VOIGT's (a, b) with a <= b keeps the cell in LAMMPS's frame: x_a moves with x_b
        moves += [strained(structure, a, b, k * STRAIN) for a, b in VOIGT for k, _ in WEIGHTS]
        return moves

    def measure(self, archive, structure, moves):
        """Forces, stress, and the energies of the displaced structures."""
        write_snapshots(self.folder / "moves.dump", moves)
        six = " ".join(f"c_virial[{k + 1}]" for k in range(6))
        run = self.run_structure(
            structure,
            archive.settings(ranks=2, processors="2 1 1"),
            [
                f"balance 1.0 x {CUT}",
                "compute virial all pressure NULL virial",
                f"thermo_style custom step pe vol {six}",
                "thermo_modify format float %.17g",
                "thermo 1",
                "dump forces all custom 1 forces.dump id fx fy fz",
                "dump_modify forces sort id format float %.17g",
                "run 0",
                "undump forces",
                "rerun moves.dump dump x y z box yes",
            ],
            timeout=3600,
        )
        first, rerun = read_thermo(run.log)
        self.assertEqual(len(rerun["PotEng"]), len(moves))
        stress = [-first[f"c_virial[{k + 1}]"][0] / UNITS["metal"][0] for k in range(6)]
        forces = vectors(self.snapshots("forces.dump")[0], "fx fy fz")
        return forces, np.array(stress), rerun["PotEng"]

    def check(self, archive, crystal, natoms):
        structure = to_restricted_frame(archive.case(crystal)[0])
        atoms = self.chosen_atoms(structure, natoms)
        forces, stress, energies = self.measure(
            archive, structure, self.displaced(structure, atoms)
        )

        weights = [weight for _, weight in WEIGHTS]
        slopes = energies.reshape(-1, len(WEIGHTS)) @ weights
        expected = -slopes[: 3 * natoms].reshape(natoms, 3) / STEP
        worst = np.max(abs(forces[atoms] - expected)) / np.max(abs(forces))
        self.assertLessEqual(worst, 1e-6, "forces")
        expected = slopes[3 * natoms :] / STRAIN / structure.volume
        worst = np.max(abs(stress - expected)) / np.max(abs(stress))
        self.assertLessEqual(worst, 1e-6, "stress")

    def test_each_family(self):
        for archive in models(*FAMILIES):
            for crystal in ("nacl64", "si64") if LONG else ("nacl64",):
                with self.subTest(model=archive.name, crystal=crystal):
                    natoms = 1 if "sevennet" in archive.name else 3
                    if LONG:  # all components
                        natoms = len(archive.case(crystal)[0])
                    self.check(archive, crystal, natoms)


if __name__ == "__main__":
    main()
