# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of the exporters share: paths, fixtures, the plugin's tools, a pair potential."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np
import torch

REPOSITORY = Path(__file__).resolve().parents[2]
EXPORTERS = REPOSITORY / "potentials" / "exporters"
sys.path.insert(0, str(EXPORTERS))

FIXTURES = Path(os.environ.get("NVALCHEMI_FIXTURES", REPOSITORY.parent / "shared" / "fixtures"))


class PairPotential(torch.nn.Module):
    """0.5 * exp(-r) * (1 - r/rc)^3 for each edge: analytic, smooth, and depends on species."""

    def __init__(self, cutoff: float = 4.0):
        super().__init__()
        self.cutoff = cutoff

    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        r = torch.linalg.vector_norm(data["edge_vectors"], dim=-1)
        pair = 0.5 * torch.exp(-r) * (1.0 - r / self.cutoff).pow(3)
        receiver, sender = data["edge_index"][0], data["edge_index"][1]
        weight = 1.0 + data["species"].to(r.dtype)
        pair = pair * weight[receiver] * weight[sender].square()
        return {"energy": torch.zeros_like(weight).index_add(0, receiver, pair)}


def pair_card(**changes):
    """Arguments of make_card for PairPotential."""
    arguments = dict(
        name="pair",
        family="toy",
        cutoff=4.0,
        dtype="float64",
        species=("Na", "Cl"),
        inputs={
            "species": "species_index",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
        },
        outputs={"energy": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"}},
        forces="edge_vectors",
        expected_exchanges=0,
    )
    arguments.update(changes)
    return arguments


def tool(*words):
    """Run a tool of the build, or a script of the repository."""
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600)


class PluginTools(unittest.TestCase):
    """Runs archives and structures of one folder through the plugin."""

    folder = Path()  # of archives, and of structures, NAME.json
    QUANTITIES = ("energy", "energies", "forces", "stress")

    def in_plugin(self, archive, case):
        """Energy, energies, forces and stress as the plugin computes them, undecomposed."""
        done = tool("nvalchemi-evaluate", archive, "--case", self.folder / f"{case}.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {key: np.array(json.loads(done.stdout)[key]) for key in self.QUANTITIES}
        # Packages strain symmetrically. Rounded to single precision, the constants of a network
        # leave it not exactly invariant under rotations, and its stress an antisymmetric part.
        found["stress"] = (found["stress"] + found["stress"].T) / 2
        return found

    def validate(self, archive, case="nacl64"):
        structure = self.folder / f"{case}.json"
        return tool(
            "nvalchemi-validate", "--archive", archive, "--structure", structure, "--ranks", 3
        )

    def run_case(self, archive, case, ranks):
        """Deviations of LAMMPS on `ranks` ranks from the archive evaluated alone."""
        script = REPOSITORY / "unittest" / "mpi" / "run_case.py"
        words = ("--archive", archive, "--case", self.folder / f"{case}.json", "-n", ranks)
        done = tool("python3", script, *words, "--against", "alone", "--steps", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def run_example(self, example, ranks, steps, variables=()):
        """Run an input of examples/ in the folder; `variables` are further words."""
        lines = example.read_text().splitlines()
        lines = [line for line in lines if not line.startswith("plugin load")]
        (self.folder / example.name).write_text("\n".join(lines) + "\n")
        words = ["mpiexec", "-n", ranks, "lmp", "-in", example.name, "-var", "steps", steps]
        run = subprocess.run(
            [str(word) for word in (*words, *variables, "-log", "none")],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run
