# SPDX-License-Identifier: GPL-2.0-only
"""The example of the UMA kind: fused operators, forces by the model itself, raw rows, and the
preset SPEC_UMA_REFRESH_HALO with the two operators declared."""

import json
import shutil
from pathlib import Path

import test_finite_differences
from comparison import read_sums
from installation import REPOSITORY, find_build_file
from suite import LONG, LammpsTest, Model, main, one_line
from test_charge_equilibration import BARS, boxes, parts

FOLDER = REPOSITORY / "examples" / "lammps" / "escn"
PRESET = REPOSITORY / "spec" / "presets" / "SPEC_UMA_REFRESH_HALO.json"
LIBRARY = find_build_file("libescn_edges.so")
ARCHIVE = str(FOLDER / "escn.pt")
OPERATORS = ("escn::node_to_edge", "escn::edge_to_node")


class Escn(Model):
    def settings(self, **options):
        words = options.pop("words", "")
        return super().settings(
            pair_arguments=f"ops {LIBRARY} {words}",
            alone_arguments=("--ops", str(LIBRARY)),
            **options,
        )


# one exchange before each block reads its senders, and the composition of the system
ESCN = Escn("escn", ARCHIVE, 5.0, 2, None)


def spec_with(operators=OPERATORS, **policy):
    spec = json.loads(PRESET.read_text())
    spec["core"]["policy"].update(policy)
    spec["core"]["custom_ops"] = [
        {"op": name, "arg_transforms": {}, "output_transforms": {}} for name in operators
    ]
    return spec


class EscnTest(LammpsTest):
    def words(self, spec):
        (self.folder / "mine.spec.json").write_text(json.dumps(spec))
        return f"spec {self.folder / 'mine.spec.json'}"

    def refusal(self, spec):
        structure = boxes()["orthogonal"]
        self.write_structure(structure)
        settings = ESCN.settings(ranks=2, words=self.words(spec))
        run = self.run_input(self.script(structure, settings, ["run 0"]), 2)
        self.assertNotEqual(run.status, 0)
        return one_line(run.message)

    def test_numbers_do_not_depend_on_ranks(self):
        for shape, ranks in parts():
            structure = boxes()[shape]
            alone = self.alone(structure, ESCN.settings())
            with self.subTest(box=shape, ranks=ranks):
                found = self.decomposed(structure, ESCN.settings(ranks=ranks))
                self.assert_within(found.reference, alone, structure.volume, BARS)
                self.assertEqual(found.exchanges, {"forward": 2, "backward": 2})
                self.assertLessEqual(read_sums(found.log), 2)

    def test_validator_agrees(self):
        log = self.run_structure(
            boxes()["orthogonal"],
            ESCN.settings(ranks=3),
            ["fix check all nvalchemi/validate", "run 0"],
        ).log
        self.assertIn("Validation by fix check", log)
        self.assertNotIn("DIFFERENT", log)

    def test_each_adapter_of_an_operator_is_needed(self):
        for missing in OPERATORS:
            with self.subTest(missing=missing):
                said = self.refusal(spec_with([op for op in OPERATORS if op != missing]))
                self.assertIn(f"operator {missing} at escn.py:", said)
                self.assertIn('declare it with an adapter in the "custom_ops"', said)

    def test_without_the_refresh_before_a_block(self):
        said = self.refusal(spec_with(gather_mode="local"))
        self.assertIn("it reads rows of senders that have to be refreshed", said)
        self.assertIn("operator escn::node_to_edge (escn.py:", said)

    def test_without_the_sum_of_the_composition(self):
        spec = spec_with()
        spec["system_reductions"] = False
        self.assertIn("it needs a sum over the atoms of the whole system", self.refusal(spec))

    def test_all_adapters_of_the_preset_bind(self):
        structure = boxes()["orthogonal"]
        log = self.run_structure(
            structure, ESCN.settings(ranks=2, words="verbose yes"), ["run 0"]
        ).log
        self.assertEqual(log.count("spec /core/third_party_helpers/"), 8)
        self.assertEqual(log.count("spec /core/custom_ops/"), 2)
        self.assertNotIn("not called by this model", log)

    def test_example_input(self):
        for path in FOLDER.iterdir():
            if path.suffix == ".pt" or path.name.startswith("in."):
                shutil.copy(path, self.folder)
        (self.folder / "libescn_edges.so").symlink_to(Path(LIBRARY).resolve())
        text = (self.folder / "in.escn").read_text()
        text = text.replace("../../../build/lib/nvalchemi_plugin.so", str(self.installation.plugin))
        log = self.run_input(text, 2).require_success().log
        self.assertNotIn("DIFFERENT", log)
        self.assertRegex(log, r"(?m)^ +20 ")


class Forces(test_finite_differences.FiniteDifferences):
    """The model's own forces and stress on two unequal parts."""

    test_each_family = None

    def test_forces_of_the_model(self):
        for shape, structure in boxes().items():
            if not LONG and shape != "tilted":
                continue
            with self.subTest(box=shape):
                model = Escn("escn", ARCHIVE, 5.0, 2, None)
                object.__setattr__(model, "case", lambda crystal, s=structure: (s, None))
                self.check(model, shape, len(structure) if LONG else 2)


if __name__ == "__main__":
    main()
