# SPDX-License-Identifier: GPL-2.0-only
"""What the exporter of the NequIP framework refuses, and what it says."""

import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

import torch
from support import EXPORTERS

try:
    import nequip_models
    from nequip_models import export_nequip, nequip_checkpoint
except unittest.SkipTest as missing:
    if __name__ == "__main__":
        print(f"SKIPPED: {missing}")
        raise SystemExit(77) from missing
    raise


class Refusals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "given.ckpt"

    def refuse(self, text, *words, model=None, path=None):
        """Export the file, or the checkpoint of the model, and expect an error with the text."""
        if model is not None:
            nequip_models.save_checkpoint(model, self.path)
        output = self.path.with_suffix(".pt")
        with self.assertRaises(ValueError) as caught, nequip_models.quiet():
            export_nequip.main([str(path or self.path), "--output", str(output), *words])
        self.assertIn(text, str(caught.exception))
        self.assertFalse(output.exists())


class Files(Refusals):
    def test_no_file(self):
        self.refuse("given.ckpt is not a file; expected a checkpoint of nequip's training")

    def test_compiled_models(self):
        for suffix in (".nequip.pth", ".nequip.pt2", ".pth"):
            self.refuse("is a compiled model; give the NAME.ckpt", path=f"x{suffix}")

    def test_name_of_a_model_to_download(self):
        self.refuse(
            "got nequip.net:group/model:1, expected a file: this exporter downloads nothing",
            path="nequip.net:group/model:1",
        )

    def test_file_of_another_kind(self):
        self.path.write_text("not a checkpoint")

        self.refuse("given.ckpt cannot be loaded (UnpicklingError: ")

    def test_damaged_package(self):
        path = self.path.with_name("given.nequip.zip")
        path.write_bytes(b"PK\x03\x04")

        self.refuse("of a version that nequip 0.19.1 reads", path=path)

    def test_checkpoint_of_another_program(self):
        torch.save({"state_dict": {}}, self.path)

        self.refuse("given.ckpt cannot be loaded (KeyError: 'hyper_parameters')")

    def test_package_that_is_not_there(self):
        name = "other_package"
        package = types.ModuleType(name)
        package.Layer = type("Layer", (torch.nn.Linear,), {"__module__": name})
        sys.modules[name] = package
        try:
            torch.save(package.Layer(2, 2), self.path)
        finally:
            del sys.modules[name]

        self.refuse("given.ckpt needs the Python package 'other_package'")

    def test_output_over_the_checkpoint(self):
        self.path.write_text("kept")

        with self.assertRaisesRegex(ValueError, "--output: .* is the checkpoint itself"):
            export_nequip.main([str(self.path), "--output", str(self.path)])

        self.assertEqual(self.path.read_text(), "kept")


class Models(Refusals):
    SMALL = dict(num_layers=1, pair_potential=None)

    def test_names_of_a_file_with_several_models(self):
        two = nequip_models.two_models()

        self.refuse("--model: not given, expected one of a, b", model=two)
        self.refuse("--model: got 'c', expected one of a, b", "--model", "c")

    def test_further_inputs(self):
        charge = [{"field": "charge", "num_features": 2, "min": -1, "max": 1}]

        self.refuse(
            "given.ckpt takes the further inputs charge, expected none beside species",
            model=nequip_models.nequip(categorical_graph_field_embed=charge, **self.SMALL),
        )

    def test_types_that_are_no_elements(self):
        shifts = {"Na": 0.0, "Cl2": 0.0}

        self.refuse(
            "given.ckpt has the types Cl2, expected chemical symbols",
            model=nequip_models.nequip(
                type_names=list(shifts), per_type_energy_shifts=shifts, **self.SMALL
            ),
        )

    def test_network_without_energies_of_atoms(self):
        model = types.SimpleNamespace(model=torch.nn.Linear(2, 2))

        with self.assertRaisesRegex(ValueError, "x.ckpt holds a Linear, expected a model whose"):
            nequip_checkpoint.energy_network("x.ckpt", model)

    def test_code_that_torchscript_refuses(self):
        network = torch.nn.Sequential(torch.nn.Identity())
        network[0].forward = lambda data: [value for value in data.values() if print(value)]
        network.irreps_out = {"atomic_energy": None}
        model = types.SimpleNamespace(model=types.SimpleNamespace(func=network))

        with self.assertRaisesRegex(ValueError, "x.ckpt holds code that TorchScript refuses: "):
            export_nequip.script_network("x.ckpt", model)


class Environment(unittest.TestCase):
    def test_missing_package_says_which_command_makes_the_environment(self):
        for script in ("export_nequip.py", "export_allegro.py"):
            run = subprocess.run(
                [sys.executable, "-S", EXPORTERS / script, "x.ckpt"], capture_output=True, text=True
            )

            self.assertEqual(run.returncode, 1)
            self.assertIn("needs the PyPI packages nequip==0.19.1 and nequip-allegro", run.stderr)
            self.assertIn("'nvalchemi-export nequip --make-environment' makes one", run.stderr)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
