# SPDX-License-Identifier: GPL-2.0-only
"""fix nvalchemi/validate finds each fault planted in a run, gathered and sampled, and says that the
run is at fault, not the spec."""

from dataclasses import dataclass

from suite import LONG, find_model, main, one_line
from test_validate_report import ReportTest
from test_validate_sampled import ENERGIES, EXCHANGES, SLOPE, failed_checks

NETWORKS = ("mace_rand_f64", "nequip_rand_f64", "d3bj_pbe", "sevennet_0_f64", "SENDER_SCATTER")
MOVE = ["velocity all create 600.0 4711", "fix move all nve", "run 2"]


@dataclass
class Planted:
    """A value of NVALCHEMI_FAULT, with what the run is to be accused of and a check of the sampled
    mode that must fail, "" where that mode does not look."""

    text: str
    symptom: str
    sampled: str = EXCHANGES
    archives: tuple = ("toy_index_add",)
    numbers: bool = True  # a quantity differs, not only what the exchange was probed with
    step: int = 0  # of the comparison that must find it


PLAN, EDGES, ROUNDED = "exchange_plan", "incomplete_edges", "reduced_precision"
STALE = "stale_data"
OTHER = "run_differs_from_parts"
FAULTS = (
    # rows that are not sent, not all of them, or to the wrong place
    Planted("drop_forward", PLAN, archives=("toy_index_add", *NETWORKS)),
    Planted("drop_forward@1", PLAN),
    Planted("drop_forward#2", PLAN),
    Planted("drop_later_forward", PLAN, archives=("toy_index_add", "sevennet_0_f64")),
    Planted("drop_forward#3@0", PLAN, archives=("sevennet_0_f64",)),
    Planted("forget_last_row", PLAN, archives=("toy_index_add", *NETWORKS)),
    Planted("forget_last_row@1", PLAN),
    Planted("half_columns", PLAN, archives=("toy_index_add", "mace_rand_f64")),
    Planted("half_columns#2", PLAN),
    Planted("swap_halo_rows", PLAN),
    Planted("add_forward", PLAN, numbers=False),
    # rows of an earlier exchange, results of an earlier step
    Planted("stale_forward", PLAN, archives=("toy_index_add", "sevennet_0_f64")),
    Planted("stale_forward#2@1", OTHER, ENERGIES),
    Planted("stale_step", STALE, ENERGIES, ("toy_index_add", "mace_rand_f64"), step=1),
    Planted("stale_results", STALE, ENERGIES, step=1),
    # sums that are not made, made twice, or wrong
    Planted("skip_reverse", PLAN, archives=("toy_index_add", *NETWORKS)),
    Planted("skip_reverse@1", PLAN),
    Planted("skip_reverse#2@0", OTHER, SLOPE),
    Planted("no_zero_reverse", PLAN, archives=("toy_index_add", "SENDER_SCATTER")),
    Planted("negate_reverse", PLAN, archives=("toy_index_add", "nequip_rand_f64")),
    Planted("keep_halo_rows", PLAN, numbers=False),
    Planted("correct_twice", PLAN, archives=("SENDER_SCATTER",)),
    Planted("skip_sum", PLAN, archives=("MEAN_FIELD",)),
    Planted("double_sum", PLAN, archives=("MEAN_FIELD",), numbers=False),  # a mean of sums
    Planted("double_sum@1", PLAN, archives=("MEAN_FIELD",)),
    # precision
    Planted("round_rows", ROUNDED, archives=("toy_index_add", "sevennet_0_f64")),
    Planted("round_rows@1", ROUNDED),
    Planted("round_reverse", ROUNDED),
    Planted("round_results", ROUNDED, ENERGIES, ("toy_index_add", "mace_rand_f64")),
    # the plan and the map from ghosts to rows
    Planted("wrong_owner", PLAN, archives=("toy_index_add", *NETWORKS)),
    Planted("wrong_last_owner", PLAN),
    Planted("wrong_last_owner@0", PLAN),
    Planted("swap_rows", PLAN, archives=("toy_index_add", "nequip_rand_f64_energy")),
    Planted("swap_ghost_rows", PLAN, archives=("toy_index_add", *NETWORKS)),
    Planted("wrong_sender", EDGES, archives=("toy_index_add", *NETWORKS)),
    # edges
    Planted("swap_edges", EDGES, archives=("toy_index_add", "ACCUMULATING")),
    Planted("lose_edge", EDGES, EXCHANGES, archives=("toy_index_add", *NETWORKS)),
    Planted("lose_edge@1", EDGES),
    Planted("repeat_edge", EDGES),
    Planted("shift_image", EDGES, archives=("toy_index_add", *NETWORKS)),
    # results
    Planted("swap_energies", "atoms_permuted", ENERGIES),
    Planted("mix_outputs", OTHER, "", ("d3bj_pbe",)),
    # two at once
    Planted("round_rows+round_reverse", ROUNDED),
    Planted("drop_forward#2+lose_edge@1", EDGES),
    Planted("wrong_owner@0+skip_reverse@1", PLAN),
    Planted("round_results+swap_ghost_rows", PLAN),
)


class RunFaults(ReportTest):
    def cases(self, step):
        """(planted, archive, ranks); the CI tier takes one archive of each and two ranks, every
        `step`-th fault."""
        for planted in FAULTS if LONG else FAULTS[::step]:
            for name in planted.archives if LONG else planted.archives[:1]:
                if name == "sevennet_0_f64" and not LONG:
                    continue
                for ranks in (2, 3, 4) if LONG else (2,):
                    yield planted, name, ranks

    def plant(self, words, planted, name, ranks):
        archive = find_model(name)
        moments = "" if planted.step == 0 else " every 1"
        return self.run_fix(
            f"{words}{moments} on_failure warn",
            MOVE if planted.step else ["run 0"],
            ranks=ranks,
            archive=archive,
            structure=archive.case("nacl64")[0],
            fault=planted.text,
        ).require_success()

    def test_are_found_and_blamed_on_the_run(self):
        for planted, name, ranks in self.cases(1):
            with self.subTest(fault=planted.text, model=name, ranks=ranks):
                run = self.plant("report check.*.json", planted, name, ranks)
                report = self.report(f"check.{planted.step}.json")
                found, said = report["run"], report["diagnostics"]
                print(f"{planted.text:30} {name:24} {ranks} ranks: {said[0]['symptom']}")
                self.assertFalse(report["ok"])
                self.assertEqual(found["blame"], "run")
                self.assertEqual(said[0]["symptom"], planted.symptom)
                self.assertEqual(report["attempts"][0]["verdict"], "passed")
                differs = any(quantity["passed"] is False for quantity in found["quantities"])
                if name == planted.archives[0]:
                    self.assertEqual(differs, planted.numbers)
                text = "differs from" if differs else "is not sound, although its numbers"
                self.assertIn(text, one_line(run.output))
                self.assertIn("Next: Do not change the spec: the same atoms", one_line(run.output))
                self.assertIn(f"diagnosis: {planted.symptom}", run.log)

    def test_are_found_by_the_sampled_mode(self):
        for planted, name, ranks in self.cases(3):
            if not planted.sampled or name == "sevennet_0_f64":
                continue
            with self.subTest(fault=planted.text, model=name, ranks=ranks):
                words = "mode sampled sample 4 force_room 800"
                run = self.plant(words, planted, name, ranks)
                log = run.log[run.log.index(f"at step {planted.step}") - 60 :]
                self.assertIn(planted.sampled, failed_checks(log), log)

    def test_nothing_planted_is_found(self):
        for words in ("report check.*.json", "mode sampled sample 4 force_room 800"):
            run = self.run_fix(f"{words} every 1", MOVE, fault="").require_success()
            self.assertNotIn("DIFFERENT", run.log)
            self.assertNotIn("WRONG", run.log)

    def test_a_fault_on_a_rank_that_there_is_not_changes_nothing(self):
        run = self.run_fix("report check.json", fault="drop_forward@7+lose_edge@7")
        run.require_success()
        self.assertIn("RESULTS ARE WRONG", one_line(run.output))
        self.assertTrue(self.report()["ok"])

    def test_unknown_faults_are_refused(self):
        run = self.run_fix("", fault="drop_forward+drop")
        self.fails(run, "NVALCHEMI_FAULT: got 'drop', expected NAME, NAME#CALL or NAME@RANK")


if __name__ == "__main__":
    main()
