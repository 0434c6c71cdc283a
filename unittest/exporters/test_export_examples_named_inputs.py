# SPDX-License-Identifier: GPL-2.0-only
"""The example of named inputs: its exporter, the archive beside it, and what its numbers follow."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from support import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "examples" / "lammps" / "named_inputs"))

# isort: split
from card import read_archive
from evaluate import check_reference, evaluate
from export_magnet import main, reference_atoms
from magnet import BOHR_MAGNETON

ARCHIVE = REPOSITORY / "examples" / "lammps" / "named_inputs" / "magnet.pt"


def written_by(*words):
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.pt")
        with contextlib.redirect_stdout(io.StringIO()):
            main(["--output", path, *words])
        return read_archive(path)


class Export(unittest.TestCase):
    def test_archive_beside_the_exporter_comes_from_it(self):
        module, card = read_archive(str(ARCHIVE))
        fresh_module, fresh_card = written_by()

        check_reference(module, card)
        self.assertEqual(module.code, fresh_module.code)
        for numbers in ("energies", "forces"):
            stored, fresh = (np.array(each["reference"][numbers]) for each in (card, fresh_card))
            self.assertLess(np.abs(stored - fresh).max(), 1e-10)
        del card["reference"], fresh_card["reference"]
        self.assertEqual(card, fresh_card)
        self.assertLess(ARCHIVE.stat().st_size, 60_000)

    def test_archive_reproduces_its_reference_in_single_precision(self):
        self.assertIn("energy", check_reference(*written_by("--dtype", "float32")))

    def test_refuses_a_cutoff_without_neighbours(self):
        with self.assertRaisesRegex(ValueError, "--cutoff: got 2.0, expected at least 3.0"):
            main(["--cutoff", "2.0"])


class Magnetism(unittest.TestCase):
    def setUp(self):
        self.archive = read_archive(str(ARCHIVE))
        self.atoms = reference_atoms()

    def numbers(self, moments=None, field=None):
        given = dict(self.atoms["inputs"])
        if moments is not None:
            given["moments"] = np.asarray(moments).tolist()
        if field is not None:
            given["field"] = field
        return evaluate(*self.archive, dict(self.atoms, inputs=given))

    def test_moments_are_required_and_the_field_has_a_default(self):
        module, card = self.archive
        moments = {"moments": self.atoms["inputs"]["moments"]}
        without = evaluate(module, card, dict(self.atoms, inputs=moments))
        self.assertEqual(without["energy"], self.numbers(field=[0.0, 0.0, 0.0])["energy"])
        with self.assertRaisesRegex(ValueError, "got no value for the input 'moments'"):
            evaluate(module, card, dict(self.atoms, inputs={}))

    def test_energy_without_a_field_depends_on_relative_directions_alone(self):
        moments = np.array(self.atoms["inputs"]["moments"])
        turn, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))
        none = [0.0, 0.0, 0.0]
        before = self.numbers(moments, none)["energies"]
        turned = self.numbers(moments @ turn, none)["energies"]
        self.assertLess(np.abs(turned - before).max(), 1e-13)
        moments[2] *= -1.0
        self.assertGreater(np.abs(self.numbers(moments, none)["energies"] - before).max(), 1e-4)

    def test_field_acts_linearly_and_about_as_on_a_free_moment(self):
        moments = np.array(self.atoms["inputs"]["moments"])
        energies = [self.numbers(field=[0.0, 0.0, b])["energies"] for b in (0.0, 1000.0, 2000.0)]
        change = energies[1] - energies[0]
        self.assertLess(np.abs(energies[2] - energies[0] - 2.0 * change).max(), 1e-12)
        free = -BOHR_MAGNETON * 1000.0 * moments[:, 2]
        self.assertTrue(np.all(np.abs(change / free - 1.0) < 1.0), change / free)

    def test_forces_are_the_slope_at_constant_moments_in_a_field(self):
        forces, h = self.numbers()["forces"], 1e-4
        energies = {}
        for k in (-2, -1, 1, 2):
            moved = np.array(self.atoms["positions"])
            moved[3, 1] += k * h
            atoms = dict(self.atoms, positions=moved.tolist())
            energies[k] = evaluate(*self.archive, atoms)["energy"]
        slope = (8 * (energies[1] - energies[-1]) - energies[2] + energies[-2]) / 12 / h
        self.assertAlmostEqual(-slope, forces[3, 1], delta=1e-8)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
