# SPDX-License-Identifier: GPL-2.0-only
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np
import torch
from support import EXPORTERS

# isort: split
from card import read_archive
from evaluate import check_reference, evaluate, rattled_rocksalt
from exported import Exported

try:
    import orb_regressors
    from orb_regressors import export_orb
except unittest.SkipTest as missing:
    if __name__ == "__main__":
        print(f"SKIPPED: {missing}")
        raise SystemExit(77) from missing
    raise

NAME = "orb-v3-conservative-inf-omat"


def crystals():
    """Neither is the card's structure; the second is within the pair repulsion."""
    return {
        "nacl64": rattled_rocksalt(repeat=2, seed=11),
        "oh8": rattled_rocksalt(("H", "O"), 3.0, seed=12, displacement=0.05),
    }


def setUpModule():
    """Make the archives once."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    Exported.folder = Path(folder.name)
    for dtype in ("float64", "float32"):
        model = orb_regressors.regressor(getattr(torch, dtype))
        export_orb.export(model, f"orb_{dtype}", dtype, str(Exported.archive("orb", dtype)))
    Exported.write_cases(crystals())


def calculate(model, atoms, dtype=torch.float64):
    return export_orb.reference_numbers(model, dtype, atoms)


class AgainstTheCalculator(Exported):
    def test_double_precision_agrees_to_rounding(self):
        for case, atoms in crystals().items():
            ours = self.in_plugin(self.archive("orb"), case)
            theirs = calculate(orb_regressors.regressor(), atoms)
            self.assertGreater(np.abs(theirs["forces"]).max(), 1e-4)
            for key, expected in theirs.items():
                with self.subTest(case=case, key=key):
                    self.assertLess(np.abs(ours[key] - expected).max(), 1e-10)

    def test_single_precision_agrees_to_its_rounding(self):
        atoms = crystals()["nacl64"]
        ours = self.in_plugin(self.archive("orb", "float32"), "nacl64")
        theirs = calculate(orb_regressors.regressor(torch.float32), atoms, torch.float32)

        for key in ("forces", "stress"):
            self.assertLess(np.abs(ours[key] - theirs[key]).max(), 1e-5)
        self.assertGreater(np.abs(ours["forces"] - theirs["forces"]).max(), 1e-12)

    def test_other_weights_give_other_forces(self):
        atoms = crystals()["nacl64"]
        other = calculate(orb_regressors.regressor(seed=2), atoms)["forces"]
        ours = evaluate(*read_archive(self.archive("orb")), atoms)["forces"]

        self.assertGreater(np.abs(ours - other).max(), 1e-4)

    def test_neighbours_that_the_package_drops_are_kept(self):
        atoms = crystals()["oh8"]  # 268 neighbours of each atom
        dropped = calculate(orb_regressors.regressor(neighbors=120), atoms)["forces"]
        ours = evaluate(*read_archive(self.archive("orb")), atoms)["forces"]

        self.assertGreater(np.abs(ours - dropped).max(), 1e-6)


class Decomposed(Exported):
    def test_validator_passes_on_three_ranks(self):
        done = self.validate(self.archive("orb"))

        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("PASSED", done.stdout)
        for exchange in ("halo_correct, width 8", "halo_forward, width 8", "system_sum, width 8"):
            self.assertIn(exchange, done.stdout)

    def test_lammps_agrees_with_the_undecomposed_model_on_one_to_three_ranks(self):
        for ranks in (1, 2, 3):
            found = self.run_case(self.archive("orb"), "nacl64", ranks)
            with self.subTest(ranks=ranks):
                for key in ("dE", "dEatom", "dF", "dS"):
                    self.assertLess(found[key], 1e-10, found)


class Archive(Exported):
    def test_card_states_what_the_network_takes(self):
        card = read_archive(self.archive("orb"))[1]

        self.assertEqual((card["family"], card["cutoff"], card["rows"]), ("orb", 6.0, "folded"))
        self.assertEqual((card["species"][0], card["species"][-1]), ("H", "Ts"))
        self.assertEqual(card["species_index"], list(range(1, 118)))
        self.assertEqual(card["edges"]["receiver_row"], 1)
        self.assertNotIn("energies", card["reference"])

    def test_reference_notices_species_in_another_order(self):
        module, card = read_archive(self.archive("orb"))
        card["species_index"] = list(range(117, 0, -1))

        with self.assertRaisesRegex(RuntimeError, "does not reproduce its reference"):
            check_reference(module, card)


class Weights(Exported):
    """A file of weights as orb-models publishes them, of the whole size, with random numbers."""

    def test_are_read_from_a_file(self):
        path = self.folder / "weights.ckpt"
        output = self.folder / "whole.pt"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(4)
            torch.save(orb_regressors.orb_v3_conservative_architecture().state_dict(), path)
            export_orb.main([str(path), "--output", str(output)])

        card = read_archive(output)[1]
        self.assertEqual((card["name"], card["cutoff"]), ("weights_float64", 6.0))


class Refusals(unittest.TestCase):
    def refuse(self, text, call, *arguments):
        with self.assertRaises(ValueError) as caught:
            call(*arguments)
        self.assertIn(text, str(caught.exception))

    def test_models_that_cannot_be_exported(self):
        build = orb_regressors.regressor
        for model, text in (
            (orb_regressors.direct(), "x predicts forces directly, expected a conservative model"),
            (build(has_charge_spin_cond=True), "x takes the total charge and spin beside the"),
            (build(neighbors=20), "x keeps the nearest 20 neighbours of each atom, expected a"),
        ):
            self.refuse(text, export_orb.refuse_what_cannot_be_exported, "x", model)

    def test_layers_of_another_kind(self):
        model = orb_regressors.regressor()
        model.model.gnn_stacks[0]._attention_gate = "softmax"

        self.refuse(
            "x differs from orb-v3 in gates of edges",
            export_orb.refuse_what_cannot_be_exported,
            "x",
            model,
        )

    def test_unknown_name(self):
        self.refuse(
            "--model: got 'orb', expected one of orb-v3-conservative-omol, ",
            export_orb.load_regressor,
            "orb",
            "x.ckpt",
            torch.float64,
        )

    def test_no_file(self):
        self.refuse(
            "WEIGHTS: x.ckpt is not a file; expected the weights of orb-v3-conservative-inf-omat",
            export_orb.load_regressor,
            NAME,
            "x.ckpt",
            torch.float64,
        )

    def test_weights_of_another_model(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/other.ckpt"
            torch.save(torch.nn.Linear(2, 2).state_dict(), path)
            self.refuse(
                f"{path} cannot be loaded into {NAME} (RuntimeError: Missing key",
                export_orb.load_regressor,
                NAME,
                path,
                torch.float64,
            )

    def test_missing_package_says_which_command_makes_the_environment(self):
        run = subprocess.run(
            [sys.executable, "-S", EXPORTERS / "export_orb.py", "x.ckpt"],
            capture_output=True,
            text=True,
        )

        self.assertEqual(run.returncode, 1)
        self.assertIn("needs the PyPI package orb-models==0.5.5", run.stderr)
        self.assertIn("'nvalchemi-export orb --make-environment' makes one", run.stderr)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
