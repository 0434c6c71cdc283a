# SPDX-License-Identifier: GPL-2.0-only
import contextlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
import torch
from support import ARCHIVES, EXPORTERS, REPOSITORY

# isort: split
from evaluate import evaluate, rattled_rocksalt, structure
from exported import QUANTITIES, Exported, tool

try:
    import export_d3
except SystemExit as missing:
    if __name__ == "__main__":
        print(f"SKIPPED: {missing}")
        raise SystemExit(77) from missing
    raise unittest.SkipTest(str(missing)) from missing

EXAMPLES = REPOSITORY / "examples" / "lammps"
NETWORK = EXAMPLES / "minimal" / "example_network.pt"
CUTOFF, CN_CUTOFF = 9.0, 7.0  # of the cases
NACL = [11, 17]


def models(
    functional="pbe", damping="bj", elements=NACL, cutoff=CUTOFF, cn_cutoff=CN_CUTOFF, fused=True
):
    """(the exported model, the package's function, their card)."""
    tables = export_d3.package_tables()
    parameters = export_d3.damping_parameters(damping, functional, tz=False)
    settings = (tables, elements, damping, parameters, cutoff, cn_cutoff)
    card = export_d3.dispersion_card("d3", elements, cutoff, "float64", fused)
    return export_d3.dispersion(*settings, fused), export_d3.PackageDispersion(*settings), card


def largest_differences(functional, damping, atoms, **options):
    ours, theirs, card = models(functional, damping, **options)
    ours, theirs = (evaluate(model, card, atoms) for model in (ours, theirs))
    return {key: np.abs(ours[key] - theirs[key]).max() for key in ("energy", "forces", "stress")}


class AgainstThePackage(unittest.TestCase):
    """Bar: 1e-9 eV. Asked here: rounding."""

    def test_every_functional_of_every_damping(self):
        atoms = rattled_rocksalt()
        seen = 0
        for damping in export_d3.DAMPINGS:
            for functional in export_d3.functionals(damping):
                with self.subTest(functional=functional, damping=damping):
                    found = largest_differences(functional, damping, atoms)
                    self.assertLess(max(found.values()), 1e-11, found)
                    seen += 1
        self.assertEqual(seen, 120)  # of torch-dftd 0.5.3: 56, 8, 48 and 8

    def test_torchs_operators_as_well(self):
        atoms = rattled_rocksalt()
        for damping in export_d3.DAMPINGS:
            with self.subTest(damping=damping):
                found = largest_differences("pbe", damping, atoms, fused=False)
                self.assertLess(max(found.values()), 1e-11, found)

    def test_every_element(self):
        rng = np.random.default_rng(5)
        symbols = export_d3.chemical_symbols[1:95]
        sites = np.array([(x, y, z) for x in range(5) for y in range(5) for z in range(4)])[:94]
        positions = 2.6 * sites + rng.normal(scale=0.2, size=(94, 3))
        atoms = structure(symbols, positions, np.diag([13.0, 13.0, 10.4]))
        for damping in export_d3.DAMPINGS:
            with self.subTest(damping=damping):
                found = largest_differences("pbe", damping, atoms, elements=list(range(1, 95)))
                self.assertLess(max(found.values()), 1e-10, found)

    def test_forces_and_stress_are_slopes_of_the_package_energy(self):
        atoms, step = rattled_rocksalt(seed=3), 1e-5
        ours, theirs, card = models()
        found = evaluate(ours, card, atoms)

        def energy(positions, cell):
            moved = dict(atoms, positions=positions.tolist(), cell=cell.tolist())
            return evaluate(theirs, card, moved)["energy"]

        x, cell = np.array(atoms["positions"]), np.array(atoms["cell"])
        for atom, axis in ((0, 0), (3, 1), (6, 2)):
            move = np.zeros_like(x)
            move[atom, axis] = step
            slope = (energy(x + move, cell) - energy(x - move, cell)) / (2 * step)
            self.assertAlmostEqual(found["forces"][atom, axis] / -slope, 1.0, delta=1e-6)
        for a, b in ((0, 0), (1, 2)):
            strain = np.zeros((3, 3))
            strain[a, b] = strain[b, a] = step / (1 if a == b else 2)
            plus, minus = np.eye(3) + strain, np.eye(3) - strain
            slope = (energy(x @ plus, cell @ plus) - energy(x @ minus, cell @ minus)) / (2 * step)
            stress = slope / abs(np.linalg.det(cell))
            self.assertAlmostEqual(found["stress"][a, b] / stress, 1.0, delta=1e-6)

    def test_another_functional_and_no_smoothing_are_noticed(self):
        atoms = rattled_rocksalt()
        ours, theirs, card = models()
        energy = evaluate(ours, card, atoms)["energy"]
        other = evaluate(models("pbesol")[0], card, atoms)["energy"]
        self.assertGreater(abs(energy - other), 1e-2)

        original = export_d3.edisp
        export_d3.edisp = lambda *words, **options: original(
            *words, **dict(options, cutoff_smoothing="none")
        )
        try:
            sharp = evaluate(theirs, card, atoms)["energy"]
        finally:
            export_d3.edisp = original
        self.assertGreater(abs(energy - sharp), 1e-4)


class Fused(unittest.TestCase):
    """The two operators against torch's, on edges in any order and all elements."""

    @staticmethod
    def inputs(seed=4, rows=95, edges=6000):
        random = torch.Generator().manual_seed(seed)
        directions = torch.randn(edges, 3, generator=random, dtype=torch.float64)
        lengths = 1.2 + 9 * torch.rand(edges, 1, generator=random, dtype=torch.float64)
        return {
            "edge_vectors": directions / directions.norm(dim=1, keepdim=True) * lengths,
            "edge_index": torch.randint(0, rows - 1, (2, edges), generator=random),
            "species": torch.arange(rows) % 94,
        }

    def derivatives(self, damping, fused):
        """Outputs, and the gradient of a sum of energies with factors at random."""
        model = models(damping=damping, elements=list(range(1, 95)), fused=fused)[0]
        data = self.inputs()
        data["edge_vectors"].requires_grad_()
        outputs = torch.jit.script(model)(data)
        random = torch.Generator().manual_seed(6)
        factors = torch.randn(95, generator=random, dtype=torch.float64)
        total = (outputs["atomic_energies"] * factors).sum()
        (gradient,) = torch.autograd.grad(total, data["edge_vectors"])
        return [outputs["atomic_energies"], outputs["coordination_numbers"], gradient]

    def test_equals_torchs_operators(self):
        for damping in export_d3.DAMPINGS:
            fused, plain = (self.derivatives(damping, fused) for fused in (True, False))
            for found, expected in zip(fused, plain, strict=True):
                with self.subTest(damping=damping, shape=tuple(expected.shape)):
                    difference = (found - expected).abs().max() / expected.abs().max()
                    self.assertLess(difference.item(), 1e-12)

    def test_another_damping_is_seen(self):
        found, expected = (self.derivatives(damping, True)[2] for damping in ("bj", "bjm"))
        self.assertGreater(((found - expected).abs().max() / expected.abs().max()).item(), 1e-3)

    def test_archive_says_whether_it_needs_the_operators(self):
        names = ["nvalchemi_lmp::d3_coordination_numbers", "nvalchemi_lmp::d3_energies"]
        for fused in (True, False):
            model, _, card = models(fused=fused)
            declared = [adapter["op"] for adapter in card["spec"]["core"]["custom_ops"]]
            graph = str(torch.jit.script(model).inlined_graph)
            with self.subTest(fused=fused):
                self.assertEqual(declared, names if fused else [])
                self.assertEqual([name in graph for name in names], [fused, fused])

    def test_missing_library_says_what_to_do(self):
        def missing():
            raise ImportError("nvalchemi_lmp: got no file")

        with unittest.mock.patch("dispersion_d3.load_operators", missing):
            with self.assertRaisesRegex(
                ImportError, "got no file; --no-fused exports without this package's operators"
            ):
                models()
            models(fused=False)


class Smoothness(unittest.TestCase):
    def test_energy_and_force_vanish_at_the_cutoff(self):
        ours, _, card = models()

        def dimer(r):
            atoms = structure(["Na", "Cl"], [[0, 0, 0], [r, 0, 0]], np.eye(3) * 40, [False] * 3)
            numbers = evaluate(ours, card, atoms)
            return numbers["energy"], numbers["forces"][0, 0]

        energy, force = dimer(CUTOFF - 1e-4)
        self.assertLess(abs(energy), 1e-12)
        self.assertLess(abs(force), 1e-9)
        self.assertGreater(abs(dimer(CUTOFF - 0.3)[1]), 1e-6)
        self.assertEqual(dimer(CUTOFF + 1e-4), (0.0, 0.0))


class InThePlugin(Exported):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cutoffs = ["--cutoff", str(CUTOFF), "--cn-cutoff", str(CN_CUTOFF)]
        export_d3.main([*cutoffs, "--output", str(cls.folder / "d3.pt")])
        words = ["--elements", "Si", "--no-fused"]
        export_d3.main([*words, *cutoffs, "--output", str(cls.folder / "plain.pt")])
        words = ["--elements", "Na", "Cl", "--dtype", "float32"]
        export_d3.main([*words, *cutoffs, "--output", str(cls.folder / "single.pt")])
        for case in ("si64", "nacl64"):
            shutil.copy(ARCHIVES / f"d3bj_pbe_{case}.json", cls.folder / f"{case}.json")

    def test_cases_have_the_same_numbers(self):
        for case in ("si64", "nacl64"):
            expected = json.loads((self.folder / f"{case}.json").read_text())
            found = self.in_plugin(self.folder / "d3.pt", case)
            with self.subTest(case=case):
                self.assertGreater(np.abs(expected["forces"]).max(), 1e-3)
                for key in QUANTITIES:
                    self.assertLess(np.abs(found[key] - np.array(expected[key])).max(), 1e-11)

    def test_single_precision(self):
        expected = json.loads((self.folder / "nacl64.json").read_text())
        found = self.in_plugin(self.folder / "single.pt", "nacl64")

        self.assertLess(abs(found["energy"] - expected["energy"]), 1e-4)
        self.assertGreater(abs(found["energy"] - expected["energy"]), 1e-10)

    def test_validator_passes_it_on_three_ranks(self):
        done = self.validate(self.folder / "d3.pt")

        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("PASSED", done.stdout)

    def test_one_to_four_ranks_agree_with_one_exchange_each_way(self):
        for name, ranks in (("d3", 1), ("d3", 2), ("d3", 3), ("d3", 4), ("plain", 3)):
            found = self.run_case(self.folder / f"{name}.pt", "si64", ranks)
            with self.subTest(archive=name, ranks=ranks):
                for key in ("dE", "dEatom", "dF", "dS"):
                    self.assertLess(found[key], 1e-11, found)
                self.assertEqual(found["exchanges"], {"forward": 1, "backward": 1})

    def test_example_adds_it_to_a_network(self):
        runs = {}
        for ranks in (1, 3):
            run = self.run_example(
                EXAMPLES / "nacl-d3" / "in.nacl", ranks, 2, ("-var", "network", NETWORK)
            )
            lines = run.stdout.splitlines()
            start = next(k for k, line in enumerate(lines) if "c_dispersion" in line)
            runs[ranks] = np.array([lines[start + 1].split()], dtype=float)[0]

        step, _, potential, _, _, _, of_network, of_dispersion = runs[1]
        self.assertEqual(step, 0)
        self.assertAlmostEqual(potential, of_network + of_dispersion, delta=1e-9)
        self.assertLess(of_dispersion, -5.0)
        self.assertLess(np.abs(runs[1] - runs[3]).max(), 1e-6)  # the pressure is in bar

    def test_example_of_one_archive_for_the_sum(self):
        done = tool(
            "nvalchemi-compose", NETWORK, self.folder / "d3.pt", "-o", self.folder / "sum.pt"
        )
        self.assertEqual(done.returncode, 0, done.stderr)

        run = self.run_example(EXAMPLES / "nacl-composition" / "in.nacl", 2, 2)

        self.assertIn("exchanges per step: 3 forward, 3 reverse", run.stdout)
        self.assertIn("Validation by fix check at step 0", run.stdout)


class Card(unittest.TestCase):
    def test_states_what_the_model_takes(self):
        card = models(elements=[1, 6, 8])[2]

        self.assertEqual(card["species"], ["H", "C", "O"])
        self.assertEqual((card["family"], card["cutoff"], card["rows"]), ("dftd3", 9.0, "folded"))
        self.assertEqual(card["expected_exchanges"], 1)
        self.assertEqual(card["spec"]["core"]["policy"]["kind"], "halo")

    def test_all_elements_unless_told_otherwise(self):
        tables = export_d3.package_tables()

        self.assertEqual(export_d3.chosen_elements(None, tables), list(range(1, 95)))
        self.assertEqual(export_d3.chosen_elements(["Cl", "Na"], tables), NACL)

    def test_list_names_every_damping(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            export_d3.main(["--list"])

        lines = printed.getvalue().splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["bj", "bjm", "zero", "zerom"])
        self.assertIn(" r2scan ", lines[0])


class Refusals(unittest.TestCase):
    def refuse(self, text, *words):
        with self.assertRaises(ValueError) as caught:
            export_d3.main(["--output", "/nowhere/d3.pt", *words])
        self.assertIn(text, str(caught.exception))

    def test_unknown_functional(self):
        self.refuse(
            "--functional: got 'lda', for which torch-dftd has no parameters of --damping bj. "
            "Expected one of b-lyp, b-p",
            "--functional",
            "lda",
        )

    def test_functional_of_another_damping(self):
        self.refuse(
            "no parameters of --damping bjm; it has them for --damping bj. Expected",
            *("--functional", "r2scan", "--damping", "bjm"),
        )

    def test_triple_zeta_parameters_of_another_damping(self):
        self.refuse("--tz: got --damping bj, expected zero", "--tz")

    def test_elements(self):
        self.refuse("--elements: got 'Am', expected symbols from H to Pu", "--elements", "Am")
        self.refuse("--elements: got 'X', expected", "--elements", "X")
        self.refuse("got Na Na, expected each symbol once", "--elements", "Na", "Na")

    def test_cutoffs(self):
        for words in (("--cn-cutoff", "13"), ("--cn-cutoff", "0.5"), ("--cutoff", "8")):
            self.refuse("--cn-cutoff: got", *words)

    def test_tables_whose_reference_systems_depend_on_the_pair(self):
        tables = export_d3.package_tables()
        tables["c6ab"][11, 17, 0, 0, 1] += 0.1

        with self.assertRaisesRegex(RuntimeError, "differ from pair to pair of elements"):
            export_d3.element_tables(tables, NACL)

    def test_missing_package_says_which_command_makes_the_environment(self):
        run = subprocess.run(
            [sys.executable, "-S", EXPORTERS / "export_d3.py"], capture_output=True, text=True
        )

        self.assertEqual(run.returncode, 1)
        self.assertIn("needs the PyPI package torch-dftd==0.5.3", run.stderr)
        self.assertIn("'nvalchemi-export d3 --make-environment' makes one", run.stderr)


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main(warnings="ignore")
