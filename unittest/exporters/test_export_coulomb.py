# SPDX-License-Identifier: GPL-2.0-only
import itertools
import math
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from support import EXPORTERS  # noqa: F401

# isort: split
import coulomb
import export_ewald
import export_pme
from card import read_archive
from evaluate import check_reference, rattled_rocksalt
from exported import Exported, tool
from support import REPOSITORY

OPS = torch.ops.nvalchemi_lmp
CELL = torch.tensor([[5.0, 0.0, 0.0], [0.7, 6.0, 0.0], [-0.4, 0.9, 5.5]]).double()
ALPHA, K_MAX = 0.5, 3.0


def system(atoms=7, seed=3):
    random = torch.Generator().manual_seed(seed)
    positions = (torch.rand(atoms, 3, generator=random).double() - 0.3) @ CELL
    return positions, torch.randn(atoms, generator=random).double()


def wave_vectors(k_max):
    """Every k with 0 < |k| <= k_max, one by one."""
    reach = [int(k_max * np.linalg.norm(row) / 2 / math.pi) for row in CELL.numpy()]
    inverse = np.linalg.inv(CELL.numpy())
    for m in itertools.product(*(range(-r, r + 1) for r in reach)):
        k = 2 * math.pi * inverse @ np.array(m)
        if 0 < k @ k <= k_max**2:
            yield k


class Operators(unittest.TestCase):
    def expected(self, positions, charges):
        x, q = positions.numpy(), charges.numpy()
        volume = abs(np.linalg.det(CELL.numpy()))
        energies = -ALPHA / math.sqrt(math.pi) * q**2
        energies = energies - q * q.sum() * math.pi / (2 * volume * ALPHA**2)
        for k in wave_vectors(K_MAX):
            k2 = k @ k
            phase = np.exp(1j * x @ k)
            weight = 4 * math.pi / volume * math.exp(-k2 / 4 / ALPHA**2) / k2
            energies = energies + 0.5 * q * weight * ((q @ phase).conj() * phase).real
        return energies

    def ewald(self, positions, charges, cell=CELL, k_max=K_MAX):
        factors = OPS.ewald_structure_factors(positions, charges, cell, CELL, k_max)
        return OPS.ewald_reciprocal_energies(positions, charges, cell, CELL, factors, ALPHA, k_max)

    def pme(self, positions, charges, cell=CELL, spacing=0.3, order=8):
        mesh = OPS.pme_spread(positions, charges, cell, CELL, spacing, order)
        return OPS.pme_reciprocal_energies(positions, charges, cell, mesh, ALPHA, order)

    def test_ewald_is_the_sum_over_wave_vectors(self):
        positions, charges = system()
        found = self.ewald(positions, charges).numpy()
        np.testing.assert_allclose(found, self.expected(positions, charges), rtol=1e-12)

    def test_structure_factors_of_parts_add_up(self):
        positions, charges = system()
        whole = OPS.ewald_structure_factors(positions, charges, CELL, CELL, K_MAX)
        parts = [
            OPS.ewald_structure_factors(positions[part], charges[part], CELL, CELL, K_MAX)
            for part in (slice(0, 3), slice(3, 3), slice(3, None))
        ]
        torch.testing.assert_close(sum(parts), whole, rtol=1e-12, atol=1e-12)

    def test_mesh_converges_to_ewald_with_spacing_and_order(self):
        positions, charges = system()
        exact = self.ewald(positions, charges, k_max=7.0)
        errors = [
            (self.pme(positions, charges, spacing=h, order=p) - exact).abs().max().item()
            for h, p in ((0.9, 4), (0.45, 4), (0.45, 6), (0.3, 8), (0.15, 10))
        ]
        self.assertTrue(all(b < a / 3 for a, b in itertools.pairwise(errors)), errors)
        self.assertLess(errors[-1], 1e-9)

    def test_gradients_are_slopes(self):
        for energies in (self.ewald, self.pme):
            positions, charges = system()
            leaves = [leaf.clone().requires_grad_(True) for leaf in (positions, charges, CELL)]
            self.assertTrue(
                torch.autograd.gradcheck(lambda *a, e=energies: e(*a).sum(), leaves, eps=1e-5)
            )

    def test_slab_energies_are_those_of_the_formula(self):
        positions, charges = system()
        cell = torch.diag(torch.tensor([6.0, 7.0, 30.0]).double())
        moments = OPS.slab_moments(positions, charges)
        found = OPS.slab_energies(positions, charges, cell, moments).sum().item()
        z, q = positions[:, 2].numpy(), charges.numpy()
        total = (q @ z) ** 2 - q.sum() * (q @ z**2) - q.sum() ** 2 * 30.0**2 / 12
        self.assertAlmostEqual(found, 2 * math.pi / (6 * 7 * 30) * total, places=12)

    def test_no_atoms(self):
        nothing = torch.zeros(0, 3).double(), torch.zeros(0).double()
        self.assertEqual(self.ewald(*nothing).shape, (0,))
        self.assertEqual(self.pme(*nothing).shape, (0,))

    def test_refusals(self):
        positions, charges = system()
        with self.assertRaisesRegex(RuntimeError, "got structure factors of shape"):
            OPS.ewald_reciprocal_energies(
                positions, charges, CELL, CELL, torch.zeros(2, 3, 3, 2).double(), ALPHA, K_MAX
            )
        with self.assertRaisesRegex(RuntimeError, "wave numbers along lattice vector 1"):
            OPS.ewald_structure_factors(positions, charges, CELL, CELL * 1e4, K_MAX)
        with self.assertRaisesRegex(RuntimeError, "mesh points along lattice vector 1"):
            OPS.pme_spread(positions, charges, CELL, CELL * 1e4, 0.5, 6)
        with self.assertRaisesRegex(RuntimeError, "splines of order 5, expected an even number"):
            OPS.pme_spread(positions, charges, CELL, CELL, 0.5, 5)
        with self.assertRaisesRegex(RuntimeError, "expected .7., one for each position"):
            OPS.pme_spread(positions, charges[:3], CELL, CELL, 0.5, 6)


class Accuracy(unittest.TestCase):
    def test_estimates_bound_the_error_of_disordered_systems(self):
        """The reciprocal part against a converged sum, at the density it is made for."""
        density, accuracy = 0.1, 1e-4
        alpha, k_max = coulomb.choose(accuracy, 6.0, density, 1.0)
        positions, charges, cell = coulomb.random_charges(density, 1.0, atoms=300)
        forces = []
        for limit in (k_max, 12 * alpha):
            x = positions.clone().requires_grad_(True)
            factors = OPS.ewald_structure_factors(x, charges, cell, cell, limit)
            energies = OPS.ewald_reciprocal_energies(x, charges, cell, cell, factors, alpha, limit)
            forces.append(coulomb.forces_of(energies, x))
        error = (forces[0] - forces[1]).square().sum(1).mean().sqrt().item()
        estimate = coulomb.reciprocal_error(k_max, alpha, density, 1.0)
        self.assertAlmostEqual(estimate, accuracy / math.sqrt(2), delta=1e-3 * accuracy)
        self.assertLess(error, accuracy)
        self.assertGreater(error, 0.3 * estimate)

    def test_spacing_reaches_the_accuracy_and_is_not_finer_than_it_has_to_be(self):
        system = coulomb.random_charges(0.1, 1.0)
        spacing = coulomb.choose_spacing(1e-4, 6, 0.35, 0.1, 1.0)
        self.assertLess(coulomb.mesh_error(spacing, 6, 0.35, system), 1e-4)
        self.assertGreater(coulomb.mesh_error(spacing / 0.8, 6, 0.35, system), 1e-4 / 2**0.5)


class Exporters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(Path(folder.name) / "coulomb.pt")

    def test_archives_reproduce_their_references(self):
        for export, words in (
            (export_ewald.main, ["--elements", "Na", "Cl"]),
            (export_ewald.main, ["--charge", "Na", "1", "--charge", "Cl", "-1", "--slab", "3"]),
            (export_pme.main, ["--elements", "Na", "Cl", "--order", "4", "--accuracy", "1e-4"]),
            (export_pme.main, ["--elements", "Na", "--dtype", "float32", "--accuracy", "1e-4"]),
        ):
            export(["--output", self.path, *words])
            module, card = read_archive(self.path)
            check_reference(module, card)
            self.assertEqual("charges" in card["reference"], "--elements" in words)
            self.assertIn("stress", card["reference"])

    def test_refusals(self):
        for export, words, text in (
            (export_ewald, [], "--elements, --charge: got both or none of them, expected one"),
            (
                export_ewald,
                ["--charge", "Na", "x"],
                "--charge: got 'Na x', expected an element and a number",
            ),
            (
                export_ewald,
                ["--elements", "Na", "--alpha", "0.3"],
                "--alpha, --k-max: got one of them, expected both or none",
            ),
            (
                export_ewald,
                ["--elements", "Na", "--accuracy", "-1"],
                "--accuracy: got -1, expected more than 0",
            ),
            (
                export_ewald,
                ["--elements", "Na", "--slab", "1"],
                "--slab: got 1, expected 2 or more (3 is usual), or 0",
            ),
            (
                export_pme,
                ["--elements", "Na", "--order", "5"],
                "--order: got 5, expected 4, 6, 8 or 10",
            ),
        ):
            with self.assertRaises(ValueError) as refused:
                export.main(["--output", self.path, *words])
            self.assertEqual(str(refused.exception), text)


class SinglePrecision(Exported):
    """Sums that cancel, while the default precision may be the other one."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for dtype in ("float32", "float64"):
            words = ["--charge", "Na", "1", "--charge", "Cl", "-1", "--dtype", dtype]
            export_ewald.main(["--output", str(cls.archive("ewald", dtype)), *words])
        atoms = rattled_rocksalt(("Na", "Cl"))
        named = {key: np.asarray(atoms[key]).tolist() for key in ("positions", "cell", "pbc")}
        cls.write_cases({"salt": {"symbols": list(atoms["symbols"]), **named}})

    def test_parts_are_the_whole_up_to_rounding(self):
        done = self.validate(self.archive("ewald", "float32"), "salt")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_composes_with_a_part_in_double_precision(self):
        network = REPOSITORY / "examples" / "lammps" / "minimal" / "example_network.pt"
        for other in (network, self.archive("ewald", "float64")):
            words = (self.archive("ewald", "float32"), other, "-o", self.folder / "sum.pt")
            done = tool("nvalchemi-compose", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("2 models, 2 elements, cutoff 9 A, float64", done.stdout)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
