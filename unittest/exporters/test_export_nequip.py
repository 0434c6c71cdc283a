# SPDX-License-Identifier: GPL-2.0-only
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from support import EXPORTERS

# isort: split
from card import read_archive
from evaluate import check_reference, rattled_rocksalt
from exported import LOADER, QUANTITIES, Exported, FusedArchives, without_library_paths

try:
    import nequip_models
    from ase_numbers import calculator_numbers
    from nequip.integrations.ase import NequIPCalculator
    from nequip_models import export_nequip
except unittest.SkipTest as missing:
    if __name__ == "__main__":
        print(f"SKIPPED: {missing}")
        raise SystemExit(77) from missing
    raise

# name -> (file, family, exchanges). The package is of a model in single precision.
MODELS = {
    "nequip": ("nequip.ckpt", "nequip", 2),
    "allegro": ("allegro.ckpt", "allegro", 0),
    "packaged": ("packaged.nequip.zip", "nequip", 1),
}


def crystals():
    """Neither is the card's structure: another size; other elements, within pair repulsion."""
    return {
        "nacl64": rattled_rocksalt(repeat=2, seed=11),
        "nao8": rattled_rocksalt(("Na", "O"), 4.1, seed=12, displacement=0.15),
    }


def calculate(name, atoms):
    """The numbers of nequip's own calculator, which loads the file itself."""
    with nequip_models.quiet():
        calculator = NequIPCalculator._from_saved_model(str(Exported.folder / MODELS[name][0]))
    return calculator_numbers(calculator, atoms)


def export(name, dtype, fused=False):
    words = [str(Exported.folder / MODELS[name][0]), "--dtype", dtype]
    words += ["--fused"] if fused else []
    output = Exported.archive(f"{name}_fused" if fused else name, dtype)
    with nequip_models.quiet():
        export_nequip.main([*words, "--output", str(output)])


def setUpModule():
    """Make the files and archives of all models once."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    Exported.folder = Path(folder.name)
    single = nequip_models.nequip(num_layers=2, pair_potential=None, model_dtype="float32")
    nequip_models.save_checkpoint(nequip_models.nequip(), Exported.folder / "nequip.ckpt")
    nequip_models.save_checkpoint(
        nequip_models.allegro(), Exported.folder / "allegro.ckpt", averaged=True
    )
    nequip_models.save_package(single, Exported.folder / "packaged.nequip.zip")
    for name in MODELS:
        export(name, "float64")
    export("packaged", "float32")
    Exported.write_cases(crystals())


class AgainstTheCalculator(Exported):
    def largest_difference(self, name, dtype, case):
        ours = self.in_plugin(self.archive(name, dtype), case)
        theirs = calculate(name, crystals()[case])
        self.assertGreater(np.abs(theirs["forces"]).max(), 1e-2)  # there is something to compare
        return {key: np.abs(ours[key] - theirs[key]).max() for key in QUANTITIES}

    def test_double_precision_agrees_to_rounding(self):
        for name in ("nequip", "allegro"):
            for case in crystals():
                found = self.largest_difference(name, "float64", case)
                with self.subTest(name=name, case=case):
                    self.assertLess(max(found.values()), 1e-11, found)

    def test_single_precision_agrees_to_its_rounding(self):
        for dtype in ("float32", "float64"):  # of the archive; the model is in single precision
            found = self.largest_difference("packaged", dtype, "nacl64")
            self.assertLess(max(found.values()), 2e-4, found)
            self.assertGreater(found["forces"], 1e-10)


class Decomposed(Exported):
    def test_validator_passes_every_model_on_three_ranks(self):
        for name in MODELS:
            done = self.validate(self.archive(name))
            with self.subTest(name=name):
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("PASSED", done.stdout)

    def test_lammps_agrees_with_the_undecomposed_model_on_one_to_three_ranks(self):
        for name, ranks in (("nequip", (1, 2, 3)), ("allegro", (2, 3)), ("packaged", (2,))):
            for n in ranks:
                found = self.run_case(self.archive(name), "nacl64", n)
                with self.subTest(name=name, ranks=n):
                    for key in ("dE", "dEatom", "dF", "dS"):
                        self.assertLess(found[key], 1e-11, found)
                    self.assertEqual(found["exchanges"]["forward"], MODELS[name][2])

    def test_single_precision_decomposed(self):
        found = self.run_case(self.archive("packaged", "float32"), "nacl64", 2)

        self.assertLess(found["dF"], 1e-4, found)
        self.assertGreater(found["dF"], 1e-12, found)


class Fused(FusedArchives, Exported):
    """Convolutions by the package's own operator."""

    EXCHANGES = {name: MODELS[name][2] for name in ("nequip", "packaged")}

    @classmethod
    def setUpClass(cls):
        for name in cls.EXCHANGES:
            export(name, "float64", fused=True)

    def test_allegro_has_none_to_fuse(self):
        with self.assertRaises(ValueError) as caught:
            export("allegro", "float64", fused=True)
        self.assertEqual(
            str(caught.exception),
            "--fused: got a network without a convolution that could be fused, expected a sum of "
            "tensor products over neighbours (Allegro has none: its layers work within one "
            "neighbourhood); export with --no-fused",
        )


class Archive(Exported):
    def test_card_states_what_the_network_takes(self):
        for name, (_, family, exchanges) in MODELS.items():
            card = read_archive(self.archive(name))[1]
            roles = {key: entry["role"] for key, entry in card["inputs"].items()}

            self.assertEqual(
                roles,
                {
                    "atom_types": "species_index",
                    "edge_index": "edge_index",
                    "edge_vectors": "edge_vectors",
                },
            )
            self.assertEqual(card["expected_exchanges"], exchanges)
            self.assertEqual((card["cutoff"], card["rows"]), (4.0, "folded"))
            self.assertEqual((card["forces"], card["family"]), ("edge_vectors", family))
            self.assertEqual(card["species"], ["O", "Na", "Cl"])
            self.assertEqual(card["name"], f"{name}_float64")

    def test_reference_notices_species_in_another_order(self):
        for name in ("nequip", "allegro"):
            module, card = read_archive(self.archive(name))
            card["species"] = ["O", "Cl", "Na"]

            with self.assertRaisesRegex(RuntimeError, "does not reproduce its reference"):
                check_reference(module, card)

    def test_energies_stay_in_double_precision(self):
        module, card = read_archive(self.archive("packaged", "float32"))
        empty = torch.zeros(0, 3)

        energies = module(
            {
                "atom_types": torch.tensor([1]),
                "edge_index": torch.zeros(2, 0, dtype=torch.int64),
                "edge_vectors": empty,
            }
        )["atomic_energy"]

        self.assertEqual((card["dtype"], energies.dtype), ("float32", torch.float64))
        self.assertEqual(energies.item(), -2.5)  # of an isolated atom, by the model's shift

    def test_model_of_a_file_with_several(self):
        checkpoint, output = self.folder / "two.ckpt", self.folder / "b.pt"
        nequip_models.save_checkpoint(nequip_models.two_models(), checkpoint)

        with nequip_models.quiet():
            export_nequip.main([str(checkpoint), "--model", "b", "--output", str(output)])

        self.assertEqual(read_archive(output)[1]["name"], "two_b_float64")

    @unittest.skipUnless(os.path.exists(LOADER), f"no dynamic loader {LOADER}")
    def test_allegro_by_its_own_command_without_the_loader_cache(self):
        output = self.folder / "isolated.pt"
        script = EXPORTERS / "export_allegro.py"
        words = [self.folder / "allegro.ckpt", "--output", output]
        run = subprocess.run(
            [LOADER, "--inhibit-cache", sys.executable, script, *words],
            env=dict(without_library_paths(), PATH="/usr/bin:/bin", CUDA_VISIBLE_DEVICES=""),
            capture_output=True,
            text=True,
            timeout=600,
        )

        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(read_archive(output)[1], read_archive(self.archive("allegro"))[1])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
