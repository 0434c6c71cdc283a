# SPDX-License-Identifier: GPL-2.0-only
"""What the MACE exporter refuses, and what it says."""

import contextlib
import io
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

import torch
from support import EXPORTERS

try:
    import mace_models
    from mace_models import export_mace, mace_checkpoint
except unittest.SkipTest as missing:
    if __name__ == "__main__":
        print(f"SKIPPED: {missing}")
        raise SystemExit(77) from missing
    raise


class Refusals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "given.model"

    def refuse(self, text, *words, saved=None):
        """Export what was saved, and expect an error with the text."""
        if saved is not None:
            torch.save(saved, self.path)
        output = self.path.with_suffix(".pt")
        with self.assertRaises(ValueError) as caught, contextlib.redirect_stdout(io.StringIO()):
            export_mace.main([str(self.path), "--output", str(output), *words])
        self.assertIn(text, str(caught.exception))
        self.assertFalse(output.exists())

    def save_from_module(self, name):
        """Save a network whose class belongs to a package that is not there when it is loaded."""
        package = types.ModuleType(name)
        package.Layer = type("Layer", (torch.nn.Linear,), {"__module__": name})
        sys.modules[name] = package
        try:
            torch.save(package.Layer(2, 2), self.path)
        finally:
            del sys.modules[name]


class Files(Refusals):
    def test_no_file(self):
        self.refuse("given.model is not a file; expected one that mace saved (NAME.model)")

    def test_file_of_another_kind(self):
        self.path.write_text("not a checkpoint")

        self.refuse("given.model cannot be loaded (UnpicklingError: ")

    def test_damaged_file(self):
        torch.save(torch.zeros(100), self.path)
        self.path.write_bytes(self.path.read_bytes()[:300])

        self.refuse("of a version that mace-torch 0.3.16 reads")

    def test_torchscript(self):
        torch.jit.script(torch.nn.Linear(2, 2)).save(str(self.path))

        self.refuse("is a TorchScript file, as mace writes for other interfaces")

    def test_weights_of_a_training(self):
        saved = {"model": {}, "optimizer": {}, "epoch": 3}

        self.refuse("a dictionary with the keys model, optimizer, epoch, as mace's", saved=saved)

    def test_package_that_is_not_there(self):
        self.save_from_module("other_package")

        self.refuse("given.model needs the Python package 'other_package'")

    def test_output_over_the_checkpoint(self):
        torch.save(torch.zeros(1), self.path)
        before = self.path.read_bytes()

        with self.assertRaisesRegex(ValueError, "--output: .* is the checkpoint itself"):
            export_mace.main([str(self.path), "--output", str(self.path)])

        self.assertEqual(self.path.read_bytes(), before)


class Variants(Refusals):
    def test_dipoles(self):
        self.refuse(
            "is of class AtomicDipolesMACE, expected MACE or ScaleShiftMACE: it predicts dipoles",
            saved=mace_models.dipoles(),
        )

    def test_every_class_that_is_known_by_name(self):
        for name, reason in mace_checkpoint.REFUSED.items():
            model = type(name, (torch.nn.Module,), {})()
            with self.assertRaises(ValueError) as caught:
                mace_checkpoint.refuse_what_cannot_be_exported("x.model", model)
            self.assertIn(f"is of class {name}, expected MACE or", str(caught.exception))
            self.assertIn(reason, str(caught.exception))

    def test_another_network(self):
        self.refuse("is of class Linear, expected MACE", saved=torch.nn.Linear(2, 2))

    def test_further_inputs(self):
        self.refuse("takes the further inputs total_charge", saved=mace_models.charged())


class Heads(Refusals):
    @classmethod
    def setUpClass(cls):
        cls.model = mace_models.two_heads()

    def test_unknown_head(self):
        self.refuse(
            "--head: got 'scan', expected one of pbe, r2scan", "--head", "scan", saved=self.model
        )

    def test_no_head_given_and_none_is_the_default(self):
        self.refuse("--head: not given, expected one of pbe, r2scan", saved=self.model)


class AcceleratedForms(Refusals):
    def test_cuequivariance_that_is_not_installed(self):
        self.save_from_module("cuequivariance_torch")

        self.refuse(
            "holds layers of the library cuequivariance, expected mace's plain form. Install it "
            "here (pip install cuequivariance-torch) and export again, or convert it: "
            f"python -m mace.cli.convert_cueq_e3nn {self.path} --return_model"
        )

    def test_openequivariance_that_is_not_installed(self):
        self.save_from_module("openequivariance")

        self.refuse(
            "Convert it where that library is installed: python -m mace.cli.convert_oeq_e3nn"
        )

    def test_forms_that_mace_does_not_convert(self):
        for library, text in (
            ("openequivariance", "python -m mace.cli.convert_oeq_e3nn"),
            ("cuequivariance_torch", "Train it without enable_cueq"),
        ):
            layer = type("Layer", (torch.nn.Module,), {"__module__": f"{library}.layers"})()
            model = torch.nn.Sequential(layer)
            with self.assertRaises(ValueError) as caught:
                mace_checkpoint.plain_form("x.model", model)
            self.assertIn(text, str(caught.exception))


class Environment(unittest.TestCase):
    def test_missing_package_says_which_command_makes_the_environment(self):
        run = subprocess.run(
            [sys.executable, "-S", EXPORTERS / "export_mace.py", "x.model"],
            capture_output=True,
            text=True,
        )

        self.assertEqual(run.returncode, 1)
        self.assertIn("needs the PyPI package mace-torch==0.3.16", run.stderr)
        self.assertIn("'nvalchemi-export mace --make-environment' makes one", run.stderr)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
