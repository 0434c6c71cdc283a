# SPDX-License-Identifier: GPL-2.0-only
"""Policy graph_parallel: one row for each atom on every rank, the same numbers as with a halo."""

import json
import shutil

import numpy as np
import scripted
import test_finite_differences
from installation import REPOSITORY
from simulation import vectors
from suite import LONG, LammpsTest, Model, main, one_line, scripted_model
from test_charge_equilibration import BARS, boxes, parts

EXAMPLES = REPOSITORY / "examples" / "lammps"
MINIMAL = Model("minimal", str(EXAMPLES / "minimal" / "example_network.pt"), 5.0, 2, None)
REPLICATED = Model(
    "replicated_geometry",
    str(EXAMPLES / "graph_parallel" / "replicated_geometry.pt"),
    5.0,
    2,
    None,
)
GP = "spec SPEC_MPNN_GP"
FORCES = (
    "dump forces all custom 1 forces.dump id fx fy fz",
    "dump_modify forces sort id format float %.17g",
    "run 0",
)


def long_box():
    """Twice as long as wide: on four ranks in a row, half of the atoms are no ghosts of a rank."""
    return boxes()["orthogonal"].repeated((4, 1, 1))


class GraphParallel(LammpsTest):
    def log(self, structure, words, ranks=2, lines=("run 0",), model=MINIMAL, **options):
        settings = model.settings(ranks=ranks, pair_arguments=words, **options)
        return self.run_structure(structure, settings, lines).log

    def assert_forces(self, expected):
        forces = vectors(self.snapshots("forces.dump")[0], "fx fy fz")
        self.assertLess(np.max(abs(forces - expected)), BARS["dF"])

    def refusal(self, words, archive, lines=("run 0",), structure=None):
        structure = structure or boxes()["orthogonal"]
        self.write_structure(structure)
        settings = Model("x", archive, 5.0, 2, None).settings(ranks=2, pair_arguments=words)
        run = self.run_input(self.script(structure, settings, list(lines)), 2)
        self.assertNotEqual(run.status, 0)
        return one_line(run.message)

    def test_numbers_are_those_of_the_archive(self):
        for shape, ranks in parts():
            structure = boxes()[shape]
            alone = self.alone(structure, MINIMAL.settings())
            newton = "off" if ranks == 3 else "on"
            with self.subTest(box=shape, ranks=ranks, newton=newton):
                settings = MINIMAL.settings(ranks=ranks, pair_arguments=GP, newton=newton)
                found = self.decomposed(structure, settings)
                self.assert_within(found.reference, alone, structure.volume, BARS)
                # all-gathered once for each layer but the first, and no more
                self.assertEqual(found.exchanges, {"forward": 2, "backward": 2})

    def test_replicated_geometry(self):
        for shape, ranks in parts():
            structure = boxes()[shape]
            alone = self.alone(structure, MINIMAL.settings())
            for newton in ("on", "off"):
                with self.subTest(box=shape, ranks=ranks, newton=newton):
                    settings = REPLICATED.settings(ranks=ranks, newton=newton)
                    found = self.decomposed(structure, settings)
                    self.assert_within(found.reference, alone, structure.volume, BARS)
                    self.assertEqual(found.exchanges, {"forward": 2, "backward": 2})

    def test_rows_are_those_of_all_atoms(self):
        structure = long_box()
        log = self.log(structure, GP, ranks=4, processors="4 1 1")
        count = len(structure)
        owned = [float(n) for n in log.split("owned ")[1].split(",")[0].split("/")]
        halo = [float(n) for n in log.split(", halo ")[1].split(";")[0].split("/")]
        self.assertAlmostEqual(owned[1] + halo[1], count)
        self.assertAlmostEqual(owned[0] + halo[2], count)
        with_halo = self.log(structure, "spec SPEC_MPNN_HALO", ranks=4, processors="4 1 1")
        fewer = [float(n) for n in with_halo.split(", halo ")[1].split(";")[0].split("/")]
        self.assertLess(fewer[2], halo[0])

    def test_atoms_that_are_no_ghosts(self):
        structure = long_box()
        alone = self.alone(structure, MINIMAL.settings())
        for model, words in ((MINIMAL, GP), (REPLICATED, "")):
            with self.subTest(model=model.name):
                settings = model.settings(ranks=4, pair_arguments=words, processors="4 1 1")
                self.run_structure(structure, settings, FORCES)
                self.assert_forces(alone.forces)

    def test_dynamics_over_reneighbouring(self):
        # atoms move to other ranks: offsets follow
        finals = []
        for words, ranks in (("", 1), (GP, 3)):
            self.log(
                boxes()["tilted"],
                words,
                ranks,
                [
                    "velocity all create 3000.0 12345 loop all",
                    "neigh_modify every 1 delay 0 check no",
                    "fix move all nve",
                    "dump x all custom 20 x.dump id xu yu zu",
                    "dump_modify x sort id format float %.17g",
                    "run 20",
                ],
                skin=0.3,
            )
            finals.append(vectors(self.snapshots("x.dump")[-1], "xu yu zu"))
        self.assertLess(np.max(abs(finals[1] - finals[0])), 1e-9)

    def test_validator_agrees(self):
        for mode in ("gathered", "sampled") if LONG else ("gathered",):
            for model, words in ((MINIMAL, GP), (REPLICATED, "")):
                if mode == "sampled" and model is REPLICATED:
                    continue
                with self.subTest(mode=mode, model=model.name):
                    log = self.log(
                        long_box(),
                        words,
                        4,
                        [
                            f"fix check all nvalchemi/validate mode {mode}",
                            "run 0",
                        ],
                        model,
                        processors="4 1 1",
                    )
                    self.assertIn("Validation by fix check", log)
                    self.assertNotIn("DIFFERENT", log)

    def test_hint_where_the_box_is_close_to_the_cutoff(self):
        small = self.log(boxes()["orthogonal"], "", 2)
        self.assertRegex(
            small,
            r"hint: halo rows are \d+ % of all atoms of other ranks: the box is close to the "
            r"cutoff. Policy graph_parallel",
        )
        self.assertNotIn("hint:", self.log(boxes()["orthogonal"], GP, 2))
        self.assertNotIn("hint:", self.log(boxes()["orthogonal"], "", 1))
        self.assertNotIn("hint:", self.log(long_box(), "", 4, processors="4 1 1"))

    def test_what_cannot_be_run_is_refused(self):
        sender_sums = scripted_model("sender_scatter", scripted.SENDER_SCATTER, None).archive
        self.assertIn(
            "sums over senders have to be folded into their owners' rows, which the distribution "
            'spec does not allow; expected policy "halo" with scatter_mode "halo_correction"',
            self.refusal(GP, sender_sums),
        )

    def test_a_model_of_positions_needs_replicated_geometry(self):
        spec = {"version": 2, "core": {"policy": {"kind": "graph_parallel"}}}
        (self.folder / "gp.spec.json").write_text(json.dumps(spec))
        self.assertIn(
            "it reads rows of senders from positions that the model changed or, with folded rows, "
            "from positions at all",
            self.refusal(f"spec {self.folder / 'gp.spec.json'}", REPLICATED.archive),
        )

    def test_example_input(self):
        for name in ("graph_parallel", "minimal"):
            shutil.copytree(EXAMPLES / name, self.folder / name)
        text = (self.folder / "graph_parallel" / "in.graph_parallel").read_text()
        text = text.replace("../../../build/lib/nvalchemi_plugin.so", str(self.installation.plugin))
        text = text.replace("../minimal/", "minimal/")
        log = self.run_input(text, 2).require_success().log
        self.assertNotIn("DIFFERENT", log)
        self.assertRegex(log, r"(?m)^ +20 ")


class Forces(test_finite_differences.FiniteDifferences):
    """Forces and stress under graph_parallel, on two unequal parts."""

    test_each_family = None

    def test_graph_parallel(self):
        for shape, structure in boxes().items():
            if not LONG and shape != "tilted":
                continue
            with self.subTest(box=shape):
                model = GraphParallelModel("minimal", MINIMAL.archive, 5.0, 2, None)
                object.__setattr__(model, "case", lambda crystal, s=structure: (s, None))
                self.check(model, shape, len(structure) if LONG else 2)

    def test_replicated_geometry(self):
        for shape, structure in boxes().items():
            if not LONG and shape != "tilted":
                continue
            with self.subTest(box=shape):
                model = Model("replicated_geometry", REPLICATED.archive, 5.0, 2, None)
                object.__setattr__(model, "case", lambda crystal, s=structure: (s, None))
                self.check(model, shape, len(structure) if LONG else 1)


class GraphParallelModel(Model):
    def settings(self, **options):
        return super().settings(pair_arguments=GP, **options)


if __name__ == "__main__":
    main()
