# SPDX-License-Identifier: GPL-2.0-only
"""Drills: a rank that is killed in each phase, a full disk, a signal, memory that runs out, a model
file that is replaced. All ranks stop, soon, with a reason; nothing that was written is damaged."""

import os
import re
import signal
import threading
import time
import unittest
from pathlib import Path

import numpy as np
from simulation import read_thermo
from suite import LONG, LammpsTest, main, model

SECONDS = 30
DYNAMICS = ["velocity all create 300.0 4711", "fix move all nve", "timestep 0.001", "thermo 1"]


def ranks_in(folder):
    """Process ids of the programs named lmp that run in `folder`."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if (
                process.name.isdigit()
                and (process / "cwd").resolve() == folder
                and re.match("lmp", (process / "comm").read_text())
            ):
                found.append(int(process.name))
        except OSError:
            continue  # it has just ended
    return sorted(found)


class Drill(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = self.toy.case("nacl64")[0]

    def drill(self, lines, ranks=2, archive=None, structure=None, **options):
        structure = structure or self.structure
        settings = (archive or self.toy).settings(ranks=ranks)
        self.write_structure(structure)
        return self.run_input(
            self.script(structure, settings, lines), ranks, **{"timeout": 120, **options}
        )

    def stopped(self, run, usual, *reasons):
        self.assertNotIn(run.status, (0, None), run.output[-2000:])
        self.assertLess(run.seconds, usual + SECONDS)
        for reason in reasons:
            self.assertRegex(" ".join(run.output.split()), reason)
        self.assertEqual(ranks_in(self.folder), [])


class KilledRank(Drill):
    """By SIGKILL, as the system does it where memory runs out."""

    LINES = (
        "fix cut all balance 2 1.0 shift x 5 1.01",
        "neigh_modify every 2 delay 0 check no",
        "fix check all nvalchemi/validate every 5 report report.json",
        *DYNAMICS,
        "run 10",
    )

    def test_in_each_phase(self):
        usual = self.drill(self.LINES).require_success()
        for phase in ("load", "rows", "model", "exchange", "check"):
            for victim in (0, 1):
                with self.subTest(phase=phase, victim=victim):
                    fault = {victim: {"NVALCHEMI_FAULT": f"die_in_{phase}"}}
                    run = self.drill(self.LINES, ranks_environment=fault)
                    self.stopped(run, usual.seconds, "(?i)killed|signal: 9|exit code: 9")
                    self.assertNotIn("Total wall time", run.output)


class Signal(Drill):
    def send(self, number, to_all):
        """Run until step 20 has been written, then send the signal."""

        def wait_and_send():
            log = self.folder / "log.lammps"
            for _ in range(600):
                time.sleep(0.1)
                if log.exists() and re.search(r"(?m)^ +20 ", log.read_text(errors="replace")):
                    break
            self.sent = time.monotonic()
            for process in ranks_in(self.folder)[: None if to_all else 1]:
                os.kill(process, number)

        thread = threading.Thread(target=wait_and_send, daemon=True)
        thread.start()
        lines = ["thermo_modify flush yes", *DYNAMICS, "thermo_modify flush yes"]
        run = self.drill([*lines, "run 1000000"])
        thread.join()
        self.assertNotIn(run.status, (0, None))
        self.assertLess(time.monotonic() - self.sent, SECONDS)
        self.assertEqual(ranks_in(self.folder), [])
        return run

    def test_sigterm_ends_all_ranks(self):
        for to_all in (True, False):
            with self.subTest(to_all=to_all):
                run = self.send(signal.SIGTERM, to_all)
                self.assertRegex(" ".join(run.output.split()), "(?i)terminated|signal: 15|code: 15")

    def test_sigsegv_of_one_rank_ends_the_other(self):
        run = self.send(signal.SIGSEGV, False)
        self.assertRegex(" ".join(run.output.split()), "(?i)segmentation|signal: 11|code: 11|139")


class FullDisk(Drill):
    def test_report_of_the_validator(self):
        words = "fix check all nvalchemi/validate report {}"
        usual = self.drill([words.format("good.json"), "run 0"]).require_success()
        (self.folder / "full.json").symlink_to("/dev/full")
        run = self.drill([words.format("full.json"), "run 0"])
        self.stopped(
            run,
            usual.seconds,
            r"ERROR.*full\.json cannot be written \(No space left on device\); what is there is "
            "not complete",
        )


class OutOfMemory(Drill):
    """Address space that ends during an evaluation, on one rank."""

    def limited(self, kilobytes, rank):
        """A program that stands in for lmp and limits one rank."""
        script = self.folder / "lmp_limited"
        script.write_text(
            "#!/bin/sh\n"
            f'[ "${{PMI_RANK:-0}}" = {rank} ] && ulimit -v {kilobytes}\n'
            f'exec "{self.real}" "$@"\n'
        )
        script.chmod(0o755)
        self.installation.lammps = str(script)

    @unittest.skipUnless(LONG, "takes a minute")
    def test_stops_all_ranks_before_the_step_is_written(self):
        self.real = self.installation.lammps
        archive = model("mace_rand_f64")
        small = archive.case("nacl64")[0]
        large = small.repeated((6, 6, 4))
        peaks = self.folder / "peaks"
        peaks.write_text(
            'for p in /proc/[0-9]*; do [ "$(readlink $p/cwd)" = "$PWD" ] && '
            "grep VmPeak $p/status; done; true\n"
        )
        least, most = (
            max(map(int, re.findall(r"VmPeak:\s+(\d+)", run.require_success().output)))
            for run in (
                self.drill(["run 0", "shell sh peaks"], archive=archive, structure=box)
                for box in (small, large)
            )
        )
        self.assertGreater(most, least + 50_000, "kB that more atoms need")
        limit = (least + most) // 2
        for rank in (0, 1):
            self.limited(limit, rank)
            with self.subTest(rank=rank):
                run = self.drill([*DYNAMICS, "run 1"], archive=archive, structure=large)
                self.stopped(run, run.seconds, f"ERROR.*rank {rank}: .*(allocat|memory)")
                self.assertEqual(read_thermo(run.log), [])
                self.assertNotIn("Loop time", run.log)
        self.limited(limit, 7)  # nobody
        self.drill(["run 0"], archive=archive, structure=large).require_success()


class ReplacedModel(Drill):
    def test_a_run_keeps_the_model_that_it_has_read(self):
        own = self.folder / "own.pt"
        content = Path(self.toy.archive).read_bytes()
        card = Path(self.toy.archive).with_suffix(".card.json").read_text()
        own.with_suffix(".card.json").write_text(card)
        found = []
        for change in ("true", "head -c 1000 own.pt > new; cat new > own.pt", "rm own.pt"):
            own.write_bytes(content)
            settings = self.toy.settings(
                ranks=2, pair_lines=("pair_style nvalchemi", "pair_coeff * * own.pt Na Cl")
            )
            self.write_structure(self.structure)
            lines = [
                *DYNAMICS,
                "run 2",
                f'shell sh -c "{change}"',
                "fix check all nvalchemi/validate every 2",
                "run 4",
            ]
            run = self.run_input(self.script(self.structure, settings, lines), 2).require_success()
            self.assertNotIn("DIFFERENT", run.log)
            found.append(read_thermo(run.log)[-1]["E_pair"])
        for energies in found[1:]:
            self.assertTrue(np.array_equal(energies, found[0]))


if __name__ == "__main__":
    main()
