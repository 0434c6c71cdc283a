# SPDX-License-Identifier: GPL-2.0-only
"""What only Python's compiler writes: blocks with a context manager, builtins with their own files.

nvalchemi-spec loads a model with its self-test: what it calls good has reproduced the undecomposed
model in parts.
"""

import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import torch
from support import pair_card

# isort: split
from card import make_card


def layer(h, receiver, sender, message):
    return h + torch.zeros_like(h).index_add(0, receiver, torch.tanh(h[sender]) * message)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Parameter(
            torch.linspace(-1, 1, 8, dtype=torch.float64).view(2, 4)
        )
        self.mix = torch.nn.Linear(4, 4).double()

    def start(self, data: dict[str, torch.Tensor]):
        r = torch.linalg.vector_norm(data["edge_vectors"], dim=-1, keepdim=True)
        message = (1.0 - r / 4.0).clamp(min=0.0) ** 3 * torch.cos(r * self.embedding[0])
        return (
            self.embedding[data["species"]],
            data["edge_index"][0],
            data["edge_index"][1],
            message,
        )


class WithoutGradient(Network):
    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        h, i, j, m = self.start(data)
        h = layer(h, i, j, m)
        with torch.no_grad():
            scale = torch.sigmoid(layer(h, i, j, m))
        return {"energy": (layer(h, i, j, m) * scale).sum(1)}


class Profiled(Network):
    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        h, i, j, m = self.start(data)
        with torch.autograd.profiler.record_function("layer"):
            h = layer(h, i, j, m)
        return {"energy": self.mix(layer(h, i, j, m)).sum(1)}


class ByElement(Network):
    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        h, i, j, m = self.start(data)
        h = layer(h, i, j, m)
        energy = torch.zeros(h.size(0), dtype=h.dtype)
        for k in range(2):
            chosen = data["species"] == k
            energy[chosen] = self.mix(h[chosen]).sum(1) * (k + 1)
        return {"energy": energy}


class Normalised(Network):
    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        h, i, j, m = self.start(data)
        h = torch.nn.functional.normalize(layer(h, i, j, m), dim=0)
        return {"energy": h.sum(1)}


class PythonConstructs(unittest.TestCase):
    def check(self, network):
        torch.manual_seed(1)
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / "model.pt"
            torch.jit.script(network().eval()).save(str(archive))
            card = make_card(**pair_card(expected_exchanges=None))
            archive.with_suffix(".card.json").write_text(json.dumps(card))
            tool = shutil.which("nvalchemi-spec")
            return subprocess.run(
                [tool, "check", "SPEC_MPNN_HALO", "--archive", str(archive), "--json"],
                capture_output=True,
                text=True,
            )

    def test_accepted_and_right(self):
        for network in (WithoutGradient, Profiled, ByElement):
            with self.subTest(network=network.__name__):
                run = self.check(network)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_refused_with_the_source_line(self):
        run = self.check(Normalised)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertRegex(run.stdout, r"(test_python_constructs|functional)\.py:\d+")


if __name__ == "__main__":
    unittest.main()
