# SPDX-License-Identifier: GPL-2.0-only
"""What tests of exporters do with an archive once it is written: evaluate it in the plugin,
validate it, and run it in LAMMPS on several ranks."""

import json
import os
import subprocess
import unittest
from pathlib import Path

import numpy as np
from support import REPOSITORY

# isort: split
from card import read_archive

LOADER = "/lib64/ld-linux-x86-64.so.2"
QUANTITIES = ("energy", "energies", "forces", "stress")


def tool(*words):
    """Run a tool of the build, or a script of the repository."""
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600)


def without_library_paths():
    """The environment of a run that has to find its libraries by itself."""
    return {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "CUDA_HOME")}


def symmetrized(stress):
    """Packages strain symmetrically. Rounded to single precision, the constants of a network leave
    it not exactly invariant under rotations, and its stress an antisymmetric part."""
    return (stress + stress.T) / 2


class Exported(unittest.TestCase):
    """What the tests share: the folder of checkpoints, archives and cases, and the tools."""

    folder = Path()

    @classmethod
    def archive(cls, name, dtype="float64"):
        return cls.folder / f"{name}_{dtype}.pt"

    @classmethod
    def write_cases(cls, cases):
        for name, atoms in cases.items():
            (cls.folder / f"{name}.json").write_text(json.dumps(atoms))

    def in_plugin(self, archive, case):
        """Energy, energies, forces and stress as the plugin computes them, undecomposed."""
        done = self.evaluate_file(archive, self.folder / f"{case}.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {key: np.array(json.loads(done.stdout)[key]) for key in QUANTITIES}
        found["stress"] = symmetrized(found["stress"])
        return found

    def evaluate_file(self, archive, structure):
        return tool("nvalchemi-evaluate", "--archive", archive, "--structure", structure)

    def validate(self, archive, case="nacl64"):
        structure = self.folder / f"{case}.json"
        return tool(
            "nvalchemi-validate", "--archive", archive, "--structure", structure, "--ranks", 3
        )

    def run_case(self, archive, case, ranks):
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


class FusedArchives:
    """Of exporters with --fused, beside Exported: archives NAME and NAME_fused of one network."""

    EXCHANGES = {}  # name -> exchanges forward

    def test_gives_the_numbers_of_the_archive_without(self):
        for name in self.EXCHANGES:
            plain, fused = self.archive(name), self.archive(f"{name}_fused")
            self.assertNotIn("nvalchemi_lmp", str(read_archive(plain)[0].inlined_graph))
            graph = str(read_archive(fused)[0].inlined_graph)
            self.assertIn("nvalchemi_lmp::tensor_product_convolution", graph)
            expected, found = (self.in_plugin(archive, "nao8") for archive in (plain, fused))
            with self.subTest(name=name):
                for key in QUANTITIES:
                    self.assertLess(np.abs(found[key] - expected[key]).max(), 1e-11, key)

    def test_decomposed_and_validated(self):
        for name in self.EXCHANGES:
            archive = self.archive(f"{name}_fused")
            found = self.run_case(archive, "nacl64", 2)
            done = self.validate(archive)
            with self.subTest(name=name):
                for key in ("dE", "dEatom", "dF", "dS"):
                    self.assertLess(found[key], 1e-11, found)
                self.assertEqual(found["exchanges"]["forward"], self.EXCHANGES[name])
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
