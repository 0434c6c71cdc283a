# SPDX-License-Identifier: GPL-2.0-only
"""The tool nvalchemi-validate: its verdicts, its report against the schema, its exit status."""

import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "examples" / "lammps"
TRANSFORMER = EXAMPLES / "graph_transformer"
SCHEMA = REPOSITORY / "potentials" / "validator" / "trace_report.schema.json"
PASSED, FAILED, MISUSE = 0, 1, 2

try:
    import jsonschema_rs
except ImportError:
    jsonschema_rs = None
needs_schema_package = unittest.skipIf(
    jsonschema_rs is None, "no package jsonschema-rs; unittest/run.sh installs it"
)


def find_product(name):
    """A product of the build that runs this test, or of `build` in the repository; None."""
    named = os.environ.get("NVALCHEMI_BUILD_DIR")
    for root in [Path(named)] if named else [REPOSITORY / "build"]:
        found = sorted(root.rglob(name)) if root.is_dir() else []
        if found:
            return str(found[0])
    return shutil.which(name)


TOOL = find_product("nvalchemi-validate")
SPEC_TOOL = find_product("nvalchemi-spec")
LIBRARY = find_product("libfused_message.so")
needs_library = unittest.skipIf(LIBRARY is None, "no libfused_message.so: examples are not built")


def rock_salt(cells=(4, 2, 2), spacing=5.7):
    """Shaken NaCl, 8 atoms a cell."""
    shake = random.Random(5)
    symbols, positions = [], []
    steps = [(x, y, z) for x in range(2) for y in range(2) for z in range(2)]
    for cell in [
        (a, b, c) for a in range(cells[0]) for b in range(cells[1]) for c in range(cells[2])
    ]:
        for step in steps:
            symbols.append("Cl" if sum(step) % 2 else "Na")
            positions.append(
                [spacing * (cell[k] + step[k] / 2) + shake.uniform(-0.15, 0.15) for k in range(3)]
            )
    vectors = [[spacing * cells[k] if k == j else 0.0 for k in range(3)] for j in range(3)]
    return {"symbols": symbols, "cell": vectors, "pbc": [True] * 3, "positions": positions}


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write(rock_salt(), "nacl.json")
        shutil.copy(EXAMPLES / "minimal" / "example_network.pt", self.folder)
        shutil.copy(TRANSFORMER / "graph_transformer.pt", self.folder)
        if LIBRARY:
            shutil.copy(LIBRARY, self.folder)

    def write(self, document, name):
        text = document if isinstance(document, str) else json.dumps(document)
        (self.folder / name).write_text(text)

    def run_tool(self, command, tool=TOOL):
        return subprocess.run(
            [tool, *command.split()],
            capture_output=True,
            text=True,
            timeout=240,
            cwd=self.folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def expect(self, status, command, *parts):
        """Output of a command that ends with this status and says all these texts."""
        done = self.run_tool(command)
        text = done.stdout + done.stderr
        self.assertEqual(done.returncode, status, text)
        for part in parts:
            self.assertIn(part, text)
        return text

    def report(self, name="report.json"):
        return json.loads((self.folder / name).read_text())


class Misuse(ToolTest):
    def test_says_how_it_is_used(self):
        self.expect(MISUSE, "", "usage: nvalchemi-validate --archive M.pt")
        self.expect(PASSED, "--help", "Exit status: 0 passed")
        self.assertEqual(self.expect(PASSED, "--version"), "nvalchemi-validate 0.1.0\n")

    def test_refuses_what_it_does_not_know(self):
        self.expect(MISUSE, "--archive a --structure b c", "got 'c', expected an option")
        text = self.expect(
            MISUSE,
            "--archive a --structure b --color red",
            "nvalchemi-validate: got unknown option '--color', expected one of --archive, --struct",
        )
        self.assertEqual(text.splitlines()[1:], ["see nvalchemi-validate --help"])
        self.expect(MISUSE, "--archive a --structure", "--structure: got nothing")
        self.expect(MISUSE, "--archive a", "got no --structure")
        self.expect(
            MISUSE,
            "--archive a --structure b --autofix maybe",
            "--autofix: got 'maybe', expected no, report or apply",
        )
        self.expect(
            MISUSE,
            "--archive a --structure b --ranks none",
            "--ranks: got 'none', expected a number of at least 1",
        )
        self.expect(
            MISUSE, "--archive a --structure b --ranks 0", "expected a number of at least 1"
        )

    def test_names_files_that_cannot_be_read(self):
        self.expect(FAILED, "--archive none.pt --structure nacl.json", "none.pt: cannot be read")
        self.expect(
            FAILED,
            "--archive example_network.pt --structure none.json",
            "none.json: cannot be read; check the path",
        )
        self.write({"symbols": ["Xx"], "cell": [], "positions": [[0, 0, 0]]}, "odd.json")
        self.expect(
            FAILED,
            "--archive example_network.pt --structure odd.json",
            'odd.json /symbols/0: got "Xx", expected an element of model',
        )

    def test_bounds_the_number_of_ranks(self):
        self.expect(
            FAILED,
            "--archive example_network.pt --structure nacl.json --ranks 1000000",
            "--ranks: got 1000000, expected at most one more than the 128 atoms",
        )


class Verdicts(ToolTest):
    def test_a_right_decomposition_passes(self):
        text = self.expect(
            PASSED,
            "--archive example_network.pt --structure nacl.json --ranks 3 --output report.json "
            "--finite-differences 1",
            "PASSED: model",
            "Nothing to do",
            "3 ranks",
        )
        self.assertLess(len(text.splitlines()), 60)
        report = self.report()
        self.assertTrue(report["ok"])
        self.assertEqual(len(report["attempts"]), 1)
        self.assertEqual(report["spec_patch"], [])
        self.assertEqual(report["structure"]["atoms"], 128)
        self.assertTrue(report["finite_differences"]["forces_are_slopes"])
        self.assertEqual(sum(part["owned"] for part in report["partition_health"]["parts"]), 128)

    @needs_library
    def test_a_missing_transform_is_found_and_mended(self):
        wrong = TRANSFORMER / "missing_scatter_outputs.spec.json"
        command = f"--archive graph_transformer.pt --structure nacl.json --ranks 2 --spec {wrong} "
        self.expect(
            FAILED,
            command + "--output report.json",
            "FAILED",
            "first difference: fused_message::push",
            "missing_scatter_outputs",
        )
        found = self.report()["diagnostics"][0]
        self.assertEqual(found["symptom"], "missing_scatter_outputs")
        self.assertEqual(found["patch"][0]["path"], "/core/custom_ops/0/output_transforms/0")
        self.assertEqual(self.report()["layer_divergence"]["operator"], "fused_message::push")

        self.expect(
            FAILED,
            command + "--autofix report --write-spec s.json",
            "Use the spec in s.json: it passes; the given one does not.",
        )
        self.expect(
            FAILED,
            command + "--autofix report --output report.json",
            "Use the member spec of report.json: it passes",
        )
        self.expect(
            FAILED,
            command + "--autofix report",
            "A spec was found that passes, give --write-spec FILE to keep it",
        )
        self.expect(
            PASSED,
            command + "--autofix apply",
            "The spec was mended (missing_scatter_outputs): give --write-spec FILE to keep it.",
        )
        text = self.expect(
            PASSED,
            command + "--autofix apply --write-spec s.json --output report.json",
            "The spec was mended (missing_scatter_outputs): use the spec in s.json from now on.",
            "Probably a consequence of missing_scatter_outputs: mend that first",
        )
        self.assertRegex(
            text,
            r"(?s)attempt 2, mended: passed\n  ok   energy .*"
            r"attempt 1, the given spec: failed\n  FAIL energy ",
        )
        self.assertNotIn("...", text)
        later = self.report()["diagnostics"][1]
        self.assertEqual(later["symptom"], "replicated_output_diverges")
        self.assertEqual(later["patch"], [])
        right = (TRANSFORMER / "graph_transformer.spec.json").read_text()
        self.assertEqual((self.folder / "s.json").read_text().strip(), right.strip())
        self.assertEqual(self.report()["fix_applied"], "missing_scatter_outputs")

    @needs_library
    def test_on_one_rank_a_spec_that_is_wrong_on_more_is_found(self):
        wrong = TRANSFORMER / "missing_scatter_outputs.spec.json"
        text = self.expect(
            FAILED,
            f"--archive graph_transformer.pt --structure nacl.json --ranks 1 --spec {wrong}",
            "atoms on 1 rank, ",
            "next: right on 1 rank; the spec would be wrong on more: a chain of twelve atoms in "
            "parts differs. Declare scatter_outputs",
        )
        self.assertNotIn("force off by", text)
        self.assertNotIn("1 ranks", text)

    @needs_library
    def test_a_long_refusal_is_wrapped(self):
        self.write({"version": 2, "core": {"policy": {"kind": "halo"}}}, "none.json")
        text = self.expect(
            FAILED,
            "--archive graph_transformer.pt --structure nacl.json --spec none.json",
            "diagnosis: undeclared_operator",
        )
        self.assertNotIn("refused_otherwise", text)
        self.assertNotIn("...", text)
        self.assertIn('declare it with an adapter in the "custom_ops"', " ".join(text.split()))
        page = text[text.index("refused: ") :].splitlines()
        self.assertLessEqual(max(len(line) for line in page), 120)

    @needs_library
    def test_other_wrong_specs_end_at_the_right_one(self):
        right = json.loads((TRANSFORMER / "graph_transformer.spec.json").read_text())
        nothing_declared = copy.deepcopy(right)
        nothing_declared["core"]["custom_ops"] = []
        self.write(nothing_declared, "nothing_declared.json")
        for wrong, symptom in (
            (TRANSFORMER / "double_padding.spec.json", "double_padding"),
            (TRANSFORMER / "reduced_twice.spec.json", "double_reduction"),
            ("nothing_declared.json", "undeclared_operator"),
        ):
            with self.subTest(str(wrong)):
                self.expect(
                    PASSED,
                    f"--archive graph_transformer.pt --structure nacl.json --ranks 3 "
                    f"--spec {wrong} --autofix apply --output report.json",
                    f"diagnosis: {symptom}",
                )
                self.assertEqual(self.report()["spec"], right)

    @needs_library
    def test_a_file_that_only_a_lenient_reader_takes_is_written_anew(self):
        right = json.loads((TRANSFORMER / "graph_transformer.spec.json").read_text())
        distributed = copy.deepcopy(right)
        distributed["core"]["policy"]["scatter_mode"] = "distributed"
        local = copy.deepcopy(right)
        local["core"]["policy"]["scatter_mode"] = "local"
        replace = {"op": "replace"}
        scatter_mode = {"path": "/core/policy/scatter_mode", "value": "local"}
        command = "--archive graph_transformer.pt --structure nacl.json --spec odd.json "
        for wrong, mended, edit in (
            ({**right, "foo": 1}, right, {"op": "remove", "path": "/foo"}),
            ({**right, "version": 2.0}, right, {**replace, "path": "/version", "value": 2}),
            (distributed, local, {**replace, **scatter_mode}),
        ):
            with self.subTest(edit["path"]):
                self.write(wrong, "odd.json")
                self.expect(FAILED, command + "--autofix no", "odd.json /")
                self.expect(
                    FAILED, command + "--autofix report", "A spec was found", "spec_text_refused"
                )
                self.expect(
                    PASSED,
                    command + "--autofix apply --output report.json --write-spec s.json",
                    "The spec was mended (canonical_form)",
                    "diagnosis: spec_text_refused",
                )
                report = self.report()
                self.assertEqual(report["fix_applied"], "canonical_form")
                self.assertEqual(report["spec_patch"], [edit])
                self.assertEqual(report["spec"], mended)
                self.assertEqual(report["diagnostics"][0]["patch"], [edit])
                self.expect(PASSED, command.replace("odd.json", "s.json"), "Nothing to do")

    @needs_library
    def test_an_adapter_given_twice_is_mended(self):
        right = json.loads((TRANSFORMER / "graph_transformer.spec.json").read_text())
        empty = {"op": "fused_message::push", "arg_transforms": {}, "output_transforms": {}}
        for first in (True, False):
            twice = copy.deepcopy(right)
            twice["core"]["custom_ops"].insert(0 if first else 2, empty)
            self.write(twice, "twice.json")
            self.expect(
                PASSED,
                "--archive graph_transformer.pt --structure nacl.json --ranks 3 --spec twice.json "
                "--autofix apply --output report.json",
                "diagnosis: duplicate_adapter",
            )
            self.assertEqual(self.report()["spec"], right)

    def test_replicated_geometry_is_found(self):
        shutil.copy(EXAMPLES / "graph_parallel" / "replicated_geometry.pt", self.folder)
        command = "--archive replicated_geometry.pt --structure nacl.json --ranks 3 "
        self.expect(PASSED, command + "--output right.json", "Nothing to do")
        right = self.report("right.json")
        wrong = {
            kind: {**right["spec"], "core": {"policy": {"kind": kind}}}
            for kind in ("graph_parallel", "halo", "local")
        }
        for kind, spec in wrong.items():
            self.write({**spec, "gp_replicate_geometry": False}, kind + ".json")
        for spec in ("SPEC_MPNN_HALO", "SPEC_MPNN_GP", *(kind + ".json" for kind in wrong)):
            with self.subTest(spec):
                self.expect(
                    PASSED,
                    command + f"--spec {spec} --autofix apply --output report.json",
                    "(geometry_not_replicated)",
                )
                found = self.report()
                self.assertEqual(found["diagnostics"][0]["symptom"], "geometry_not_replicated")
                self.assertEqual(found["spec"]["core"]["policy"], {"kind": "graph_parallel"})
                self.assertTrue(found["spec"]["gp_replicate_geometry"])
                self.assertEqual(
                    found["attempts"][-1]["bytes_per_step"],
                    right["attempts"][0]["bytes_per_step"],
                )

    @needs_library
    def test_a_spec_of_another_model_is_mended_in_few_attempts(self):
        self.expect(
            PASSED,
            "--archive graph_transformer.pt --structure nacl.json --ranks 3 "
            "--spec SPEC_UMA_REFRESH_HALO --autofix apply --output report.json",
        )
        self.assertEqual(self.report()["spec"]["core"]["third_party_helpers"], [])


@needs_schema_package
class Schema(ToolTest):
    def reports(self):
        """Of a pass, and of a failure with every part of a report."""
        self.run_tool(
            "--archive example_network.pt --structure nacl.json --output passed.json "
            "--finite-differences 1"
        )
        self.run_tool(
            "--archive example_network.pt --structure nacl.json --spec SPEC_MPNN_GP "
            "--autofix apply --output mended.json"
        )
        names = ["passed.json", "mended.json"]
        if LIBRARY:
            wrong = TRANSFORMER / "missing_scatter_outputs.spec.json"
            self.run_tool(
                f"--archive graph_transformer.pt --structure nacl.json --spec {wrong} "
                "--output failed.json"
            )
            names.append("failed.json")
        return [self.report(name) for name in names]

    def test_describes_every_report(self):
        schema = json.loads(SCHEMA.read_text())
        jsonschema_rs.meta.validate(schema)
        validator = jsonschema_rs.Draft202012Validator(schema)
        for report in self.reports():
            self.assertEqual([error.message for error in validator.iter_errors(report)], [])

    def test_refuses_what_is_no_report(self):
        validator = jsonschema_rs.Draft202012Validator(json.loads(SCHEMA.read_text()))
        report = self.reports()[0]
        for key in report:
            changed = {other: value for other, value in report.items() if other != key}
            self.assertFalse(validator.is_valid(changed), key)
        self.assertFalse(validator.is_valid({**report, "more": 1}))
        self.assertFalse(validator.is_valid({**report, "ok": "yes"}))
        self.assertFalse(validator.is_valid({**report, "attempts": []}))

    def test_its_spec_passes_the_spec_tool(self):
        for report in self.reports():
            self.write(report["spec"], "spec.json")
            done = self.run_tool("check spec.json", SPEC_TOOL)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    if TOOL is None:
        print("SKIPPED: no nvalchemi-validate; build it first")
        sys.exit(77)
    unittest.main()
