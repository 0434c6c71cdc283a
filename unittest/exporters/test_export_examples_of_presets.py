# SPDX-License-Identifier: GPL-2.0-only
"""The examples of the kinds of AIMNet2, UMA and graph parallelism: their exporters write what lies
beside them, their equations are those of the definition, and what is wrong is refused."""

import contextlib
import io
import math
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import numpy as np
import torch
from support import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "examples" / "lammps" / "charge_equilibration"))
sys.path.insert(0, str(REPOSITORY / "examples" / "lammps" / "escn"))
sys.path.insert(0, str(REPOSITORY / "examples" / "lammps" / "graph_parallel"))

# isort: split
import export_charge_equilibration
import export_replicated_geometry
from card import read_archive
from charge_equilibration import COULOMB, LRCoulomb
from escn import SO2Convolution, edge_frames
from evaluate import check_reference, evaluate, neighbor_edges, rattled_rocksalt

EXAMPLES = REPOSITORY / "examples" / "lammps"
CHARGED = EXAMPLES / "charge_equilibration" / "charge_equilibration.pt"


def written_by(main, *words):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive.pt"
        with contextlib.redirect_stdout(io.StringIO()):
            main([*words, "--output", str(path)])
        return read_archive(str(path))


class ChargeEquilibration(unittest.TestCase):
    def setUp(self):
        self.network, self.card = read_archive(str(CHARGED))

    def inputs(self, atoms):
        """The dictionary that the card describes, made here."""
        i, j, _, vector = neighbor_edges(atoms, self.card["cutoff"])
        rows = len(atoms["symbols"])
        slots = int(np.bincount(i).max()) + 3  # some that are empty
        table = np.tile(np.arange(rows)[:, None], (1, slots))
        mask = np.zeros((rows, slots))
        vectors = np.zeros((rows, slots, 3))
        vectors[:, :, 2] = self.card["cutoff"]
        for row in range(rows):
            mine = i == row
            table[row, : mine.sum()] = j[mine]
            mask[row, : mine.sum()] = 1.0
            vectors[row, : mine.sum()] = vector[mine]
        return {
            "numbers": torch.tensor([self.card["species"].index(s) for s in atoms["symbols"]]),
            "nbmat": torch.tensor(table),
            "mask": torch.tensor(mask),
            "vectors": torch.tensor(vectors),
            "mol_idx": torch.zeros(rows, dtype=torch.int64),
            "charge": torch.tensor([atoms["total_charge"]], dtype=torch.float64),
        }

    def test_archive_fits_its_card(self):
        self.assertIn("energy", check_reference(self.network, self.card))

    def test_exporter_writes_it(self):
        network, card = written_by(export_charge_equilibration.main)
        atoms = self.card["reference"]
        found, stored = evaluate(network, card, atoms), evaluate(self.network, self.card, atoms)
        self.assertLess(np.abs(found["forces"] - stored["forces"]).max(), 1e-12)

    def test_bears_the_names_that_the_preset_replaces(self):
        with zipfile.ZipFile(CHARGED) as archive:
            code = {
                name: archive.read(name).decode()
                for name in archive.namelist()
                if name.endswith(".py")
            }
        for module, name in (
            ("aimnet/nbops.py", "def mol_sum("),
            ("aimnet/modules/aev.py", "class ConvSV("),
            ("aimnet/modules/lr.py", "class LRCoulomb("),
            ("aimnet/modules/lr.py", "class SRCoulomb("),
        ):
            text = "".join(text for file, text in code.items() if file.endswith(module))
            self.assertIn(name, text)

    def test_empty_slots_change_nothing(self):
        atoms = dict(rattled_rocksalt(), total_charge=-1.5)
        found = self.network(self.inputs(atoms))
        stored = evaluate(self.network, self.card, atoms)
        energy = found["atomic_energies"].detach().numpy()
        self.assertLess(np.abs(energy - stored["energies"]).max(), 1e-13)

    def test_charges_add_up_after_each_pass(self):
        for total in (0.0, 1.0, -2.5):
            atoms = dict(rattled_rocksalt(repeat=2), total_charge=total)
            charges = self.network(self.inputs(atoms))["pass_charges"].detach()
            allowed = 4 * torch.finfo(torch.float64).eps * charges.abs().sum(0) + 1e-12
            self.assertTrue(torch.all((charges.sum(0) - total).abs() <= allowed))

    def test_forces_are_the_slope_with_charges_responding(self):
        atoms = dict(rattled_rocksalt(), total_charge=1.0)
        forces = evaluate(self.network, self.card, atoms)["forces"]
        step = 1e-4
        for axis in range(3):
            energies = []
            for k in (-2, -1, 1, 2):
                moved = [list(x) for x in atoms["positions"]]
                moved[3][axis] += k * step
                energies.append(
                    float(evaluate(self.network, self.card, dict(atoms, positions=moved))["energy"])
                )
            slope = np.dot(energies, (1 / 12, -8 / 12, 8 / 12, -1 / 12)) / step
            self.assertLess(abs(forces[3, axis] + slope), 1e-6 * np.abs(forces).max())

    def test_damped_coulomb_energy_is_that_of_the_definition(self):
        module = LRCoulomb(6.0, 0.3)
        r, a, c = 2.5, 0.3, 6.0

        def shifted(d):
            return math.erfc(a * d) / d

        slope = -(shifted(c) / c) - 2 * a / math.sqrt(math.pi) * math.exp(-((a * c) ** 2)) / c
        pair = shifted(r) - shifted(c) - slope * (r - c)
        itself = shifted(c) + 2 * a / math.sqrt(math.pi)
        q = torch.tensor([0.4, -0.7], dtype=torch.float64)
        data = {
            "charges": q,
            "d_ij": torch.full((2, 1), r, dtype=torch.float64),
            "nbmat": torch.tensor([[1], [0]]),
            "mask": torch.ones(2, 1, dtype=torch.float64),
        }
        expected = COULOMB * (-0.28 * pair - 0.5 * itself * (0.16 + 0.49))
        self.assertAlmostEqual(float(module(data).sum()), expected, places=12)

    def test_refuses_a_cutoff_below_that_of_the_features(self):
        with self.assertRaisesRegex(ValueError, "--cutoff: got 4.0, expected at least 5"):
            export_charge_equilibration.main(["--cutoff", "4.0"])


class Escn(unittest.TestCase):
    def test_frames_turn_the_edge_onto_the_second_axis(self):
        n = torch.nn.functional.normalize(torch.randn(50, 3, dtype=torch.float64), dim=1)
        n = torch.cat([n, torch.eye(3, dtype=n.dtype), -torch.eye(3, dtype=n.dtype)])
        frames = edge_frames(n)
        turned = torch.einsum("eij,ej->ei", frames[:, 1:, 1:], n)
        self.assertLess((turned - torch.tensor([0.0, 1.0, 0.0])).abs().max(), 1e-14)
        identity = torch.matmul(frames, frames.transpose(1, 2))
        self.assertLess((identity - torch.eye(4, dtype=n.dtype)).abs().max(), 1e-14)
        self.assertTrue(torch.allclose(torch.linalg.det(frames), torch.ones(len(n)).double()))

    def test_convolutions_commute_with_turns_about_the_edge(self):
        torch.manual_seed(3)
        convolution = SO2Convolution(3, 2, 2).double()
        experts = torch.tensor([0.3, 0.7], dtype=torch.float64)
        x = torch.randn(5, 4, 3, dtype=torch.float64)  # ordered by m

        def turned(y, angle):
            c, s = math.cos(angle), math.sin(angle)
            return torch.cat(
                [y[:, :2], c * y[:, 2:3] - s * y[:, 3:], s * y[:, 2:3] + c * y[:, 3:]], 1
            )

        difference = convolution(turned(x, 0.7), experts) - turned(convolution(x, experts), 0.7)
        self.assertLess(difference.abs().max(), 1e-14)


class ReplicatedGeometry(unittest.TestCase):
    def test_is_the_minimal_network(self):
        network, card = written_by(export_replicated_geometry.main)
        minimal, minimal_card = read_archive(str(EXAMPLES / "minimal" / "example_network.pt"))
        atoms = rattled_rocksalt()
        found = evaluate(network, card, atoms)
        expected = evaluate(minimal, minimal_card, atoms)
        self.assertLess(np.abs(found["forces"] - expected["forces"]).max(), 1e-13)
        self.assertTrue(card["spec"]["gp_replicate_geometry"])

    def test_lies_beside_its_exporter(self):
        archive = EXAMPLES / "graph_parallel" / "replicated_geometry.pt"
        self.assertIn("energy", check_reference(*read_archive(str(archive))))


if __name__ == "__main__":
    unittest.main()
