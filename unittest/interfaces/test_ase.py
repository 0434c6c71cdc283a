# SPDX-License-Identifier: GPL-2.0-only
"""ASE's calculator LAMMPSlib with the plugin."""

import sys
import unittest

import numpy as np
from crystals import ARCHIVE, SKIPPED, archive_alone, rocksalt, skip_without_lammps_module

try:
    from ase import Atoms, units
    from ase.calculators.lammpslib import LAMMPSlib
    from ase.md.verlet import VelocityVerlet
    from ase.optimize import BFGS
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(SKIPPED)

COMMANDS = ["pair_style nvalchemi device cpu threads 1", f"pair_coeff * * {ARCHIVE} Na Cl"]


class AseCalculator(unittest.TestCase):
    def crystal(self, seed=1):
        symbols, positions, cell = rocksalt(seed)
        atoms = Atoms(symbols, positions=positions, cell=cell, pbc=True)
        calculator = LAMMPSlib(lmpcmds=COMMANDS, atom_types={"Na": 1, "Cl": 2}, keep_alive=True)
        self.addCleanup(calculator.clean)
        atoms.calc = calculator
        return atoms

    def expect_as_alone(self, atoms):
        alone = archive_alone(atoms.get_chemical_symbols(), atoms.positions, atoms.cell[:])
        self.assertAlmostEqual(atoms.get_potential_energy(), alone["energy"], delta=1e-9)
        np.testing.assert_allclose(atoms.get_forces(), alone["forces"], atol=1e-10)
        np.testing.assert_allclose(
            atoms.get_stress(voigt=False), alone["stress"].reshape(3, 3), atol=1e-10
        )
        return alone

    def test_gives_what_the_archive_gives(self):
        alone = self.expect_as_alone(self.crystal())

        self.assertGreater(np.abs(alone["forces"]).max(), 0.01)  # the comparison says something

    def test_follows_moved_atoms_and_a_strained_cell(self):
        atoms = self.crystal()
        before = atoms.get_potential_energy()
        atoms.rattle(0.05, seed=3)
        self.expect_as_alone(atoms)
        strain = np.eye(3) + np.array([[0.01, 0.004, 0.0], [0.0, -0.02, 0.003], [0.0, 0.0, 0.015]])
        atoms.set_cell(atoms.cell[:] @ strain, scale_atoms=True)
        self.expect_as_alone(atoms)

        self.assertGreater(abs(atoms.get_potential_energy() - before), 1e-4)

    def test_forces_are_the_slope_of_the_energy(self):
        atoms = self.crystal()
        forces, step = atoms.get_forces(), 1e-4
        for index, axis in ((0, 0), (7, 2)):
            energies = []
            for sign in (1, -1):
                moved = atoms.positions.copy()
                moved[index, axis] += sign * step
                atoms.set_positions(moved)
                energies.append(atoms.get_potential_energy())
                moved[index, axis] -= sign * step
                atoms.set_positions(moved)
            slope = (energies[0] - energies[1]) / (2 * step)
            self.assertAlmostEqual(-slope, forces[index, axis], delta=1e-6)

    def test_relaxes(self):
        atoms = self.crystal()
        before = np.abs(atoms.get_forces()).max()
        BFGS(atoms, logfile=None).run(fmax=0.2 * before, steps=60)

        self.assertLess(np.linalg.norm(atoms.get_forces(), axis=1).max(), 0.2 * before)
        self.expect_as_alone(atoms)

    def test_conserves_the_energy_in_molecular_dynamics(self):
        atoms = self.crystal()
        start = atoms.get_total_energy()
        potential = atoms.get_potential_energy()
        VelocityVerlet(atoms, timestep=0.5 * units.fs).run(20)

        exchanged = abs(atoms.get_potential_energy() - potential)
        self.assertGreater(exchanged, 1e-4)
        self.assertLess(abs(atoms.get_total_energy() - start), 0.01 * exchanged)


if __name__ == "__main__":
    skip_without_lammps_module()
    unittest.main()
