# SPDX-License-Identifier: GPL-2.0-only
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from support import EXPORTERS, REPOSITORY

# isort: split
from card import read_archive
from evaluate import check_reference, evaluate, rattled_rocksalt
from example_network import ExampleNetwork, smooth_cutoff
from export_example_network import fit, main

EXAMPLE = REPOSITORY / "examples" / "lammps" / "minimal" / "example_network.pt"


def export(folder, *arguments):
    path = str(Path(folder) / "example.pt")
    main(["--output", path, *arguments])
    return read_archive(path)


class ExampleNetworkModel(unittest.TestCase):
    def test_cutoff_function_ends_with_zero_slope_and_curvature(self):
        r = torch.tensor([4.999999], dtype=torch.float64, requires_grad=True)
        value = smooth_cutoff(r, 5.0)
        (slope,) = torch.autograd.grad(value, r, create_graph=True)
        (curvature,) = torch.autograd.grad(slope, r)

        self.assertLess(value.item(), 1e-18)
        self.assertLess(abs(slope.item()), 1e-11)
        self.assertLess(abs(curvature.item()), 1e-5)

    def test_fit_lowers_the_loss_tenfold(self):
        torch.manual_seed(1)

        before, after = fit(ExampleNetwork(2, 5.0).double(), 5.0, steps=100)

        self.assertLess(after, before / 10)


class ExportExampleNetwork(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_archive_reproduces_its_reference_in_both_precisions(self):
        for dtype in ("float64", "float32"):
            module, card = export(self.folder, "--dtype", dtype, "--steps", "5")

            self.assertEqual(card["dtype"], dtype)
            self.assertEqual({p.dtype for p in module.parameters()}, {getattr(torch, dtype)})
            check_reference(module, card)

    def test_states_one_exchange_less_than_layers(self):
        self.assertEqual(
            export(self.folder, "--layers", "2", "--steps", "0")[1]["expected_exchanges"], 1
        )

    def test_forces_of_the_archive_are_the_slope_of_its_energy(self):
        module, card = export(self.folder, "--steps", "5")
        atoms = rattled_rocksalt()
        forces, h = evaluate(module, card, atoms)["forces"], 1e-4

        energies = {}
        for k in (-2, -1, 1, 2):
            moved = np.array(atoms["positions"])
            moved[3, 1] += k * h
            energies[k] = evaluate(module, card, dict(atoms, positions=moved.tolist()))["energy"]
        slope = (8 * (energies[1] - energies[-1]) - energies[2] + energies[-2]) / 12 / h

        self.assertAlmostEqual(-slope, forces[3, 1], delta=1e-9)

    def test_archive_of_the_minimal_example_comes_from_this_exporter(self):
        module, card = read_archive(str(EXAMPLE))
        fresh_module, fresh_card = export(self.folder, "--steps", "0")

        check_reference(module, card)
        self.assertEqual(module.code, fresh_module.code)
        del card["reference"], fresh_card["reference"]
        self.assertEqual(card, fresh_card)

    def test_command_line_refuses_a_network_without_layers(self):
        run = subprocess.run(
            [sys.executable, str(EXPORTERS / "export_example_network.py"), "--layers", "0"],
            capture_output=True,
            text=True,
            timeout=120,
        )

        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr, "error: --layers: got 0, expected at least 1\n")


if __name__ == "__main__":
    unittest.main(warnings="ignore")
