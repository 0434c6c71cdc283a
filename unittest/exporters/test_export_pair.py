# SPDX-License-Identifier: GPL-2.0-only
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from support import EXPORTERS, REPOSITORY  # noqa: F401

# isort: split
from card import read_archive
from evaluate import check_reference, evaluate, rattled_rocksalt
from export_pair import main

ARCHIVES = REPOSITORY / "examples" / "lammps" / "pair_potentials"
H = 1e-4  # Angstrom, and strain
LJ = ["lj", "--pair", "Ar", "Ar", "0.0104", "3.4"]


class ExportPair(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(Path(folder.name) / "pair.pt")

    def export(self, *arguments):
        main(["--output", self.path, *arguments])
        return read_archive(self.path)

    def assert_refused(self, text, *arguments):
        with self.assertRaises(ValueError) as refused:
            self.export(*arguments)
        self.assertEqual(str(refused.exception), text)

    def test_archives_of_the_example_come_from_this_exporter(self):
        commands = (ARCHIVES / "export.sh").read_text().replace("\\\n", " ")
        exports = [line.split()[1:] for line in commands.splitlines() if "nvalchemi-export" in line]
        self.assertEqual(len(exports), 4)
        for words in exports:
            module, card = read_archive(str(ARCHIVES / words[words.index("--output") + 1]))
            words[words.index("--output") + 1] = self.path
            main(words)
            fresh_module, fresh_card = read_archive(self.path)
            self.assertEqual(card, fresh_card)
            self.assertTrue(torch.equal(module.table, fresh_module.table))

    def test_forces_and_stress_are_slopes_of_the_energy(self):
        for words in (
            [*LJ, "--cutoff", "7.0"],
            ["buck", "--pair", "Na", "Na", "424.1", "0.317", "1.05", "7.0"],
            ["morse", "--pair", "Cu", "Cu", "0.3429", "1.3588", "2.866", "7.0"],
        ):
            module, card = self.export(*words)
            atoms = rattled_rocksalt(2 * [card["species"][0]], lattice_constant=5.3)
            numbers = evaluate(module, card, atoms)

            def energy(positions, cell, module=module, card=card, atoms=atoms):
                moved = dict(atoms, positions=positions.tolist(), cell=cell.tolist())
                return evaluate(module, card, moved)["energy"]

            x, cell = np.array(atoms["positions"]), np.array(atoms["cell"])

            def slope(change, energy=energy):
                values = {k: energy(*change(k * H)) for k in (-2, -1, 1, 2)}
                return (8 * (values[1] - values[-1]) - values[2] + values[-2]) / 12 / H

            def move(d, x=x, cell=cell):
                moved = x.copy()
                moved[3, 1] += d
                return moved, cell

            def strain(d, x=x, cell=cell):
                matrix = np.eye(3)
                matrix[1, 0] += d
                return x @ matrix, cell @ matrix

            forces, stress = numbers["forces"], numbers["stress"]
            volume = abs(np.linalg.det(cell))
            with self.subTest(style=words[0]):
                # pairs near the cutoff make the energy jump by less than this
                self.assertAlmostEqual(-slope(move), forces[3, 1], delta=1e-6 * abs(forces).max())
                self.assertAlmostEqual(
                    slope(strain) / volume, stress[1, 0], delta=1e-6 * abs(stress).max()
                )

    def test_single_precision(self):
        module, card = self.export(*LJ, "7.0", "--dtype", "float32")
        self.assertEqual(module.table.dtype, torch.float32)
        check_reference(module, card)

    def test_mixing_rules(self):
        for rule, epsilon, sigma, cutoff in (
            ("geometric", 0.02, 3.0, 72.0**0.5),
            ("arithmetic", 0.02, 3.25, 8.5),
            ("sixthpower", 0.04 * 3.0**6 / (2.0**6 + 4.5**6), 0, 0),
        ):
            module, _ = self.export(
                *["lj", "--pair", "Ar", "Ar", "0.01", "2.0", "8.0"],
                *["--pair", "Kr", "Kr", "0.04", "4.5", "9.0", "--mix", rule],
            )
            self.assertAlmostEqual(module.table[0, 0, 1].item(), epsilon, places=14)
            if sigma:
                self.assertAlmostEqual(module.table[1, 1, 0].item(), sigma, places=14)
                self.assertAlmostEqual(module.table[2, 1, 0].item(), cutoff, places=14)

    def test_refusals(self):
        self.assert_refused(
            "--pair: got 'Ar Ar 0.0104 3.4' without a cutoff; add it or give --cutoff", *LJ
        )
        self.assert_refused(
            "--pair: got 'Ar Ar 1', expected El1 El2 epsilon sigma [cutoff]",
            *["lj", "--pair", "Ar", "Ar", "1"],
        )
        self.assert_refused(
            "--pair: got 'Ar Ar 1 x', expected numbers in El1 El2 epsilon sigma [cutoff]",
            *["lj", "--pair", "Ar", "Ar", "1", "x"],
        )
        self.assert_refused(
            "--pair: got 'Ar Ar 1 3.4 0', expected a cutoff > 0",
            *["lj", "--pair", "Ar", "Ar", "1", "3.4", "0"],
        )
        self.assert_refused(
            "--pair: got the pair Ar Kr twice, expected it once",
            *["lj", "--pair", "Ar", "Kr", "1", "3", "8", "--pair", "Kr", "Ar", "1", "3", "8"],
        )
        self.assert_refused(
            "--pair: got no parameters of Ar Kr; give them or --mix",
            *[*LJ, "8", "--pair", "Kr", "Kr", "1", "3", "8"],
        )
        self.assert_refused(
            "--mix: got it for morse, expected lj, which alone has rules",
            *["morse", "--mix", "geometric", "--pair", "Cu", "Cu", "1", "1", "1", "7"],
        )


if __name__ == "__main__":
    unittest.main(warnings="ignore")
