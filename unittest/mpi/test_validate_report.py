# SPDX-License-Identifier: GPL-2.0-only
"""fix nvalchemi/validate: where it puts the blame, its report, its moments, its errors by atom."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import scripted
from installation import REPOSITORY, find_build_file
from simulation import vectors
from structure import to_restricted_frame
from suite import Model, ValidateTest, main, one_line, scripted_model
from test_rank_failure import two_molecules
from test_small_cells import one_atom, two_atoms

EXAMPLES = REPOSITORY / "examples" / "lammps"
TRANSFORMER = EXAMPLES / "graph_transformer"
SCHEMA = REPOSITORY / "potentials" / "validator" / "trace_report.schema.json"
LIBRARY = "libfused_message.so"
WRONG = "missing_scatter_outputs.spec.json"
PAGE = "played in one process, "
# the package that evaluates schemas is installed beside the formatters
SCHEMA_PYTHON = os.path.join(os.environ.get("NVALCHEMI_LINT_DIR", ""), "bin", "python3")
SCHEMA_PROGRAM = """
import json, sys
try:
    import jsonschema_rs
except ImportError:
    sys.exit(0)  # an older environment of the formatters
schema, report = (json.load(open(path)) for path in sys.argv[1:])
errors = [str(error) for error in jsonschema_rs.validator_for(schema).iter_errors(report)]
sys.exit("\\n".join(errors) if errors else 0)
"""


class ReportTest(ValidateTest):
    def run_fix(self, words, lines=("run 0",), fault=None, **options):
        environment = {"NVALCHEMI_FAULT": fault or ""}
        return super().run_fix(words, lines, environment=environment, **options)

    def report(self, name="check.json"):
        path = self.folder / name
        if os.path.exists(SCHEMA_PYTHON):
            done = subprocess.run(
                [SCHEMA_PYTHON, "-c", SCHEMA_PROGRAM, SCHEMA, path], capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(path.read_text())

    def fails(self, run, *texts):
        self.assertNotIn(run.status, (0, None))
        for text in texts:
            self.assertRegex(one_line(run.message), text)


class Blame(ReportTest):
    def test_a_run_without_fault_is_blamed_for_nothing(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                run = self.run_fix("report check.json", ranks=ranks).require_success()
                report = self.report()
                self.assertTrue(report["ok"])
                self.assertEqual(report["run"]["blame"], "nothing")
                self.assertEqual(report["diagnostics"], [])
                self.assertEqual(report["ranks"], ranks)
                self.check_partition(report["run"], ranks)
                self.assertIn("PASSED: model", run.log)

    def check_partition(self, run, ranks):
        health, complete = run["partition_health"], run["completeness"]
        self.assertEqual(sum(part["owned"] for part in health["parts"]), 64)
        self.assertEqual(
            sum(part["rows_sent"] for part in health["parts"]),
            sum(part["rows_received"] for part in health["parts"]),
        )
        for part in health["parts"]:
            self.assertEqual(part["owned"] + part["halo"] + part["remote"], 64)
        self.assertEqual(len(health["parts"]), ranks)
        self.assertGreater(complete["edges_seen"], 0)
        self.assertEqual(complete["edges_seen"], complete["edges_expected"])
        self.assertEqual(complete["edges_seen"], sum(part["edges"] for part in health["parts"]))
        self.assertTrue(complete["exchange_plan"]["good"])
        distances = run["error_map"]["face_distances"]
        self.assertEqual(distances.count(None), 64 if ranks == 1 else 0)
        self.assertEqual(run["atom_ids"], list(range(1, 65)))
        text = " ".join(health["advice"])
        self.assertIn(
            "one rank exchanges nothing" if ranks == 1 else "faults of the halo can", text
        )

    def test_versions_and_model_are_named(self):
        self.run_fix("report check.json").require_success()
        report = self.report()
        for name in ("package", "lammps_built", "lammps_running", "torch_running"):
            self.assertRegex(report["versions"][name], r"\d")
        self.assertRegex(report["model"]["hash"], "^fnv1a64:")

    def test_neighbours_that_are_left_out_are_counted(self):
        run = self.run_fix(
            "report check.json",
            ["neigh_modify exclude type 1 1", "run 0"],
            pair_arguments="exclusions allow",
        )
        self.fails(
            run, r"\d+ atoms have other neighbours than they should \(\d+ of \d+ edges seen\)"
        )
        complete = self.report()["run"]["completeness"]
        self.assertEqual(complete["atoms_wrong"], 32)
        self.assertLess(complete["edges_seen"], complete["edges_expected"])
        self.assertEqual(len(complete["first_offenders"]), 10)
        self.assertIn("neighbours INCOMPLETE", run.log)

    def test_only_the_first_failure_is_explained(self):
        run = self.run_fix(
            "every 1 on_failure warn report check.*.json",
            ["fix move all nve", "run 2"],
            fault="drop_forward",
        ).require_success()
        self.assertEqual(len(re.findall(f"(?m)^{PAGE}", run.log)), 1)
        self.assertIn("Next: see what was said of step 0", one_line(run.output))
        self.assertEqual([p.name for p in self.folder.glob("check.*.json")], ["check.0.json"])


class NoFalseAlarm(ReportTest):
    """Where neighbours are images of the atom itself, and where sub-domains are no bricks."""

    def passes(self, structure, ranks, **options):
        self.structure = to_restricted_frame(structure)
        run = self.run_fix("report check.json", ranks=ranks, **options).require_success()
        self.assertTrue(self.report()["ok"])
        self.assertIn("neighbours complete, exchange good", run.log)

    def test_in_cells_smaller_than_the_cutoff(self):
        for structure in (one_atom(2.4), two_atoms()):
            for ranks in (1, 2, 4):
                with self.subTest(atoms=len(structure), ranks=ranks):
                    self.passes(structure, ranks)

    def test_in_skewed_boxes_with_tiles_and_without_newton(self):
        skewed = one_atom(6.0).repeated((3, 2, 2))
        tiles = {"comm": "tiled", "lines": ("balance 1.0 rcb", "run 0")}
        for options in ({}, tiles, {"newton": "off"}):
            with self.subTest(**options):
                self.passes(skewed, 3, **options)
        distances = self.report()["run"]["error_map"]["face_distances"]
        self.assertTrue(all(0.0 <= distance < 6.0 for distance in distances))


class WrongSpecTest(ReportTest):
    """A network with a library of its own, and a spec of it that is wrong."""

    def setUp(self):
        super().setUp()
        built = find_build_file(LIBRARY)
        if built is None:
            raise FileNotFoundError(f"{LIBRARY}: not found; build the tests")
        (self.folder / LIBRARY).symlink_to(os.path.realpath(built))
        archive = shutil.copy(TRANSFORMER / "graph_transformer.pt", self.folder)
        shutil.copy(TRANSFORMER / WRONG, self.folder)
        self.transformer = Model("graph_transformer", str(archive), 5.0, 4, None)
        self.structure = self.transformer.case("nacl64")[0]

    def run_spec(self, words, ranks=2, spec=WRONG, lines=("run 0",)):
        arguments = f"ops {self.folder / LIBRARY} spec {self.folder / spec} selftest no"
        return self.run_fix(
            words, lines, ranks=ranks, archive=self.transformer, pair_arguments=arguments
        )


class WrongSpec(WrongSpecTest):
    def test_is_diagnosed_and_the_proposed_one_passes(self):
        for word, text in (
            ("report", "The spec in check.spec.json passes"),
            ("apply", "Rerun with pair_style nvalchemi spec check.spec.json"),
        ):
            with self.subTest(autofix=word):
                (self.folder / "check.spec.json").unlink(missing_ok=True)
                run = self.run_spec(f"report check.json autofix {word}")
                self.fails(run, "differs from the undecomposed model", f"Next: {text}")
                report = self.report()
                self.assertEqual(report["run"]["blame"], "spec")
                self.assertEqual(report["autofix"], word)
                self.assertFalse(report["ok"])
                self.assertEqual(report["diagnostics"][0]["symptom"], "missing_scatter_outputs")
                self.assertEqual(report["layer_divergence"]["operator"], "fused_message::push")
                proposed = json.loads((self.folder / "check.spec.json").read_text())
                self.assertEqual(proposed, report["spec"])
                by_hand = (TRANSFORMER / "graph_transformer.spec.json").read_text()
                self.assertEqual(proposed, json.loads(by_hand))
                tool = find_build_file("nvalchemi-spec")
                done = subprocess.run(
                    [tool, "check", str(self.folder / "check.spec.json")], capture_output=True
                )
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.run_spec("report again.json", spec="check.spec.json").require_success()
        self.assertTrue(self.report("again.json")["ok"])

    def test_a_fault_of_an_output_of_the_system_is_not_blamed_on_the_spec(self):
        arguments = f"ops {self.folder / LIBRARY}"
        run = self.run_fix(
            "report check.json",
            archive=self.transformer,
            pair_arguments=arguments,
            fault="mix_outputs",
        )
        self.fails(run, "Next: Do not change the spec")
        report = self.report()
        failed = [q["name"] for q in report["run"]["quantities"] if q["passed"] is False]
        self.assertEqual(failed, ["output electronegativity"])
        self.assertEqual(report["diagnostics"][0]["symptom"], "run_differs_from_parts")

    def test_without_autofix_no_spec_is_proposed(self):
        self.fails(self.run_spec("report check.json"), "Next: Declare scatter_outputs on output 0")
        self.assertFalse((self.folder / "check.spec.json").exists())
        self.assertEqual(len(self.report()["attempts"]), 1)

    def test_virtual_ranks_find_it_on_one_rank(self):
        self.run_spec("", ranks=1).require_success()
        run = self.run_spec("world_size 3 report check.json", ranks=1)
        self.fails(
            run,
            "agrees with the undecomposed model, but the parts that were played in one process "
            "do not; this run is right, but the spec would be wrong on more ranks. Next",
            "This run is right, but 3 virtual ranks, played in one process, are not",
        )
        self.assertNotIn("do not use these numbers", one_line(run.message))
        report = self.report()
        self.assertEqual((report["ranks"], report["run"]["ranks"]), (3, 1))
        self.assertEqual(report["run"]["blame"], "spec")
        self.assertTrue(report["run"]["passed"])
        self.assertFalse(report["run"]["same_parts"])

    def test_another_policy_is_not_proposed_for_a_spec_with_adapters(self):
        by_hand = TRANSFORMER / "graph_transformer.spec.json"
        self.assertNotIn("hint:", self.run_spec("", spec=by_hand).require_success().log)
        self.assertIn("hint: halo rows are", self.run_fix("").require_success().log)

    def test_both_can_be_to_blame(self):
        arguments = f"ops {self.folder / LIBRARY} spec {self.folder / WRONG} selftest no"
        run = self.run_fix(
            "report check.json",
            archive=self.transformer,
            pair_arguments=arguments,
            fault="wrong_owner",
        )
        self.fails(run, "The run's own exchange or neighbours are wrong, and the spec too")
        self.assertEqual(self.report()["run"]["blame"], "both")


class Summary(ReportTest):
    """The line at the end of a run."""

    def lines(self, run):
        return re.findall(r"(?m)^nvalchemi: fix check: (.*)$", run.require_success().log)

    def test_counts_the_comparisons_of_each_run(self):
        run = self.run_fix("every 2", ["fix move all nve", "run 5", "run 0", "minimize 0 0 1 1"])
        several, one, of_minimization = self.lines(run)
        self.assertRegex(several, r"^3 comparisons, all passed, worst \S+ of a tolerance$")
        self.assertTrue(0 < float(several.split()[5]) < 1)
        self.assertRegex(one, r"^1 comparison, passed, worst \S+ of a tolerance$")
        self.assertRegex(of_minimization, "^[12] comparisons?, (all )?passed, worst")

    def test_counts_failures_and_is_silent_without_comparisons(self):
        lines = ["fix move all nve", "run 1", "run 1 pre no"]
        run = self.run_fix("every 0 on_failure warn", lines, fault="drop_forward")
        (failed,) = self.lines(run)
        self.assertRegex(failed, r"^1 comparison, 1 of 1 failed, worst \S+ of a tolerance$")
        self.assertGreater(float(failed.split()[7]), 1)
        (failed,) = self.lines(
            self.run_fix("every 1 on_failure warn", lines[:2], fault="drop_forward")
        )
        self.assertIn("2 comparisons, 2 of 2 failed", failed)


class Moments(ReportTest):
    def compared_steps(self, run):
        return re.findall(r"Validation by fix check at step (\d+)", run.require_success().log)

    def test_once_compares_at_the_first_set_up_only(self):
        lines = ["fix move all nve", "run 1", "run 1"]
        self.assertEqual(self.compared_steps(self.run_fix("every once", lines)), ["0"])
        self.assertEqual(self.compared_steps(self.run_fix("every 0", lines)), ["0", "1"])

    def test_rebalance_compares_when_sub_domains_have_changed(self):
        def count(words, rebalance):
            lines = [
                "change_box all x final 0 30.0",
                "fix fly all move linear 400.0 0.0 0.0",
                *(["fix even all balance 5 1.05 shift x 10 1.01"] if rebalance else []),
                "thermo_style custom step f_check[13]",
                "thermo 20",
                "run 20",
            ]
            run = self.run_fix(words, lines, processors="2 1 1").require_success()
            return int(re.findall(r"^ +20 +(\d+)", run.log, re.M)[0])

        self.assertEqual(count("every rebalance", False), 1)
        self.assertEqual(count("every 0", True), 1)
        self.assertGreater(count("every rebalance", True), 1)

    def test_virtual_ranks_are_played_at_set_up(self):
        run = self.run_fix("world_size 4", ranks=1).require_success()
        self.assertIn(f"{PAGE}4 virtual ranks: passed", run.log)
        self.assertNotIn(PAGE, self.run_fix("", ranks=1).require_success().log)


class ErrorsByAtom(ReportTest):
    COLUMNS = " ".join(f"f_check[{k + 1}]" for k in range(4))

    def dump(self, words, lines, ranks=2):
        lines = [
            f"dump errors all custom 20 errors.dump id x {self.COLUMNS}",
            "dump_modify errors sort id format float %.17g",
            "thermo_style custom step f_check[3]",
            *lines,
        ]
        run = self.run_fix(words, lines, ranks=ranks, fault="drop_forward").require_success()
        return run, self.snapshots("errors.dump")

    def test_are_the_difference_of_the_forces(self):
        run, (snapshot,) = self.dump("on_failure warn report check.json", ["run 0"])
        errors = vectors(snapshot, self.COLUMNS)
        self.assertGreater(errors[:, 3].max(), 1e-3)
        self.assert_close(errors[:, 3], np.linalg.norm(errors[:, :3], axis=1))
        quantities = self.report()["run"]["quantities"]
        largest = [q["difference"] for q in quantities if q["name"] == "forces"]
        self.assert_close([np.abs(errors[:, :3]).max()], largest)
        self.assert_close(errors[:, 3], self.report()["run"]["error_map"]["force_errors"])
        self.check_both_forces(self.report()["run"], errors)

    def check_both_forces(self, run, errors):
        """What a parity plot is drawn from."""
        forces = run["error_map"]["forces"]
        self.assertEqual(forces["atoms"], run["atom_ids"])
        decomposed, reference = np.array(forces["decomposed"]), np.array(forces["reference"])
        np.testing.assert_array_equal(decomposed - reference, errors[:, :3])
        largest = [q["largest"] for q in run["quantities"] if q["name"] == "forces"]
        self.assert_close([np.abs(reference).max()], largest)
        self.assertEqual(forces["face_distances"], run["error_map"]["face_distances"])

    def test_stay_with_their_atoms(self):
        _, snapshots = self.dump(
            "on_failure warn", ["fix fly all move linear 200.0 0.0 0.0", "run 20"], ranks=3
        )
        first, last = (vectors(snapshot, self.COLUMNS) for snapshot in snapshots)
        self.assertGreater(np.abs(snapshots[0]["x"] - snapshots[1]["x"]).max(), 3.0)
        self.assertGreater(first[:, 3].max(), 1e-3)
        np.testing.assert_array_equal(first, last)

    def test_are_zero_before_a_comparison_and_outside_of_the_group(self):
        self.dump(
            "on_failure warn",
            [
                f"write_dump all custom early.dump id {self.COLUMNS}",
                "group some id 1:32",
                "fix check2 some nvalchemi/validate on_failure warn",
                "dump some all custom 1 some.dump id f_check2[4]",
                "dump_modify some sort id format float %.17g",
                "run 0",
            ],
        )
        early = vectors(self.snapshots("early.dump")[0], self.COLUMNS)
        self.assertEqual(early.shape, (64, 4))
        self.assertEqual(np.abs(early).max(), 0.0)
        some = self.snapshots("some.dump")[0]["f_check2[4]"]
        self.assertGreater(some[:32].max(), 0.0)
        self.assertEqual(some[32:].max(), 0.0)


class Failure(ReportTest):
    def test_a_rank_that_throws_in_the_check_stops_all(self):
        for ranks in (2, 3):
            run = self.run_fix("report check.json", ranks=ranks, fault="fail_in_check")
            reason = f"rank {ranks - 1}: fault planted on purpose"
            self.fails(run, f"a rank failed in the check of the exchange: {reason}")
            report = self.report()
            self.assertIn(reason, report["run"]["failure"])
            self.assertEqual(report["run"]["blame"], "run")
            self.assertEqual(report["diagnostics"][0]["symptom"], "run_differs_from_parts")
            self.assertFalse(report["ok"])

    def test_a_model_that_throws_on_one_rank_leaves_a_report(self):
        archive = scripted_model("throws_one_layer", scripted.THROWS_FOR_CLOSE_PAIRS, None)
        self.structure = two_molecules(1.2)
        run = self.run_fix("report check.json", archive=archive, processors="2 1 1")
        self.fails(run, "rank 1: .*index")
        report = self.report()
        self.assertIn("rank 1: ", report["run"]["failure"])
        self.assertEqual(report["run"]["blame"], "unknown")
        self.assertIn("The run stopped: rank 1", report["next_action"])

    def test_a_reference_that_cannot_be_evaluated_leaves_a_report(self):
        archive = scripted_model("at_most_15_rows", scripted.AT_MOST_15_ROWS, None)
        self.structure = two_molecules(2.6)
        run = self.run_fix("report check.json", archive=archive, processors="2 1 1")
        self.fails(run, "undecomposed reference could not be evaluated on rank 0: .*planted")
        report = self.report()
        self.assertEqual(report["attempts"][0]["verdict"], "refused")
        self.assertIn("planted failure", report["run"]["failure"])


class Files(ReportTest):
    """What becomes of a report whose file is in the way."""

    def test_a_disk_that_is_full_does_not_hide_the_result(self):
        (self.folder / "full.json").symlink_to("/dev/full")
        run = self.run_fix("report full.json")
        self.fails(run, "full.json cannot be written .No space left on device")
        self.assertIn("same", run.log)
        run = self.run_fix("report full.json on_failure warn").require_success()
        self.assertIn("full.json cannot be written (No space left on device)", one_line(run.output))
        self.assertNotIn("DIFFERENT", run.log)
        run = self.run_fix("report full.json", fault="drop_forward")
        self.assertNotEqual(run.status, 0)
        self.assertIn("differs from the undecomposed model", one_line(run.message))
        self.assertIn("full.json cannot be written", one_line(run.output))

    def test_two_fixes_do_not_share_one(self):
        lines = ["fix other all nvalchemi/validate report same.json", "run 0"]
        run = self.run_fix("report same.json", lines)
        self.assertNotEqual(run.status, 0)
        self.assertIn("got same.json for fix check and for fix other", one_line(run.message))

    def test_each_fix_reports_an_evaluation_that_fails(self):
        archive = scripted_model("throws_one_layer", scripted.THROWS_FOR_CLOSE_PAIRS, None)
        self.structure = two_molecules(1.2)
        lines = ["fix other all nvalchemi/validate report other.json", "run 0"]
        run = self.run_fix("report check.json", lines, archive=archive, processors="2 1 1")
        self.fails(run, "rank 1: .*index")
        for name in ("check.json", "other.json"):
            report = json.loads((self.folder / name).read_text())
            self.assertFalse(report["ok"], name)


class Picture(ReportTest):
    def test_is_drawn_from_a_report(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("no package matplotlib")
        self.run_fix("report check.json on_failure warn", fault="drop_forward").require_success()
        program = [sys.executable, str(EXAMPLES / "plot_report.py")]
        done = subprocess.run(
            [*program, "check.json", "errors.png"], cwd=self.folder, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "errors.png").read_bytes()[1:4], b"PNG")
        # a report of too many atoms to list them all
        report = self.report()
        report["run"]["error_map"].update(force_errors=None, face_distances=None)
        (self.folder / "large.json").write_text(json.dumps(report))
        done = subprocess.run([*program, "large.json", "errors.png"], cwd=self.folder)
        self.assertEqual(done.returncode, 0)
        done = subprocess.run(
            [*program, str(SCHEMA), "errors.png"], cwd=self.folder, capture_output=True, text=True
        )
        self.assertIn("is no report of a validation", done.stderr)


if __name__ == "__main__":
    main()
