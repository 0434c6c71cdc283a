# SPDX-License-Identifier: GPL-2.0-only
import copy
import json
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
from evaluate import evaluate, rattled_rocksalt
from exported import Exported

try:
    import export_sevennet
    import sevenn._const
    import sevenn.util
    from sevenn.calculator import SevenNetCalculator
    from sevenn.model_build import build_E3_equivariant_model
except SystemExit as missing:
    if __name__ == "__main__":
        print(f"SKIPPED: {missing}")
        raise SystemExit(77) from missing
    raise unittest.SkipTest(str(missing)) from missing

LOADER = "/lib64/ld-linux-x86-64.so.2"


def calculator(dtype):
    """The package's own calculator of the packaged SevenNet-0."""
    return export_sevennet.package_calculator(*export_sevennet.load_network("7net-0", dtype), dtype)


class OtherCheckpoints(Exported):
    """The other checkpoints of the wheel, each fidelity of those that have two, and one by path."""

    MODELS = (
        ("7net-0_22may2024", None, "sevennet_0_22may2024_float64", 4),
        ("7net-l3i5", None, "sevennet_l3i5_float64", 4),
        ("7net-mf-0", "PBE", "sevennet_mf_0_PBE_float64", 4),
        (sevenn._const.SEVENNET_MF_0, "R2SCAN", "checkpoint_sevennet_mf_0_R2SCAN_float64", 4),
    )

    def test_agree_with_the_calculator_that_reads_the_checkpoint_itself(self):
        atoms, seen = rattled_rocksalt(("Mg", "O"), 4.2, seed=12), []
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for model, modal, name, exchanges in self.MODELS:
            path = str(Path(folder.name) / "other.pt")
            words = ["--modal", modal] if modal else []
            named = [model] if Path(model).is_file() else ["--model", model]
            export_sevennet.main([*named, *words, "--output", path])
            module, card = read_archive(path)

            ours = evaluate(module, card, atoms)
            theirs = export_sevennet.calculator_numbers(
                SevenNetCalculator(model, device="cpu", modal=modal), atoms
            )

            self.assertEqual((card["name"], card["expected_exchanges"]), (name, exchanges))
            for key in ("energy", "energies", "forces", "stress"):
                with self.subTest(model=model, modal=modal, key=key):
                    scale = np.abs(theirs[key]).max()
                    # the calculator computes in single precision
                    self.assertLess(np.abs(ours[key] - theirs[key]).max() / scale, 2e-5)
            # no two of them are the same model
            self.assertTrue(all(np.abs(ours["forces"] - f).max() > 1e-3 for f in seen))
            seen.append(ours["forces"])
        self.validate_last(folder, path)

    def validate_last(self, folder, path):
        """The archive of one fidelity is divided as that of any other SevenNet."""
        type(self).folder = Path(folder.name)
        self.write_cases({"nacl8": rattled_rocksalt(repeat=1, seed=11)})

        done = self.validate(path, "nacl8")

        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("exchanges: 4 forward in the model", done.stdout)


def write_multi_task_checkpoint(path, tasks, **uses):
    """A small network of random weights, trained on `tasks` as far as its form goes."""
    config = copy.deepcopy(sevenn.util.load_checkpoint("7net-mf-0").config)
    species = {17: 0, 12: 1, 11: 2}  # atomic number: index
    forms = ("node_embedding", "self_inter_intro", "self_inter_outro", "output_block")
    config |= {f"use_modal_{form}": uses.get(form, False) for form in forms}
    config |= {"channel": 4, "lmax": 1, "num_convolution_layer": 2, "irreps_manual": False}
    config |= {"_type_map": species, "_atomic_numbers": list(species), "_number_of_species": 3}
    config |= {"_modal_map": {task: k for k, task in enumerate(tasks)}}
    config["_number_of_modalities"] = len(tasks)
    config["use_modal_wise_shift"] = config["use_modal_wise_scale"] = uses.get("shifts", False)
    for key, start in (("shift", -1.0), ("scale", 1.5)):
        rows = [[start + 0.1 * row + 0.01 * k for k in range(3)] for row in range(len(tasks))]
        config[key] = rows if uses.get("shifts", False) else rows[0]
    torch.manual_seed(3)
    weights = build_E3_equivariant_model(config).state_dict()
    torch.save({"config": config, "model_state_dict": weights, "epoch": 0}, path)


class MultiTask(unittest.TestCase):
    """Checkpoints of several tasks, in each form that the package has for what differs in them."""

    EVERYWHERE = dict.fromkeys(
        ("node_embedding", "self_inter_intro", "self_inter_outro", "output_block", "shifts"), True
    )

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.checkpoint, self.archive = f"{folder}/tasks.pth", f"{folder}/out.pt"

    def export(self, *words):
        export_sevennet.main([self.checkpoint, *words, "--output", self.archive])
        return read_archive(self.archive)

    def test_each_task_agrees_with_the_packages_calculator(self):
        atoms = rattled_rocksalt(seed=12)
        for tasks, uses in (
            (("mpa", "omat24", "matpes_r2scan"), self.EVERYWHERE),
            (("mpa", "omat24"), {"shifts": True}),
            (("mpa", "omat24"), {"node_embedding": True}),
        ):
            write_multi_task_checkpoint(self.checkpoint, tasks, **uses)
            energies = set()
            for task in tasks:
                ours = evaluate(*self.export("--modal", task), atoms)
                theirs = export_sevennet.calculator_numbers(
                    SevenNetCalculator(self.checkpoint, device="cpu", modal=task), atoms
                )
                for key in ("energy", "energies", "forces", "stress"):
                    with self.subTest(task=task, uses=uses, key=key):
                        # the calculator computes in single precision
                        scale = max(np.abs(theirs[key]).max(), 1e-3)
                        self.assertLess(np.abs(ours[key] - theirs[key]).max() / scale, 2e-5)
                energies.add(round(float(ours["energy"]), 6))
            self.assertEqual(len(energies), len(tasks), "tasks that differ in nothing")

    def test_names_the_tasks(self):
        write_multi_task_checkpoint(self.checkpoint, ("mpa", "omat24"), shifts=True)
        for words, got in (((), "not given"), (("--modal", "pbe"), "got 'pbe'")):
            with self.assertRaisesRegex(
                ValueError, f"--modal: {got}, expected one of mpa, omat24 for '.*tasks.pth'"
            ):
                self.export(*words)

    def test_the_name_tells_the_task(self):
        write_multi_task_checkpoint(self.checkpoint, ("mpa", "omat24"), shifts=True)

        self.assertEqual(self.export("--modal", "omat24")[1]["name"], "tasks_omat24_float64")


class ExportSevenNet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder, cls.archives = folder.name, {}
        for dtype in ("float64", "float32"):
            path = str(Path(folder.name) / f"{dtype}.pt")
            export_sevennet.main(["--dtype", dtype, "--output", path])
            cls.archives[dtype] = read_archive(path)

    def deviations(self, dtype, atoms):
        """Largest deviation from the package's calculator, relative to the largest value."""
        module, card = self.archives[dtype]
        ours = evaluate(module, card, atoms)
        theirs = export_sevennet.calculator_numbers(calculator(getattr(torch, dtype)), atoms)
        return {k: np.abs(ours[k] - theirs[k]).max() / np.abs(theirs[k]).max() for k in theirs}

    def test_agrees_with_the_packages_calculator_to_rounding(self):
        # Structures that differ from the one in the card: another size, other elements.
        structures = (
            rattled_rocksalt(repeat=2, seed=11),
            rattled_rocksalt(("Mg", "O"), 4.2, seed=12),
        )
        for dtype, allowed in (("float64", 1e-11), ("float32", 2e-5)):
            for atoms in structures:
                for quantity, deviation in self.deviations(dtype, atoms).items():
                    # Trained in single precision, the network is not exactly invariant under
                    # rotations, so that its stress has an antisymmetric part, which the
                    # calculator drops.
                    bar = 10 * allowed if quantity == "stress" else allowed
                    self.assertLess(deviation, bar, (dtype, quantity))

    def test_float32_differs_from_float64_so_that_both_comparisons_mean_something(self):
        atoms = rattled_rocksalt(repeat=2, seed=11)
        wide = evaluate(*self.archives["float64"], atoms)["forces"]
        narrow = evaluate(*self.archives["float32"], atoms)["forces"]

        self.assertGreater(np.abs(wide - narrow).max(), 1e-8)

    def test_card_states_what_the_network_takes(self):
        card = self.archives["float64"][1]

        self.assertEqual(
            card["inputs"],
            {
                "x": {"role": "species_index"},
                "edge_index": {"role": "edge_index"},
                "edge_vec": {"role": "edge_vectors"},
            },
        )
        self.assertEqual(
            (card["cutoff"], card["expected_exchanges"], card["forces"]), (5.0, 4, "edge_vectors")
        )
        self.assertEqual(len(card["species"]), 89)

    def test_network_ends_at_atomic_energies_and_differentiates_nothing(self):
        for module, _ in self.archives.values():
            graph = str(module.inlined_graph)
            self.assertIn("nvalchemi_lmp::tensor_product_convolution", graph)
            self.assertNotIn("aten::scatter_reduce_", graph)
            for absent in (
                "aten::grad",
                "aten::requires_grad_",
                "inferred_total_energy",
                "aten::cpu",
            ):
                self.assertNotIn(absent, graph)

    def test_without_fused_convolutions_it_is_the_same_network(self):
        path = str(Path(self.folder) / "no_fused.pt")
        export_sevennet.main(["--no-fused", "--output", path])
        atoms = rattled_rocksalt(repeat=2, seed=11)
        module, card = read_archive(path)

        ours, expected = evaluate(module, card, atoms), evaluate(*self.archives["float64"], atoms)

        self.assertIn("aten::scatter_reduce_", str(module.inlined_graph))
        self.assertNotIn("nvalchemi_lmp", str(module.inlined_graph))
        self.assertEqual({**self.archives["float64"][1], "spec": None}, {**card, "spec": None})
        self.assertNotIn("spec", card)
        for quantity, values in expected.items():
            np.testing.assert_allclose(ours[quantity], values, rtol=0, atol=1e-12)

    def test_equals_the_handed_archive(self):
        if "NVALCHEMI_FIXTURES" not in os.environ:
            self.skipTest(
                "NVALCHEMI_FIXTURES: not set, no archive of another exporter to compare with"
            )
        models = Path(os.environ["NVALCHEMI_FIXTURES"]) / "models"
        module, card = self.archives["float64"]
        for case in ("nacl64", "si64"):
            atoms = json.loads((models / f"sevennet_0_{case}.json").read_text())

            ours = evaluate(module, card, atoms)

            for quantity in ("energy", "energies", "forces", "stress"):
                np.testing.assert_allclose(ours[quantity], atoms[quantity], rtol=0, atol=1e-12)

    def test_refuses_a_model_that_is_neither_packaged_nor_a_file(self):
        text = "got the model '7net-omni', expected --model with one of 7net-0"
        with self.assertRaisesRegex(ValueError, text):
            export_sevennet.load_network("7net-omni", torch.float64)

    def test_refuses_a_fidelity_that_the_model_has_not(self):
        for model, modal, text in (
            ("7net-mf-0", None, "--modal: not given, expected one of PBE, R2SCAN"),
            ("7net-mf-0", "SCAN", "--modal: got 'SCAN', expected one of PBE, R2SCAN"),
            ("7net-0", "PBE", "--modal: got 'PBE', but '7net-0' knows one fidelity alone"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                export_sevennet.load_network(model, torch.float64, modal)

    @unittest.skipUnless(os.path.exists(LOADER), f"no dynamic loader {LOADER}")
    def test_runs_from_its_environment_alone_without_the_loader_cache(self):
        path = str(Path(self.folder) / "isolated.pt")
        command = [
            LOADER,
            "--inhibit-cache",
            sys.executable,
            str(EXPORTERS / "export_sevennet.py"),
            "--output",
            path,
        ]
        bare = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "CUDA_HOME")}

        run = subprocess.run(
            command,
            env=dict(bare, PATH="/usr/bin:/bin", CUDA_VISIBLE_DEVICES=""),
            capture_output=True,
            text=True,
            timeout=300,
        )

        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(os.path.exists(path))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
