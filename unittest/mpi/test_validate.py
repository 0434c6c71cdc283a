# SPDX-License-Identifier: GPL-2.0-only
"""fix nvalchemi/validate: passes what is right, finds planted faults, says what it did."""

import re

import scripted
from simulation import read_thermo
from suite import (
    LONG,
    ValidateTest,
    find_model,
    main,
    model,
    models,
    one_line,
    scripted_model,
)

FIGURES = 18


class Validate(ValidateTest):
    def test_every_archive_passes(self):
        for archive in models():
            structure = archive.case("si64")[0]
            with self.subTest(model=archive.name):
                run = self.run_fix("", archive=archive, structure=structure).require_success()
                self.assertIn("64 atoms on 2 ranks against the undecomposed model", run.log)
                # virials of atoms exist where the model sees edge vectors
                rows = 5 + run.log.count("  output ")
                self.assertEqual(run.log.count("same"), rows - run.log.count("not compared"))
                self.assertLessEqual(run.log.count("not compared"), 1)
                self.assertIn("neighbours complete, exchange good", run.log)

    def test_open_boundaries_compare_the_virial(self):
        for periodic in ((True, False, True), (False, False, False)):
            structure = self.structure.opened(periodic)
            run = self.run_fix("", structure=structure).require_success()
            self.assertRegex(run.log, r"virial +eV .* same")
            self.assertNotIn("eV/A^3", run.log)

    def test_single_precision(self):
        network = scripted_model("single", scripted.ACCUMULATING, 2, "float32")
        structure = self.structure.repeated((2, 1, 1))
        for ranks in (1, 2, 4):
            run = self.run_fix(
                "every 5",
                ["velocity all create 300.0 4711", "fix move all nve", "run 10"],
                ranks,
                network,
                structure,
            )
            self.assertNotIn("DIFFERENT", run.require_success().log)
            self.assertIn("dtype float32", run.log)
        run = self.run_fix("", archive=network, environment={"NVALCHEMI_FAULT": "skip_reverse"})
        self.assertIn("forces by", one_line(run.message))

    def test_further_outputs_are_compared_by_atom(self):
        d3 = model("d3bj_pbe")
        lines = ["thermo_style custom step f_check[9] f_check[10] f_check[18]", "run 0"]
        for units in ("metal", "real"):
            run = self.run_fix("", lines, archive=d3, ranks=3, units=units).require_success()
            self.assertRegex(run.log, r"(?m)^  output coordination_numbers .* same$")
            row = read_thermo(run.log)[0]
            self.assertTrue(0 <= row["f_check[18]"][0] < 1)
        run = self.run_fix(
            "on_failure warn", lines, archive=d3, environment={"NVALCHEMI_FAULT": "mix_outputs"}
        ).require_success()
        # nothing else has changed
        different = re.findall(r"(?m)^  (\S+ \S+) .*DIFFERENT$", run.log)
        self.assertEqual(different, ["output coordination_numbers"])
        self.assertRegex(
            one_line(run.output),
            r"output coordination_numbers by \S+ \(expected at most \S+; largest at atom id \d+ "
            r"on rank [01]\)",
        )
        row = read_thermo(run.log)[0]
        self.assertEqual(row["f_check[9]"][0], 0)
        self.assertGreater(row["f_check[18]"][0], 1)
        self.assertEqual(row["f_check[18]"][0], row["f_check[10]"][0])

    def test_warns_and_goes_on_if_asked(self):
        run = self.run_fix("on_failure warn", environment={"NVALCHEMI_FAULT": "drop_forward"})
        run.require_success()
        self.assertRegex(one_line(run.output), "WARNING: .*differs from the undecomposed model")

    def test_message_names_quantity_atom_rank_and_remedy(self):
        run = self.run_fix("", environment={"NVALCHEMI_FAULT": "drop_forward"})
        self.assertRegex(
            one_line(run.message),
            r"step 0: .* forces by \S+ eV/A \(expected at most \S+; largest at atom "
            r"id \d+ on rank [01]\).* worst atoms: id \d+ on rank [01] by \S+ eV/A, "
            r"\d+\.\d\d A from a face.*largest force error of rank 0: [^,]+, 1: [^;]+; .*"
            r"Next: Do not change the spec: the same atoms on the same 2 ranks",
        )

    def test_figures(self):
        figures = " ".join(f"f_check[{k + 1}]" for k in range(FIGURES))
        run = self.run_fix(
            "every 2",
            [
                "fix move all nve",
                f"thermo_style custom step {figures}",
                "thermo_modify format float %.17g",
                "thermo 1",
                "run 5",
            ],
        )
        thermo = read_thermo(run.require_success().log)[0]
        for k in range(4):
            self.assertTrue((thermo[f"f_check[{k + 1}]"] <= thermo[f"f_check[{k + 5}]"]).all())
            self.assertTrue((thermo[f"f_check[{k + 5}]"] > 0).all())
        self.assertTrue((thermo["f_check[9]"] == 1).all())
        self.assertTrue((thermo["f_check[10]"] < 1).all())
        self.assertTrue((thermo["f_check[11]"] == 64).all())
        self.assertTrue((thermo["f_check[12]"] > 0).all())
        self.assertEqual(list(thermo["f_check[13]"]), [1, 1, 2, 2, 3, 3])
        self.assertTrue((thermo["f_check[18]"] == -1).all())

    def test_figures_of_a_failure(self):
        run = self.run_fix(
            "on_failure warn absolute 1e9 1e9 1e9 1e9",
            [
                "thermo_style custom step f_check[3] f_check[7] f_check[9] f_check[17]",
                "thermo_modify format float %.17g",
                "run 0",
            ],
            environment={"NVALCHEMI_FAULT": "drop_forward"},
        )
        thermo = read_thermo(run.require_success().log)[0]
        self.assertGreater(thermo["f_check[3]"][0], 1e-3)
        self.assertEqual(thermo["f_check[7]"][0], 1e9)
        # the numbers are within the tolerance, but the exchange is checked by itself
        self.assertEqual(thermo["f_check[9]"][0], 0)
        self.assertEqual(thermo["f_check[17]"][0], 0)
        self.assertRegex(
            one_line(run.output),
            "the decomposed run is not sound, although its numbers are those of the undecomposed "
            "model: the exchange is wrong: rank 0: halo row 0",
        )

    def test_no_relative_tolerance_is_below_rounding(self):
        archives = models(*(() if LONG else ("mace_rand_f64",)))
        sums = find_model("SENDER_SCATTER")
        for archive in (self.toy, sums, *archives):
            for ranks in (1, 2, 3):
                with self.subTest(model=archive.name, ranks=ranks):
                    run = self.run_fix("tolerance 1e-18", ranks=ranks, archive=archive)
                    self.assertNotIn("DIFFERENT", run.require_success().log)

    def test_a_fault_is_above_rounding(self):
        for fault in ("drop_forward", "round_rows"):
            run = self.run_fix("tolerance 1e-18", environment={"NVALCHEMI_FAULT": fault})
            self.assertNotEqual(run.status, 0)
            self.assertRegex(run.log, r"(?m)^  forces .* DIFFERENT$")

    def test_tolerance_below_rounding_fails(self):
        for words in ("absolute 1e-300 1e-300 1e-300 1e-300", "absolute 1 1 0 1"):
            run = self.run_fix(words, ranks=3)
            self.assertNotEqual(run.status, 0)
            self.assertIn("forces by", one_line(run.message))

    def test_fault_that_appears_later_is_found_at_the_next_check(self):
        run = self.run_fix(
            "every 3 absolute 1e-300 1e-300 1e-300 1e-300 on_failure warn",
            ["fix move all nve", "run 4"],
        )
        steps = re.findall(r"Validation by fix check at step (\d+)", run.require_success().log)
        self.assertEqual(steps, ["0", "3"])

    def test_every_family_of_runs(self):
        for lines in (
            ["minimize 0 0 3 10"],
            ["run 0", "run 0"],
            ["fix move all nve", "run 2", "run 2 pre no"],
        ):
            with self.subTest(lines=lines):
                run = self.run_fix("every 1", lines).require_success()
                self.assertNotIn("DIFFERENT", run.log)

    def test_group_selects_the_atoms_that_count(self):
        lines = []
        for name, atoms in (("first", "1:32"), ("second", "33:64"), ("both", "1:64")):
            lines += [
                f"group {name} id {atoms}",
                f"fix {name} {name} nvalchemi/validate on_failure warn absolute 0 0 0 0",
            ]
        lines += ["thermo_style custom step f_first[3] f_second[3] f_both[3]", "run 0"]
        settings = self.toy.settings(ranks=2)
        self.write_structure(self.structure)
        script = self.script(self.structure, settings, lines)
        run = self.run_input(script, 2, environment={"NVALCHEMI_FAULT": "drop_forward"})
        row = read_thermo(run.require_success().log)[0]
        first, second, both = (
            float(row[f"f_{name}[3]"][0]) for name in ("first", "second", "both")
        )
        self.assertGreater(min(first, second), 0.0)
        self.assertNotEqual(first, second)
        self.assertEqual(max(first, second), both)

    def test_instance_under_hybrid(self):
        d3 = model("d3bj_pbe")
        lines = (
            "pair_style hybrid/overlay nvalchemi nvalchemi",
            f'pair_coeff * * nvalchemi 1 "{self.toy.archive}" Na Cl',
            f'pair_coeff * * nvalchemi 2 "{d3.archive}" Na Cl',
        )
        for instance, rows in ((1, 5), (2, 6)):
            run = self.run_fix(f"instance {instance}", pair_lines=lines).require_success()
            self.assertEqual(run.log.count("same"), rows)
        for words, text in (("", "use keyword instance"), ("instance 3", "got instance 3")):
            run = self.run_fix(words, pair_lines=lines)
            self.assertNotEqual(run.status, 0)
            self.assertIn(text, one_line(run.message))

    def test_contribution_of_other_styles_is_left_out(self):
        lines = (
            "pair_style hybrid/overlay nvalchemi lj/cut 5.0",
            f'pair_coeff * * nvalchemi "{self.toy.archive}" Na Cl',
            "pair_coeff * * lj/cut 0.1 2.5",
        )
        for newton in ("on", "off"):
            run = self.run_fix(
                "", ["fix pull all addforce 0.1 0.2 0.3", "run 0"], pair_lines=lines, newton=newton
            ).require_success()
            self.assertEqual(run.log.count("same"), 5)

    def test_the_only_instance_under_hybrid_is_number_1(self):
        lines = (
            "pair_style hybrid/overlay nvalchemi lj/cut 5.0",
            f'pair_coeff * * nvalchemi "{self.toy.archive}" Na Cl',
            "pair_coeff * * lj/cut 0.1 2.5",
        )
        self.run_fix("instance 1", pair_lines=lines).require_success()
        run = self.run_fix("instance 2", pair_lines=lines)
        self.assertNotEqual(run.status, 0)
        self.assertIn("got instance 2", one_line(run.message))
        self.assertIn("there is 1", one_line(run.message))

    def test_bad_input_is_refused_with_the_reason(self):
        for words, text in (
            ("every -1", "every: got -1, expected a whole number of steps"),
            ("every 0.5", "every: got 0.5, expected a whole number of steps"),
            ("every other", "or 0 for set-up only, or once or rebalance"),
            ("tolerance 0", "tolerance: got 0, expected a number > 0"),
            ("tolerance tight", "tolerance: got tight, expected a number > 0"),
            ("absolute 1 1 1 -1", "absolute: got -1, expected numbers >= 0"),
            ("absolute 1 1", "absolute: got 2 values, expected 4"),
            ("absolute 1 1 x 1", "absolute: got x, expected numbers >= 0"),
            ("on_failure", "on_failure: got 0 values, expected 1"),
            ("on_failure ignore", "on_failure: got ignore, expected error or warn"),
            ("report check.txt", "report: got check.txt, expected the name of a file that ends"),
            ("world_size 0", "world_size: got 0, expected a number of virtual ranks from 1"),
            ("world_size two", "world_size: got two, expected a number of virtual ranks"),
            ("report r.json autofix yes", "autofix: got yes, expected no, report or apply"),
            ("autofix apply", "autofix: got no file for the spec that is found, expected keyword"),
            (
                "report none/r.json",
                "report: none/r.json cannot be written (No such file or directory); check",
            ),
            ("instance 0", "instance: got 0, expected a number >= 1"),
            ("instance 2", "in pair_style nvalchemi; there is 1"),
            ("limit 0", "limit: got 0, expected a whole number of atoms >= 1"),
            ("often yes", "got keyword 'often', expected every, tolerance"),
            ("mode gathered limit 63", "got 64 atoms, expected at most 63"),
        ):
            with self.subTest(words=words):
                run = self.run_fix(words)
                self.assertNotEqual(run.status, 0)
                self.assertIn(text, one_line(run.message))

    def test_a_report_is_tried_when_the_fix_is_read(self):
        (self.folder / "folder.json").mkdir()
        for name, reason in (("none/r.json", "No such file"), ("folder.json", "Is a directory")):
            run = self.run_fix(f"report {name}")
            self.assertNotEqual(run.status, 0)
            self.assertIn(f"keyword report: {name} cannot be written ({reason}", run.message)
            self.assertNotIn("Validation by", run.log)
        # what is there stays until there is a report, and nothing is left of a trial
        (self.folder / "old.json").write_text("kept")
        lines = ("fix tried all nvalchemi/validate report old.json", "unfix tried", "run 0")
        self.run_fix("report step.*.json", lines, ranks=2).require_success()
        self.assertEqual((self.folder / "old.json").read_text(), "kept")
        self.assertEqual([p.name for p in self.folder.glob("step*")], ["step.0.json"])

    def test_a_group_without_atoms_is_refused(self):
        run = self.run_fix(
            "", ["group nobody empty", "fix other nobody nvalchemi/validate", "run 0"]
        )
        self.assertNotEqual(run.status, 0)
        self.assertIn("got group nobody with none of the pair style's atoms", one_line(run.message))

    def test_a_group_that_becomes_empty_is_warned_of(self):
        lines = [
            "group few id 1:2",
            "fix few few nvalchemi/validate every 1",
            "fix move all nve",
            "run 1",
            "group few clear",
            "run 1 pre no",
        ]
        run = self.run_fix("", lines).require_success()
        self.assertIn("group few has none of the pair style's atoms left", one_line(run.output))

    def run_without_ids(self):
        return self.run_input(
            "\n".join(
                [
                    "units metal",
                    "atom_modify id no",
                    f"plugin load {self.installation.plugin}",
                    "region box block 0 20 0 20 0 20",
                    "create_box 2 box",
                    "create_atoms 1 single 5 5 5",
                    "create_atoms 2 single 7.5 5 5",
                    "mass 1 22.99",
                    "mass 2 35.45",
                    "pair_style nvalchemi",
                    f'pair_coeff * * "{self.toy.archive}" Na Cl',
                    "fix check all nvalchemi/validate",
                    "run 0",
                ]
            )
            + "\n",
            2,
        )

    def test_needs_the_pair_style_ids_and_verlet(self):
        other = ("pair_style lj/cut 5.0", "pair_coeff * * 0.1 2.5")
        for text, run in (
            ("got pair_style lj/cut, expected nvalchemi", self.run_fix("", pair_lines=other)),
            ("use run_style verlet", self.run_fix("", ["run_style respa 2 2 pair 1", "run 0"])),
            ("use atom_modify id yes", self.run_without_ids()),
        ):
            self.assertIn(text, one_line(run.message))
            self.assertNotEqual(run.status, 0)


if __name__ == "__main__":
    main()
