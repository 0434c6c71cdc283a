# SPDX-License-Identifier: GPL-2.0-only
"""The Behler-Parrinello example: its symmetry functions against their definition, its exporter and
the archive that lies beside it."""

import itertools
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from support import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "examples" / "lammps" / "behler_parrinello"))

# isort: split
from behler_parrinello import BehlerParrinello, SymmetryFunctions
from card import read_archive
from evaluate import check_reference, evaluate, neighbor_edges, rattled_rocksalt
from export_behler_parrinello import fit, main

FOLDER = REPOSITORY / "examples" / "lammps" / "behler_parrinello"
CUTOFF = 4.0
ANGLES = ((1.0, 1), (-1.0, 1), (1.0, 4), (-1.0, 4))  # sign, zeta


def damp(r):
    return max(0.0, 1.0 - (r / CUTOFF) ** 2) ** 3


def angular(pairs, eta, sign, zeta):
    """Behler's definition, over pairs of neighbours."""
    total = 0.0
    for a, b in pairs:
        ra, rb = np.linalg.norm(a), np.linalg.norm(b)
        radial = np.exp(-eta * (ra**2 + rb**2)) * damp(ra) * damp(rb)
        total += 2.0 ** (1 - zeta) * (1.0 + sign * (a @ b) / ra / rb) ** zeta * radial
    return total


def by_definition(functions, neighbours):
    """All functions of one atom; `neighbours`: (element, vector)."""
    values = []
    for element, shift in itertools.product((0, 1), functions.shifts.tolist()):
        lengths = [np.linalg.norm(v) for e, v in neighbours if e == element]
        values.append(sum(np.exp(-3.0 * (r - shift) ** 2) * damp(r) for r in lengths))
    for kinds in ((0, 0), (0, 1), (1, 1)):
        pairs = [
            (a, b)
            for (p, a), (q, b) in itertools.combinations(neighbours, 2)
            if tuple(sorted((p, q))) == kinds
        ]
        for eta in functions.etas.tolist():
            values += [angular(pairs, eta, sign, zeta) for sign, zeta in ANGLES]
    return values


class Symmetry(unittest.TestCase):
    def test_functions_are_those_of_the_definition(self):
        functions = SymmetryFunctions(2, CUTOFF, angles=ANGLES).double()
        atoms = rattled_rocksalt()
        receiver, sender, _, vectors = neighbor_edges(atoms, CUTOFF)
        species = np.array([("Na", "Cl").index(symbol) for symbol in atoms["symbols"]])
        edges = torch.tensor(np.stack([receiver, sender]))
        found = functions(torch.tensor(species), edges, torch.tensor(vectors)).numpy()

        self.assertEqual(found.shape, (8, functions.count))
        for atom in (0, 1, 5):
            own = np.flatnonzero(receiver == atom)
            neighbours = [(species[sender[e]], vectors[e]) for e in own]
            expected = np.array(by_definition(functions, neighbours))
            self.assertLess(np.abs(found[atom] - expected).max(), 1e-14)
            self.assertGreater(np.abs(expected).min(), 1e-12)

    def test_atom_without_neighbours_has_zeros(self):
        functions = SymmetryFunctions(2, CUTOFF)
        found = functions(torch.tensor([1]), torch.zeros(2, 0, dtype=torch.long), torch.zeros(0, 3))
        self.assertEqual(float(found.abs().max()), 0.0)


def export(folder, *words):
    path = str(Path(folder) / "model.pt")
    main(["--output", path, *words])
    return read_archive(path)


class Export(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_fit_lowers_the_loss_tenfold(self):
        torch.manual_seed(1)

        before, after = fit(BehlerParrinello(2, 5.0).double(), 5.0, steps=100)

        self.assertLess(after, before / 10)

    def test_each_element_has_a_network_of_its_own(self):
        module, card = read_archive(str(FOLDER / "behler_parrinello.pt"))
        atoms = rattled_rocksalt()
        sodium = np.array([symbol == "Na" for symbol in atoms["symbols"]])
        before = evaluate(module, card, atoms)["energies"]
        with torch.no_grad():
            getattr(getattr(module.networks, "0"), "4").bias += 1.0
        change = evaluate(module, card, atoms)["energies"] - before

        np.testing.assert_allclose(change, sodium.astype(float), atol=1e-13)

    def test_archive_reproduces_its_reference_in_both_precisions(self):
        for dtype in ("float64", "float32"):
            module, card = export(self.folder, "--dtype", dtype, "--steps", "2")

            self.assertEqual({p.dtype for p in module.parameters()}, {getattr(torch, dtype)})
            check_reference(module, card)

    def test_archive_beside_the_exporter_comes_from_it(self):
        path = FOLDER / "behler_parrinello.pt"
        module, card = read_archive(str(path))
        fresh_module, fresh_card = export(self.folder, "--steps", "0")

        check_reference(module, card)
        self.assertEqual(module.code, fresh_module.code)
        self.assertEqual(module.functions.code, fresh_module.functions.code)
        del card["reference"], fresh_card["reference"]
        self.assertEqual(card, fresh_card)
        self.assertLess(path.stat().st_size, 200_000)

    def test_card_says_nothing_of_ranks(self):
        _, card = read_archive(str(FOLDER / "behler_parrinello.pt"))

        self.assertNotIn("spec", card)
        self.assertEqual((card["ops"], card["expected_exchanges"]), ([], 0))

    def test_forces_of_the_archive_are_the_slope_of_its_energy(self):
        module, card = read_archive(str(FOLDER / "behler_parrinello.pt"))
        atoms = rattled_rocksalt()
        forces, h = evaluate(module, card, atoms)["forces"], 1e-4

        energies = {}
        for k in (-2, -1, 1, 2):
            moved = np.array(atoms["positions"])
            moved[3, 1] += k * h
            energies[k] = evaluate(module, card, dict(atoms, positions=moved.tolist()))["energy"]
        slope = (8 * (energies[1] - energies[-1]) - energies[2] + energies[-2]) / 12 / h

        self.assertAlmostEqual(-slope, forces[3, 1], delta=1e-9)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
