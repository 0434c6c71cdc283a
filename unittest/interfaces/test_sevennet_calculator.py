# SPDX-License-Identifier: GPL-2.0-only
"""SevenNet-0 through LAMMPS against the package's own calculator in ASE, both in float64."""

import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from crystals import REPOSITORY, SKIPPED, rattled, rocksalt

sys.path.insert(0, str(REPOSITORY / "potentials" / "exporters"))

try:
    import export_sevennet
    import torch
except (ImportError, SystemExit) as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(SKIPPED)

from comparison import Settings, run_decomposed
from installation import find_installation
from structure import Structure, restricted_rotation

BAR = 5e-9  # eV/A, for forces; the same number in eV an atom for energies


def silicon():
    cell = 5.43 / 2 * np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    return rattled(["Si", "Si"], [[0, 0, 0], [0.25, 0.25, 0.25]], cell, (3, 3, 2), 6)


def rutile():
    u = 0.305
    basis = [[0, 0, 0], [0.5, 0.5, 0.5]]
    basis += [[u, u, 0], [-u, -u, 0], [0.5 + u, 0.5 - u, 0.5], [0.5 - u, 0.5 + u, 0.5]]
    cell = np.diag([4.594, 4.594, 2.959])
    return rattled(["Ti"] * 2 + ["O"] * 4, basis, cell, (2, 2, 3), 7)


CRYSTALS = {"rock salt": rocksalt(5, (3, 3, 3)), "diamond": silicon(), "rutile": rutile()}


class SevenNetCalculator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.archive = str(Path(folder.name) / "sevennet_0.pt")
        export_sevennet.main(["--dtype", "float64", "--output", cls.archive])
        network = export_sevennet.load_network("7net-0", torch.float64)
        cls.calculator = export_sevennet.package_calculator(*network, torch.float64)
        cls.installation = find_installation()

    def differences(self, crystal, ranks, moved=0.0):
        """(eV an atom, eV/A) between LAMMPS and the calculator, and the largest force. The
        calculator's structure has one atom moved by `moved`."""
        symbols, positions, cell = crystal
        changed = positions + moved * np.eye(len(positions), 3)
        atoms = {"symbols": symbols, "positions": changed, "cell": cell, "pbc": [True] * 3}
        theirs = export_sevennet.calculator_numbers(self.calculator, atoms)
        settings = Settings(archive=self.archive, ranks=ranks)
        structure = Structure(symbols, positions, cell)
        ours = run_decomposed(self.installation, structure, settings).reference
        forces = theirs["forces"] @ restricted_rotation(cell).T
        return (
            abs(ours.energy - theirs["energy"]) / len(symbols),
            np.abs(ours.forces - forces).max(),
            np.abs(forces).max(),
        )

    def test_three_crystals_on_one_and_two_ranks(self):
        for name, crystal in CRYSTALS.items():
            for ranks in (1, 2):
                with self.subTest(crystal=name, ranks=ranks):
                    energy, force, largest = self.differences(crystal, ranks)
                    print(f"{name}, {ranks} ranks: {energy:.1e} eV an atom, {force:.1e} eV/A")
                    self.assertLess(energy, BAR)
                    self.assertLess(force, BAR)
                    self.assertGreater(largest, 0.1)

    def test_an_atom_moved_by_a_billionth_is_seen(self):
        _, force, _ = self.differences(CRYSTALS["diamond"], 1, moved=3e-9)

        self.assertGreater(force, BAR)


if __name__ == "__main__":
    unittest.main()
