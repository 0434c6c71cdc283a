# SPDX-License-Identifier: GPL-2.0-only
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np
import torch
from support import EXPORTERS, REPOSITORY

# isort: split
from card import read_archive, write_archive
from evaluate import check_reference, default_precision, rattled_rocksalt
from exported import LOADER, QUANTITIES, Exported, FusedArchives, without_library_paths

try:
    import mace_models
    from ase_numbers import calculator_numbers
    from mace.calculators import MACECalculator
    from mace_models import export_mace
except unittest.SkipTest as missing:
    if __name__ == "__main__":
        print(f"SKIPPED: {missing}")
        raise SystemExit(77) from missing
    raise

EXAMPLE = REPOSITORY / "examples" / "lammps" / "nacl-mace"
# name -> (model, head or None, exchanges)
MODELS = {
    "two_layers": (mace_models.two_layers, None, 1),
    "one_layer": (mace_models.one_layer, None, 0),
    "two_heads": (mace_models.two_heads, "r2scan", 1),
    "gated": (mace_models.gated, None, 2),
}


def crystals():
    """Neither is the card's structure: another size; other elements, within pair repulsion."""
    return {
        "nacl64": rattled_rocksalt(repeat=2, seed=11),
        "nao8": rattled_rocksalt(("Na", "O"), 4.1, seed=12, displacement=0.15),
    }


def calculate(checkpoint, head, dtype, atoms):
    """The numbers of mace's own calculator, which loads the checkpoint itself."""
    with warnings.catch_warnings(), default_precision(getattr(torch, dtype)):
        warnings.simplefilter("ignore")
        calculator = MACECalculator(
            model_paths=str(checkpoint), device="cpu", default_dtype=dtype, head=head
        )
        return calculator_numbers(calculator, atoms)


def setUpModule():
    """Make the checkpoints and archives of all models once."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    Exported.folder = Path(folder.name)
    for name, (build, head, _) in MODELS.items():
        torch.save(build(), Exported.folder / f"{name}.model")
        export(name, head, "float64")
    export("two_layers", None, "float32")
    Exported.write_cases(crystals())


def export(name, head, dtype, fused=False):
    words = [str(Exported.folder / f"{name}.model"), "--dtype", dtype]
    words += ["--head", head] if head else []
    words += ["--fused"] if fused else []
    output = Exported.archive(f"{name}_fused" if fused else name, dtype)
    export_mace.main([*words, "--output", str(output)])


class AgainstTheCalculator(Exported):
    def largest_difference(self, name, dtype, case):
        ours = self.in_plugin(self.archive(name, dtype), case)
        theirs = calculate(self.folder / f"{name}.model", MODELS[name][1], dtype, crystals()[case])
        self.assertGreater(np.abs(theirs["forces"]).max(), 1e-2)  # there is something to compare
        return {key: np.abs(ours[key] - theirs[key]).max() for key in QUANTITIES}

    def test_double_precision_agrees_to_rounding(self):
        for name in MODELS:
            for case in crystals():
                found = self.largest_difference(name, "float64", case)
                with self.subTest(name=name, case=case):
                    self.assertLess(max(found.values()), 1e-11, found)

    def test_single_precision_agrees_to_its_rounding(self):
        for case in crystals():
            found = self.largest_difference("two_layers", "float32", case)
            self.assertLess(max(found.values()), 1e-4, found)
            self.assertGreater(found["forces"], 1e-9)  # not the double archive by mistake

    def test_another_head_gives_other_energies(self):
        first = calculate(self.folder / "two_heads.model", "pbe", "float64", crystals()["nao8"])
        ours = self.in_plugin(self.archive("two_heads"), "nao8")

        self.assertGreater(abs(first["energy"] - ours["energy"]), 1e-2)
        self.assertGreater(np.abs(first["forces"] - ours["forces"]).max(), 1e-3)


class Decomposed(Exported):
    def test_validator_passes_every_model_on_three_ranks(self):
        for name in MODELS:
            done = self.validate(self.archive(name))
            with self.subTest(name=name):
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("PASSED", done.stdout)

    def test_validator_refuses_a_card_with_senders_for_receivers(self):
        module, card = read_archive(self.archive("two_layers"))
        card["edges"] = {"list": "full", "receiver_row": 0, "sender_row": 1}
        path = self.folder / "planted.pt"
        write_archive(module, card, str(path))

        done = self.validate(path)

        self.assertEqual(done.returncode, 1, done.stdout)

    def test_lammps_agrees_with_the_undecomposed_model_on_one_to_three_ranks(self):
        for name, ranks in (("two_layers", (1, 2, 3)), ("one_layer", (2,)), ("gated", (3,))):
            for n in ranks:
                found = self.run_case(self.archive(name), "nacl64", n)
                with self.subTest(name=name, ranks=n):
                    for key in ("dE", "dEatom", "dF", "dS"):
                        self.assertLess(found[key], 1e-11, found)
                    self.assertEqual(found["exchanges"]["forward"], MODELS[name][2])

    def test_single_precision_decomposed(self):
        found = self.run_case(self.archive("two_layers", "float32"), "nacl64", 2)

        self.assertLess(found["dF"], 2e-5, found)
        self.assertGreater(found["dF"], 1e-12, found)

    def test_example_runs_and_validates_itself(self):
        shutil.copy(self.archive("two_layers"), self.folder / "mace.pt")

        run = self.run_example(EXAMPLE / "in.nacl", ranks=2, steps=4)

        self.assertIn("Validation by fix check at step 0", run.stdout)
        self.assertIn("1 forward width    64", run.stdout)


class Fused(FusedArchives, Exported):
    """Convolutions by the package's own operator."""

    EXCHANGES = {name: MODELS[name][2] for name in ("two_layers", "gated")}

    @classmethod
    def setUpClass(cls):
        for name in cls.EXCHANGES:
            export(name, MODELS[name][1], "float64", fused=True)


class Archive(Exported):
    def test_card_states_what_the_network_takes(self):
        for name, (_, head, exchanges) in MODELS.items():
            card = read_archive(self.archive(name))[1]
            roles = {key: entry["role"] for key, entry in card["inputs"].items()}

            self.assertEqual(
                roles,
                {
                    "node_attrs": "species_one_hot",
                    "edge_index": "edge_index",
                    "edge_vectors": "edge_vectors",
                },
            )
            self.assertEqual(card["expected_exchanges"], exchanges)
            self.assertEqual((card["cutoff"], card["rows"]), (4.0, "folded"))
            self.assertEqual((card["forces"], card["family"]), ("edge_vectors", "mace"))
            self.assertEqual(card["species"], ["O", "Na", "Cl"])
            middle = f"_{head}" if head else ""
            self.assertEqual(card["name"], f"{name}{middle}_float64")

    def test_reference_notices_species_in_another_order(self):
        module, card = read_archive(self.archive("two_layers"))
        card["species"] = ["O", "Cl", "Na"]

        with self.assertRaisesRegex(RuntimeError, "does not reproduce its reference"):
            check_reference(module, card)

    def test_takes_the_head_named_default_without_being_told(self):
        checkpoint = self.folder / "default_head.model"
        torch.save(mace_models.shifted(heads=["pbe", "Default"]), checkpoint)
        output = self.folder / "default_head.pt"

        export_mace.main([str(checkpoint), "--output", str(output)])

        self.assertEqual(read_archive(output)[1]["name"], "default_head_Default_float64")

    @unittest.skipUnless(importlib.util.find_spec("cuequivariance_torch"), "no cuequivariance")
    def test_form_of_cuequivariance_gives_the_same_archive(self):
        from mace.cli.convert_e3nn_cueq import run as accelerate

        checkpoint, output = self.folder / "accelerated.model", self.folder / "accelerated.pt"
        with default_precision(torch.float64):
            torch.save(accelerate(mace_models.two_layers()), checkpoint)
        loaded = mace_models.mace_checkpoint.unpickle(str(checkpoint))
        self.assertIn("cuequivariance_torch", {type(m).__module__[:20] for m in loaded.modules()})

        export_mace.main([str(checkpoint), "--output", str(output)])

        plain = read_archive(self.archive("two_layers"))[1]["reference"]
        found = read_archive(output)[1]["reference"]
        for key in QUANTITIES:
            difference = np.abs(np.array(plain[key]) - np.array(found[key])).max()
            self.assertLess(difference, 1e-12, key)

    @unittest.skipUnless(os.path.exists(LOADER), f"no dynamic loader {LOADER}")
    def test_runs_from_its_environment_alone_without_the_loader_cache(self):
        output = self.folder / "isolated.pt"
        run = subprocess.run(
            [
                LOADER,
                "--inhibit-cache",
                sys.executable,
                EXPORTERS / "export_mace.py",
                self.folder / "one_layer.model",
                "--output",
                output,
            ],
            env=dict(without_library_paths(), PATH="/usr/bin:/bin", CUDA_VISIBLE_DEVICES=""),
            capture_output=True,
            text=True,
            timeout=300,
        )

        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(read_archive(output)[1], read_archive(self.archive("one_layer"))[1])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
