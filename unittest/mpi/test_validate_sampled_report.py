# SPDX-License-Identifier: GPL-2.0-only
"""The report of fix nvalchemi/validate in its sampled mode, and its force errors by atom."""

import importlib.util
import json
import re
import subprocess
import sys

import numpy as np
import scripted
from installation import find_build_file
from simulation import read_thermo, vectors
from suite import cluster, find_model, main, one_line, scripted_model
from test_rank_failure import two_molecules
from test_validate_report import EXAMPLES, ReportTest, WrongSpecTest
from test_validate_sampled import report as lines_of_log

QUICK = "mode sampled sample 4 force_room 800 report check.json"
# planted fault -> (symptom, where the blame is)
SYMPTOMS = {
    "drop_forward": ("exchange_plan", "run"),
    "skip_reverse": ("exchange_plan", "run"),
    "round_rows": ("reduced_precision", "run"),
    "swap_energies": ("atoms_permuted", "unknown"),  # all of them are drawn
}
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
DETACHED = scripted.LAYER + "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] * m).detach())\n"


class SampledReportTest(ReportTest):
    good_specs = set()  # texts that nvalchemi-spec has checked

    def check_spec(self, spec):
        text = json.dumps(spec)
        if text in self.good_specs:
            return
        path = self.folder / "spec.json"
        path.write_text(text)
        done = subprocess.run(
            [find_build_file("nvalchemi-spec"), "check", path], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.good_specs.add(text)

    def draw(self):
        program = [sys.executable, str(EXAMPLES / "plot_report.py"), "check.json", "errors.png"]
        return subprocess.run(program, cwd=self.folder, capture_output=True, text=True)

    def read(self, name="check.json"):
        """The report, which is that of a sampled run and has a spec that can be used."""
        report = self.report(name)
        self.check_spec(report["spec"])
        self.assertEqual(len(report["attempts"]), 1)
        self.assertEqual(report["attempts"][0]["spec"], report["spec"])
        self.assertEqual(report["ok"], report["run"]["passed"] is True)
        self.assertIsNone(report["run"]["same_parts"])
        self.assertIsNone(report["run"]["completeness"]["complete"])
        return report

    def check_numbers(self, run, log):
        """The log rounds what the report has."""
        text, sampled = lines_of_log(log), run["sampled"]
        by_name = {quantity["name"]: quantity for quantity in run["quantities"]}
        for name, key in (("atomic energies", "energies"), ("forces", "forces")):
            quantity, looked_at = by_name[name], sampled[key]
            self.assertIn(
                f"  {name}: {looked_at['atoms']} atoms, with the atoms within {looked_at['hops']} "
                f"steps of them and no others (at most {looked_at['largest_cluster']} together)",
                text,
            )
            self.assertIn(
                f"difference {quantity['difference']:.4e} (tolerance {quantity['tolerance']:.4e}); "
                f"largest at atom id {quantity['worst_atom']} on rank {quantity['worst_rank']}: "
                f"{'same' if quantity['passed'] else 'DIFFERENT'}",
                text,
            )
        slope, along = sampled["slope"], by_name["forces along one direction"]
        self.assertIn(f"{slope['projected_forces']:.8e} and {slope['slope']:.8e} eV/A", text)
        self.assertIn(
            f"{along['difference']:.4e} (tolerance {along['tolerance']:.4e})",
            text,
        )
        self.assertIn(f"3/K = {sampled['bound']:.2g} of all atoms", text)
        self.assertIn(f"fewer than {sampled['worst_stratum_bound']:.2g} of any stratum", text)
        compared = sampled["energies"]["atoms"]
        self.assertEqual(sampled["bound"], 0.0 if compared == 64 else 3 / compared)
        self.assertEqual(sampled["worst_stratum_bound"], max(s["bound"] for s in sampled["strata"]))
        for stratum in sampled["strata"]:
            self.assertIn(
                f"rank {stratum['rank']} beside rank {stratum['neighbor']}: "
                f"K = {stratum['sampled']} of {stratum['rows']} atoms",
                text,
            )
        plan = run["completeness"]["exchange_plan"]
        self.assertIn(f"all {plan['halo_rows']} halo rows of all ranks", text)
        self.assertEqual("exchanges: " in text and "wrong: DIFFERENT" in text, not plan["good"])


class Passing(SampledReportTest):
    def test_has_the_numbers_of_the_log_and_the_parts_of_the_gathered_mode(self):
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                log = self.run_fix(QUICK, ranks=ranks).require_success().log
                self.assertIn("report: check.json", log)
                self.assertNotIn("expected neither", log)
                report = self.read()
                run, sampled = report["run"], report["run"]["sampled"]
                self.check_numbers(run, log)
                self.assertTrue(report["ok"])
                self.assertEqual((run["blame"], report["diagnostics"]), ("nothing", []))
                self.assertIn("Nothing to do: no sampled atom differs", report["next_action"])
                self.assertEqual(report["attempts"][0]["verdict"], "passed")
                chosen = [sampled[key] for key in ("mode", "seed", "sample", "force_room", "room")]
                self.assertEqual(chosen, ["sampled", 1, 4, 800, 20000])
                self.assertIn("energy", sampled["not_checked"])
                self.assertEqual(
                    set(sampled["cannot_see"]), {*"exchanges energies forces slope".split()}
                )
                self.assertEqual(sum(s["wrong"] for s in sampled["strata"]), 0)

                rows = sum(part["rows_sent"] for part in run["partition_health"]["parts"])
                width = sum(event["width"] for event in report["trace"]["events"])
                self.assertEqual(report["attempts"][0]["bytes_per_step"], 8 * rows * width)
        self.run_fix("report all.json", ranks=3).require_success()
        gathered = self.report("all.json")
        for key in ("model", "structure", "versions", "spec"):
            self.assertEqual(report[key], gathered[key])
        for key in ("planned", "events"):
            self.assertEqual(report["trace"][key], gathered["trace"][key])
        self.assertEqual(run["partition_health"], gathered["run"]["partition_health"])
        plans = [one["completeness"]["exchange_plan"] for one in (run, gathered["run"])]
        self.assertEqual(plans[0], plans[1])

    def test_says_what_was_not_compared(self):
        words = "mode sampled force_room 0 report check.json"
        self.run_fix(words, archive=find_model("MEAN_FIELD")).require_success()
        report = self.read()
        self.assertIn("no energies of atoms were compared (the model", report["next_action"])
        sampled = report["run"]["sampled"]
        self.assertIn("sums over the whole system", sampled["energies"]["not_compared"])
        self.assertEqual(sampled["strata"], [])
        self.assertEqual(sampled["sample"], 30)
        self.assertIsNone(sampled["slope"]["not_compared"])
        compared = [q["name"] for q in report["run"]["quantities"] if q["compared"]]
        self.assertEqual(compared, ["forces along one direction"])
        self.run_fix(words, ranks=1, skin=0.001).require_success()
        report = self.read()
        self.assertIn("moves atoms", report["run"]["sampled"]["slope"]["not_compared"])
        self.assertEqual(
            report["run"]["sampled"]["forces"]["not_compared"], "keyword force_room is 0"
        )
        self.assertIn("one rank exchanges", report["run"]["partition_health"]["advice"][0])
        if HAS_MATPLOTLIB:
            self.assertIn(
                "no forces of sampled atoms were compared one by one (keyword force_room is 0)",
                self.draw().stderr,
            )
        (stratum,) = report["run"]["sampled"]["strata"]
        self.assertEqual((stratum["rank"], stratum["neighbor"]), (0, None))

    def test_keywords_of_the_gathered_mode_are_refused_with_what_to_do_instead(self):
        words = "limit 63 sample 4 force_room 0 report check.*.json"
        run = self.run_fix(f"{words} world_size 3 autofix apply").require_success()
        self.assertIn(
            "got world_size and autofix, expected neither where atoms are sampled, because no "
            "ranks are played in one process; the comparison goes on without. Cut a smaller cell "
            "of the same material and run nvalchemi-validate on it with --ranks and --autofix",
            one_line(run.output),
        )
        report = self.read("check.0.json")
        self.assertEqual((report["autofix"], report["run"]["sampled"]["mode"]), ("apply", "auto"))
        self.assertFalse((self.folder / "check.0.spec.json").exists())


class Failing(SampledReportTest):
    def test_planted_faults_are_named(self):
        for fault, (symptom, blame) in SYMPTOMS.items():
            for ranks in (2, 3):
                with self.subTest(fault=fault, ranks=ranks):
                    words = QUICK.replace("sample 4", "sample 40")
                    run = self.run_fix(words, ranks=ranks, fault=fault)
                    report = self.read()
                    self.fails(run, re.escape("Next: " + one_line(report["next_action"]).strip()))
                    self.check_numbers(report["run"], run.log)
                    self.assertFalse(report["ok"])
                    self.assertEqual(report["diagnostics"][0]["symptom"], symptom)
                    self.assertEqual(report["run"]["blame"], blame)
                    self.assertEqual(report["attempts"][0]["verdict"], "failed")
                    self.assertEqual(
                        "Do not change the spec" in report["next_action"], blame == "run"
                    )
                    wrong = sum(s["wrong"] for s in report["run"]["sampled"]["strata"])
                    energies = report["run"]["quantities"][1]
                    self.assertEqual(wrong > 0, not energies["passed"])

    def test_forces_that_are_no_slopes_are_told_from_a_wrong_backward_pass(self):
        archive = scripted_model("detached", DETACHED, None)
        for room, symptom in ((800, "non_conservative_forces"), (0, "forces_are_no_slopes")):
            words = f"mode sampled sample 4 force_room {room} report check.json"
            self.fails(self.run_fix(words, archive=archive))
            report = self.read()
            self.assertEqual([d["symptom"] for d in report["diagnostics"]], [symptom])
            self.assertIn("run nvalchemi-validate on a smaller cell", report["next_action"])

    def test_energies_of_other_atoms_show_in_a_part_of_them(self):
        self.fails(self.run_fix(f"{QUICK} sample 20", fault="swap_energies"), "Forces are right")
        symptoms = [found["symptom"] for found in self.read()["diagnostics"]]
        self.assertEqual(symptoms, ["energies_alone_differ"])

    def test_only_the_first_failure_is_explained(self):
        run = self.run_fix(
            f"{QUICK.replace('check', 'check.*')} every 1 on_failure warn",
            ["fix move all nve", "run 1"],
            fault="drop_forward",
        ).require_success()
        self.assertIn("Next: see what was said of step 0", one_line(run.output))
        self.assertEqual([p.name for p in self.folder.glob("check.*.json")], ["check.0.json"])

    def test_a_report_that_cannot_be_written_is_an_error(self):
        run = self.run_fix(QUICK.replace("check.json", "none/check.json"))
        self.fails(run, "keyword report: none/check.json cannot be written .*its folder exists")
        self.assertNotIn("nvalchemi: model", run.log)  # before any evaluation


class WrongSpec(WrongSpecTest, SampledReportTest):
    def test_of_a_model_without_finite_reach_is_not_seen_and_the_report_says_so(self):
        lines = ("thermo_style custom step f_check[9]", "run 0")
        run = self.run_spec("mode sampled report check.json", lines=lines).require_success()
        self.assertRegex(
            one_line(run.output),
            r"WARNING: fix nvalchemi/validate: step 0: this comparison proves the run neither "
            r"right nor wrong: no energies of atoms were compared \(the model sums over the whole "
            r"system.*\) and no single forces \(.*\), .*Compare a smaller cell of the same "
            r"material with mode gathered, or run nvalchemi-validate on it",
        )
        self.assertEqual(read_thermo(run.log)[0]["f_check[9]"][0], -1)
        self.assertIn(
            "fix check: 1 comparison, none failed, 1 proved the run neither right nor wrong",
            run.log,
        )
        report = self.read()
        self.assertIs(report["ok"], False)
        self.assertIsNone(report["run"]["passed"])
        self.assertEqual(report["run"]["blame"], "unknown")
        self.assertEqual(report["attempts"][0]["verdict"], "refused")
        for text in (
            "The exchanges are right, but no energies of atoms were compared",
            "this proves the run neither right nor wrong",
            "mode gathered, or run nvalchemi-validate on a smaller cell",
        ):
            self.assertIn(text, report["next_action"])
        # the same run is wrong, and says so where energies are compared
        self.fails(self.run_spec("mode gathered"), "atomic energies by")

    def test_is_told_once_a_set_up_and_not_of_runs_with_a_reference(self):
        lines = ["fix move all nve", "run 2"]
        run = self.run_spec("mode sampled every 1", lines=lines).require_success()
        self.assertEqual(run.output.count("proves the run"), 1)
        self.assertIn("3 comparisons, none failed, 3 proved the run neither", run.log)
        run = self.run_fix("mode sampled sample 2 force_room 0").require_success()
        self.assertNotIn("proves the run", run.output)


class Stopped(SampledReportTest):
    def test_a_rank_that_throws_in_the_check_leaves_a_report(self):
        for ranks in (2, 3):
            run = self.run_fix(QUICK, ranks=ranks, fault="fail_in_check")
            reason = f"a rank failed in the check of the exchange: rank {ranks - 1}: fault planted"
            self.fails(run, reason)
            report = self.read()
            self.assertIn(reason, report["run"]["failure"])
            self.assertIn(reason, report["next_action"])
            self.assertEqual(report["run"]["blame"], "run")
            self.assertEqual(report["attempts"][0]["verdict"], "refused")
            self.assertEqual(report["diagnostics"][0]["symptom"], "exchange_plan")
            self.assertEqual(len(report["run"]["partition_health"]["parts"]), ranks)

    def test_a_model_that_throws_on_one_rank_leaves_a_report(self):
        archive = scripted_model("throws_one_layer", scripted.THROWS_FOR_CLOSE_PAIRS, None)
        self.structure = two_molecules(1.2)
        run = self.run_fix(QUICK, archive=archive, processors="2 1 1")
        self.fails(run, "rank 1: .*index")
        report = self.read()
        self.assertIn("rank 1: ", report["run"]["failure"])
        self.assertEqual(report["run"]["blame"], "unknown")
        for check in ("energies", "forces", "slope"):
            self.assertEqual(
                report["run"]["sampled"][check]["not_compared"], "the check stopped before it"
            )

    def test_a_reference_that_cannot_be_evaluated_leaves_a_report(self):
        places = [[2.0 + 4.0 * k, 5.0, 5.0] for k in range(36)]
        self.structure = cluster(["Na"] * 36, places, (144.0, 10.0, 10.0))
        body = scripted.LAYER + scripted.AT_MOST_15_ROWS
        archive = scripted_model("at_most_15_rows_two_layers", body, None)
        run = self.run_fix(QUICK, archive=archive, ranks=3, processors="3 1 1")
        self.fails(run, "undecomposed reference of sampled atoms could not be evaluated: .*planted")
        report = self.read()
        self.assertIn("planted failure", report["run"]["failure"])
        self.assertEqual(report["run"]["blame"], "unknown")
        self.assertTrue(report["run"]["completeness"]["exchange_plan"]["good"])


class ErrorsByAtom(SampledReportTest):
    def test_are_those_of_the_atoms_whose_forces_were_compared(self):
        columns = " ".join(f"f_check[{k + 1}]" for k in range(4))
        lines = (
            f"dump errors all custom 1 errors.dump id {columns}",
            "dump_modify errors sort id format float %.17g",
            "run 0",
        )
        run = self.run_fix(f"{QUICK} on_failure warn", lines, fault="drop_forward")
        run.require_success()
        found = self.read()["run"]
        errors = vectors(self.snapshots("errors.dump")[0], columns)
        compared = np.array(found["atom_ids"]) - 1
        self.assertEqual(len(compared), found["sampled"]["forces"]["atoms"])
        self.assertLess(len(compared), 64)
        others = np.delete(errors, compared, axis=0)
        self.assertEqual(np.abs(others).max(), 0.0)
        forces = found["error_map"]["forces"]
        self.assertEqual(forces["atoms"], found["atom_ids"])
        difference = np.array(forces["decomposed"]) - np.array(forces["reference"])
        np.testing.assert_array_equal(errors[compared, :3], difference)
        self.assertGreater(errors[compared, 3].min(), 0.0)
        self.assert_close(errors[compared, 3], found["error_map"]["force_errors"])
        largest = [q["difference"] for q in found["quantities"] if q["name"] == "forces"]
        self.assert_close([np.abs(errors[:, :3]).max()], largest)
        if HAS_MATPLOTLIB:
            done = self.draw()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.folder / "errors.png").read_bytes()[1:4], b"PNG")


if __name__ == "__main__":
    main()
