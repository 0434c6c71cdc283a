# SPDX-License-Identifier: GPL-2.0-only
"""What goes wrong on one rank stops all ranks, soon, with the reason and a non-zero status."""

import os
import re
import signal
import threading
import time
from pathlib import Path

import numpy as np
import scripted
from suite import LammpsTest, cluster, main, model, scripted_model
from test_empty_ranks import CUBE_SYMBOLS, MOLECULE

SECONDS = 30


def two_molecules(distance):
    """Two molecules, one on each half of a long box; two atoms of one are `distance` apart."""
    second = MOLECULE.copy()
    second[1] = second[0] + [0.0, 0.0, distance]
    return cluster(
        CUBE_SYMBOLS * 2,
        np.concatenate([MOLECULE + [4.0, 4.0, 4.0], second + [34.0, 4.0, 4.0]]),
        [48.0, 12.0, 12.0],
    )


class RankFailure(LammpsTest):
    def run_network(self, archive, structure, ranks=2, lines=("run 0",)):
        settings = archive.settings(ranks=ranks, processors=f"{ranks} 1 1")
        self.write_structure(structure)
        return self.run_input(self.script(structure, settings, lines), ranks, timeout=120)

    def stops(self, run, usual, *texts):
        """`usual`: seconds that a run without the failure takes."""
        message = " ".join(run.message.split())
        self.assertNotIn(run.status, (0, None), message)
        self.assertLess(run.seconds, usual + SECONDS)
        for text in texts:
            self.assertRegex(message, text)

    def test_model_that_throws_on_one_rank(self):
        for name, body in (
            ("one_layer", scripted.THROWS_FOR_CLOSE_PAIRS),
            ("three_layers", scripted.LAYER + scripted.THROWS_FOR_CLOSE_PAIRS + scripted.LAYER),
        ):
            archive = scripted_model("throws_" + name, body, None)
            for ranks in (2, 3):
                with self.subTest(name=name, ranks=ranks):
                    usual = self.run_network(archive, two_molecules(2.6), ranks).require_success()
                    self.stops(
                        self.run_network(archive, two_molecules(1.2), ranks),
                        usual.seconds,
                        f"rank {ranks - 1}: .*index",
                    )

    def test_model_that_gives_no_number_on_one_rank(self):
        archive = scripted_model("nan", scripted.NAN_FOR_CLOSE_PAIRS, None)
        for ranks in (2, 3):
            usual = self.run_network(archive, two_molecules(2.6), ranks).require_success()
            self.stops(
                self.run_network(archive, two_molecules(1.2), ranks),
                usual.seconds,
                f"rank {ranks - 1}: the energy of atom [0-9]+ .*is not finite",
            )

    def test_failure_during_a_run(self):
        archive = scripted_model(
            "throws_three_layers",
            scripted.LAYER + scripted.THROWS_FOR_CLOSE_PAIRS + scripted.LAYER,
            None,
        )
        # the tenth atom flies towards the ninth
        run = self.run_network(
            archive,
            two_molecules(2.6),
            2,
            [
                "group flier id 10",
                "velocity flier set 0.0 0.0 -100.0",
                "fix move all nve",
                "timestep 0.001",
                "thermo 1",
                "run 100",
            ],
        )
        self.stops(run, SECONDS, "rank 1: ")
        self.assertRegex(run.log, r"(?m)^ +5 ")

    def test_reference_that_cannot_be_evaluated(self):
        archive = scripted_model("at_most_15_rows", scripted.AT_MOST_15_ROWS, None)
        structure = two_molecules(2.6)
        usual = self.run_network(archive, structure).require_success()
        self.stops(
            self.run_network(archive, structure, 2, ["fix check all nvalchemi/validate", "run 0"]),
            usual.seconds,
            "undecomposed reference could not be evaluated on rank 0: .*planted failure",
        )

    def test_killed_rank_ends_the_others(self):
        toy = model("toy_index_add")
        structure = toy.case("nacl64")[0]
        settings = toy.settings(ranks=2)
        self.write_structure(structure)
        # with the fix, ranks spend most of their time in its comparisons
        for check in ([], ["fix check all nvalchemi/validate every 1"]):
            with self.subTest(check=check):
                (self.folder / "started").unlink(missing_ok=True)
                killer = threading.Thread(target=self.kill_one_rank, daemon=True)
                killer.start()
                start = time.monotonic()
                lines = [*check, "fix move all nve", 'print "running" file started', "run 1000000"]
                run = self.run_input(self.script(structure, settings, lines), 2, timeout=120)
                killer.join()
                self.assertNotIn(run.status, (0, None))
                self.assertLess(time.monotonic() - max(start, self.killed), SECONDS)

    def kill_one_rank(self):
        """Kill the lmp process with the highest id in our folder once it computes."""
        self.killed = 0.0
        for _ in range(1000):
            time.sleep(0.1)
            if (self.folder / "started").exists():
                break
        ranks = []
        for process in Path("/proc").iterdir():
            try:
                if (
                    process.name.isdigit()
                    and (process / "cwd").resolve() == self.folder
                    and re.match("lmp", (process / "comm").read_text())
                ):
                    ranks.append(int(process.name))
            except OSError:
                continue  # it has just ended
        if ranks:
            os.kill(max(ranks), signal.SIGKILL)
        self.killed = time.monotonic()


if __name__ == "__main__":
    main()
