# SPDX-License-Identifier: GPL-2.0-only
"""fix nvalchemi/validate in its sampled mode: no false alarm, the verdicts of the gathered mode."""

import re

import scripted
from simulation import read_loop_seconds, read_thermo
from suite import (
    LONG,
    ValidateTest,
    cluster,
    find_model,
    main,
    models,
    one_line,
    scripted_model,
)

FAULTS = (
    "drop_forward",
    "no_zero_reverse",
    "skip_reverse",
    "correct_twice",
    "swap_edges",
    "wrong_owner",
    "swap_rows",
    "round_rows",
    "drop_later_forward",
    "swap_energies",
)
# of these, what changes the energies of at least one atom in ten of a stratum if it changes any
WIDE = ("drop_forward", "swap_edges", "round_rows", "swap_energies")
# checks of the report, by the beginnings of their lines
EXCHANGES, ENERGIES, FORCES, SLOPE = "exchanges", "atomic energies", "forces", "all forces"
QUICK = "sample 4 force_room 800"


def report(log):
    """The lines of the first sampled report of a log."""
    found = re.search(r"^Validation by fix \S+ at step .* sampled .*\n(?:  .*\n)*", log, re.M)
    return found.group(0) if found else ""


def failed_checks(log):
    return [
        name
        for name in (EXCHANGES, ENERGIES, FORCES, SLOPE)
        if re.search(rf"^  {name}\b.*: DIFFERENT$", report(log), re.M)
    ]


def passed_checks(log):
    return [
        name
        for name in (EXCHANGES, ENERGIES, FORCES, SLOPE)
        if re.search(rf"^  {name}\b.*: same$", report(log), re.M)
    ]


class ValidateSampled(ValidateTest):
    words = f"mode sampled {QUICK}"
    timeout = 900

    def assert_passes(self, run, checks=(EXCHANGES, ENERGIES, SLOPE)):
        log = run.require_success().log
        self.assertEqual(failed_checks(log), [])
        self.assertEqual([name for name in checks if name not in passed_checks(log)], [], log)
        return report(log)

    def test_no_false_alarm_on_any_number_of_ranks(self):
        for ranks in (1, 2, 3, 4):
            for crystal in ("nacl64", "si64"):
                with self.subTest(ranks=ranks, crystal=crystal):
                    structure = self.toy.case(crystal)[0]
                    text = self.assert_passes(self.run_fix(ranks=ranks, structure=structure))
                    self.assertIn(f"64 atoms on {ranks} rank", text)

    def test_no_false_alarm_for_any_model(self):
        names = ("mace_rand_f64", "nequip_rand_f64_energy", "allegro_rand_f64_energy")
        for archive in models(*(() if LONG else names)):
            slow = "sevennet" in archive.name
            for ranks in (1, 2, 3, 4) if LONG and not slow else (2,):
                with self.subTest(model=archive.name, ranks=ranks):
                    words = f"mode sampled {'sample 1 force_room 0' if slow else QUICK}"
                    self.assert_passes(self.run_fix(words, ranks=ranks, archive=archive))

    def test_direct_forces_where_there_is_room(self):
        for name in ("mace_rand_f64", "SENDER_SCATTER"):
            run = self.run_fix("mode sampled sample 2 force_room 3000", archive=find_model(name))
            text = self.assert_passes(run, (EXCHANGES, ENERGIES, FORCES, SLOPE))
            self.assertRegex(text, r"  forces: \d+ atoms, with the atoms within 4 steps of them")

    def test_box_kinds_and_decompositions(self):
        overlay = (
            "pair_style hybrid/overlay nvalchemi lj/cut 5.0",
            f'pair_coeff * * nvalchemi "{self.toy.archive}" Na Cl',
            "pair_coeff * * lj/cut 0.1 2.5",
        )
        for note, options in (
            ("open", {"structure": self.structure.opened((True, False, True))}),
            ("cluster", {"structure": self.structure.opened((False, False, False))}),
            ("longer", {"structure": self.structure.repeated((3, 1, 1)), "ranks": 3}),
            ("newton off", {"newton": "off"}),
            ("units", {"units": "real"}),
            ("beside another style", {"pair_lines": overlay}),
            ("tiled", {"comm": "tiled", "skin": 0.5}),
        ):
            with self.subTest(note):
                self.assert_passes(self.run_fix(**options))

    def test_single_precision(self):
        network = scripted_model("single", scripted.ACCUMULATING, 2, "float32")
        self.assert_passes(self.run_fix(archive=network))
        run = self.run_fix(archive=network, environment={"NVALCHEMI_FAULT": "skip_reverse"})
        self.assertEqual(failed_checks(run.log), [EXCHANGES, FORCES, SLOPE])

    def test_a_small_limit_forces_sampling(self):
        run = self.run_fix(f"limit 63 {QUICK}")
        self.assertIn("64 atoms on 2 ranks, sampled", self.assert_passes(run))
        self.assertNotIn("against the undecomposed model", run.log)
        run = self.run_fix(f"limit 64 {QUICK}").require_success()
        self.assertEqual(report(run.log), "")
        self.assertIn("against the undecomposed model", run.log)

    def test_report_says_what_was_looked_at(self):
        text = self.assert_passes(self.run_fix())
        steps = self.toy.exchanges + 1
        self.assertRegex(text, r"exchanges: all [1-9]\d* halo rows of all ranks")
        # all images within reach would be more than the system has
        for name, reach in (("energies", steps), ("forces", 2 * steps)):
            self.assertRegex(text, rf"{name}: 8 atoms, .* {reach} steps .* \(at most 64 together\)")
        self.assertRegex(
            text, r"3/K = 0.38 of all atoms do, and fewer than 0.75 of any .* 2 strata"
        )
        self.assertRegex(
            text,
            r"rank 0 beside rank 1: K = 4 of \d+ atoms; a fault in 75 % of them would be seen",
        )
        self.assertIn("one step is 5 Angstrom at most; one step more changes", text)
        text = self.assert_passes(self.run_fix("mode sampled force_room 10"))
        self.assertIn(f"forces: not compared: more than 10 atoms within {2 * steps} steps", text)
        self.assertIn("taken from the run, not checked", text)
        self.assertIn("not seen: wrong energies of atoms outside of the sample", text)

    def test_surroundings_are_cut_out_of_a_larger_system(self):
        archive = find_model("SENDER_SCATTER")
        structure = self.structure.repeated((3, 2, 2))
        for ranks, words in ((1, "sample 2"), (3, "sample 2"), (2, "sample 6 room 260")):
            with self.subTest(ranks=ranks, words=words):
                run = self.run_fix(
                    f"mode sampled {words}", archive=archive, structure=structure, ranks=ranks
                )
                text = self.assert_passes(run)
                together = int(re.search(r"energies: .* \(at most (\d+) together\)", text).group(1))
                self.assertLess(together, 600)
                self.assertGreater(together, 50)
                self.assertNotIn("left out", text)

    def test_the_default_sample_finds_a_fault_in_one_atom_in_ten(self):
        archive = find_model("SENDER_SCATTER")
        structure = self.structure.repeated((3, 2, 2))
        found = {}
        for sample in ("", "sample 1"):
            found[sample] = 0
            for seed in (1, 2, 3, 4):
                run = self.run_fix(
                    f"mode sampled force_room 0 on_failure warn seed {seed} {sample}",
                    archive=archive,
                    structure=structure,
                    environment={"NVALCHEMI_FAULT": "swap_energies"},
                ).require_success()
                found[sample] += ENERGIES in failed_checks(run.log)
                if not sample:
                    self.assertRegex(
                        report(run.log),
                        r"rank 1 beside rank 0: K = 30 of \d{3} atoms; a fault in 10 % of them",
                    )
        self.assertEqual(found[""], 4)
        self.assertLess(found["sample 1"], 4)

    def verdicts(self, archive, fault, ranks, structure):
        """What each mode finds wrong; empty: nothing."""
        found = []
        for words in ("mode gathered", "mode sampled force_room 800"):
            run = self.run_fix(
                f"{words} on_failure warn",
                ranks=ranks,
                archive=archive,
                structure=structure,
                environment={"NVALCHEMI_FAULT": fault},
            ).require_success()
            found.append(
                failed_checks(run.log)
                if "sampled" in words
                else re.findall(r"^  (\w+(?: energies)?) .*DIFFERENT", run.log, re.M)
                + [EXCHANGES] * ("exchange WRONG" in run.log)
            )
        return found

    def test_verdicts_are_those_of_the_gathered_mode(self):
        names = ["toy_index_add", "SENDER_SCATTER"]
        if LONG:
            names += ["mace_rand_f64", "nequip_rand_f64_energy", "allegro_rand_f64_energy"]
            names += ["d3bj_pbe", "ACCUMULATING"]
        for name in names:
            archive = find_model(name)
            big = LONG and name != "d3bj_pbe"
            structure = archive.case("nacl64")[0].repeated((4, 4, 4) if big else (1, 1, 1))
            for fault in FAULTS:
                with self.subTest(model=name, fault=fault):
                    gathered, sampled = self.verdicts(archive, fault, 2, structure)
                    print(
                        f"{name:24} {fault:16} {len(structure)} atoms, gathered: "
                        f"{', '.join(gathered) or 'same'}; sampled: {', '.join(sampled) or 'same'}"
                    )
                    self.assertEqual(bool(sampled), bool(gathered))
                    self.assertEqual(EXCHANGES in sampled, EXCHANGES in gathered)
                    if fault in WIDE:
                        self.assertEqual(ENERGIES in sampled, ENERGIES in gathered)

    def test_faults_of_the_plan_are_found_without_sampling(self):
        for fault in ("drop_forward", "skip_reverse", "no_zero_reverse", "wrong_owner"):
            with self.subTest(fault=fault):
                run = self.run_fix("mode sampled room 1", environment={"NVALCHEMI_FAULT": fault})
                self.assertNotEqual(run.status, 0)
                self.assertIn(EXCHANGES, failed_checks(run.log))
                self.assertNotIn(ENERGIES, failed_checks(run.log))
                self.assertRegex(
                    one_line(run.message),
                    r"differs from the undecomposed model where it was sampled: exchanges between "
                    r"ranks deliver \d+ wrong rows \(first: .*Next: Do not change the spec: the "
                    r"exchange of this run is wrong",
                )

    def test_edges_that_point_the_wrong_way_show_in_every_check(self):
        run = self.run_fix(environment={"NVALCHEMI_FAULT": "swap_edges"})
        self.assertEqual(failed_checks(run.log), [EXCHANGES, ENERGIES, FORCES, SLOPE])
        self.assertRegex(
            one_line(run.message),
            r"\(first: rank 0: an edge from atom \d+ to atom \d+ has another vector than lies "
            r"between them\), atomic energies by \S+ eV \(expected at most \S+; largest at atom id "
            r"\d+ on rank [01]\), forces by .* all forces along a random direction differ from the "
            r"slope of the energy by",
        )

    def test_group_selects_the_atoms_that_count(self):
        lines = ["group few id 1:3", "fix few few nvalchemi/validate mode sampled", "run 0"]
        text = self.assert_passes(self.run_fix("on_failure warn", lines))
        self.assertIn("atomic energies: 3 atoms, with the atoms within", text)

    def test_sample_follows_from_the_seed(self):
        def worst(seed):
            words = (
                f"mode sampled sample 2 seed {seed} absolute 0 0 0 0 on_failure warn force_room 0"
            )
            return re.search(r"decomposed energy: (\S+) and", self.run_fix(words).log).group(1)

        self.assertEqual(worst(5), worst(5))
        self.assertNotEqual(worst(5), worst(6))

    def test_what_cannot_be_compared_is_said(self):
        network = find_model("MEAN_FIELD")
        text = self.assert_passes(self.run_fix(archive=network), (EXCHANGES, SLOPE))
        self.assertEqual(text.count("not compared: the model sums over the whole system"), 2, text)
        text = self.assert_passes(self.run_fix(skin=0.001), (EXCHANGES, ENERGIES))
        self.assertIn("not compared: it moves atoms by up to", text)
        text = self.assert_passes(self.run_fix("mode sampled room 10"), (EXCHANGES, SLOPE))
        self.assertRegex(text, r"more than 10 atoms within \d steps of an atom; raise keyword room")

    def test_figures(self):
        figures = " ".join(f"f_check[{k + 1}]" for k in range(13))
        run = self.run_fix(
            f"mode sampled every 2 {QUICK}",
            [
                "fix move all nve",
                f"thermo_style custom step {figures}",
                "thermo_modify format float %.17g",
                "thermo 1",
                "run 3",
            ],
        )
        thermo = read_thermo(run.require_success().log)[0]
        for k in (1, 4):
            self.assertTrue((thermo[f"f_check[{k}]"] == -1).all())
        for k in (2, 3):
            self.assertTrue((thermo[f"f_check[{k}]"] <= thermo[f"f_check[{k + 4}]"]).all())
            self.assertTrue((thermo[f"f_check[{k + 4}]"] > 0).all())
        self.assertTrue((thermo["f_check[9]"] == 1).all())
        self.assertTrue((thermo["f_check[11]"] == 8).all())
        self.assertEqual(list(thermo["f_check[13]"]), [1, 1, 2, 2])

    def test_dynamics_are_not_disturbed(self):
        lines = [
            "velocity all create 300.0 4711",
            "fix move all nve",
            "thermo 1",
            "thermo_modify format float %.17g",
            "run 5",
        ]
        energies = [
            read_thermo(self.run_fix(words, lines).require_success().log)[0]["TotEng"]
            for words in ("", f"mode sampled every 1 {QUICK}")
        ]
        self.assert_close(energies[1], energies[0], 1e-14)

    def test_failing_reference_stops_all_ranks_with_the_reason(self):
        # the middle rank has 12 atoms and sees one of either neighbour; two steps reach two
        places = [[2.0 + 4.0 * k, 5.0, 5.0] for k in range(36)]
        chain = cluster(["Na"] * 36, places, (144.0, 10.0, 10.0))
        body = scripted.LAYER + scripted.AT_MOST_15_ROWS
        network = scripted_model("at_most_15_rows_two_layers", body, None)
        run = self.run_fix(archive=network, structure=chain, ranks=3, processors="3 1 1")
        self.assertNotEqual(run.status, 0)
        self.assertIn(
            "the undecomposed reference of sampled atoms could not be evaluated",
            one_line(run.message),
        )
        self.assertIn("planted failure", one_line(run.message))

    def test_bad_input_is_refused_with_the_reason(self):
        for words, text in (
            ("mode partly", "mode: got partly, expected auto, gathered or sampled"),
            ("sample 0", "sample: got 0, expected a whole number of atoms of each stratum >= 1"),
            ("sample 1.5", "sample: got 1.5, expected a whole number of atoms of each stratum"),
            ("room 0", "room: got 0, expected a whole number of atoms around one >= 1"),
            ("force_room -1", "force_room: got -1, expected a whole number of atoms around those"),
            ("seed 0", "seed: got 0, expected a whole number >= 1"),
            ("often yes", "limit, mode, sample, room, force_room, seed, report"),
        ):
            with self.subTest(words=words):
                run = self.run_fix(words)
                self.assertNotEqual(run.status, 0)
                self.assertIn(text, one_line(run.message))

    def test_costs_less_than_five_steps_in_a_hundred(self):
        if not LONG:
            self.skipTest("takes --long")
        names = ("toy_index_add", "mace_rand_f64", "nequip_rand_f64_energy")
        for name, ranks in [(name, ranks) for name in names for ranks in (2, 4)]:
            archive = find_model(name)
            run = self.run_fix(
                "mode sampled",
                ["fix move all nve", "run 0", "unfix check", "run 1", "run 5"],
                ranks=ranks,
                archive=archive,
                structure=archive.case("nacl64")[0].repeated((4, 4, 4)),
            ).require_success()
            seconds, steps = read_loop_seconds(run.log)[2]
            check = float(re.search(r"sampled \((\S+) s\)", run.log).group(1))
            share = check / (100 * seconds / steps)
            print(f"{name} on {ranks} ranks: {check:.3g} s, {100 * share:.2f} % of 100 steps")
            self.assertLess(share, 0.05)


if __name__ == "__main__":
    main()
