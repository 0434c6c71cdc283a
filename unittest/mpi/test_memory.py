# SPDX-License-Identifier: GPL-2.0-only
"""Memory: steady over a long run whose box and sub-domains change, none of it on the stack, less on
each rank the more ranks there are."""

import re
import threading
from pathlib import Path

import numpy as np
import scripted
from suite import LONG, LammpsTest, main, model, scripted_model

STEPS = 100_000 if LONG else 2_000
SETTLED = 1_000  # steps after which memory may grow no more
EVERY = 1_000 if LONG else 500
GROWTH = 0.01


class MemoryWatch(threading.Thread):
    """Resident memory of the ranks that run in `folder`, when marker files reached.STEP appear."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.seen = folder, {}
        self.done = threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()

    def run(self):
        while not self.done.wait(0.05):
            for marker in self.folder.glob("reached.*"):
                step = int(marker.suffix[1:])
                if step not in self.seen:
                    self.done.wait(0.2)  # all ranks wait for the first, which sleeps
                    self.seen[step] = self.resident()

    def resident(self):
        """Process id -> kB, for programs named lmp whose working folder is ours."""
        found = {}
        for process in Path("/proc").iterdir():
            try:
                if (
                    process.name.isdigit()
                    and (process / "cwd").resolve() == self.folder
                    and (process / "comm").read_text().strip().startswith("lmp")
                ):
                    status = (process / "status").read_text()
                    found[process.name] = int(status.split("VmRSS:")[1].split()[0])
            except (OSError, IndexError):
                continue  # the process has just ended
        return found

    def series(self):
        """(steps, kB of each rank at each of them); what is not there throughout has been a
        passing child."""
        steps = sorted(self.seen)
        ranks = set.intersection(*(set(self.seen[step]) for step in steps))
        return steps, {
            rank: np.array([self.seen[step][rank] for step in steps]) for rank in sorted(ranks)
        }


class Soak(LammpsTest):
    def watch(self):
        toy = model("toy_index_add")
        structure = toy.case("nacl64")[0]
        # keeps atoms apart, whatever the toy network's random weights make of them
        wall = (
            "pair_style hybrid/overlay nvalchemi lj/cut 2.245",
            f'pair_coeff * * nvalchemi "{toy.archive}" Na Cl',
            "pair_coeff * * lj/cut 1.0 2.0",
        )
        settings = toy.settings(ranks=2, pair_lines=wall)
        lines = [
            "velocity all create 400.0 4711",
            "fix move all nvt temp 400 400 0.1",
            # whole periods within EVERY: each run starts to wiggle from the box that it finds
            "fix wiggle all deform 1 x wiggle 0.4 0.5 y wiggle 0.3 0.25 remap x",
            "fix cut all balance 50 1.0 shift x 10 1.01",
            "timestep 0.001",
            f"thermo {EVERY}",
            f'run {STEPS} every {EVERY} "shell touch reached.$(step:%.0f)" "shell sleep 0.5"',
        ]
        self.write_structure(structure)
        script = self.script(structure, settings, lines)
        with MemoryWatch(self.folder) as watch:
            self.run_input(script, 2, timeout=7000).require_success()
        steps, ranks = watch.series()
        self.assertEqual(len(ranks), 2)
        self.assertGreaterEqual(len(steps), STEPS // EVERY - 1)
        return np.array(steps), ranks

    def growth(self, steps, kilobytes):
        """From the first to the last that was seen once settled."""
        settled = kilobytes[steps >= SETTLED]
        return settled[-1] / settled[0] - 1.0

    def test_memory_does_not_grow(self):
        steps, ranks = self.watch()
        for rank, kilobytes in ranks.items():
            print(f"{steps[-1]} steps, process {rank}: {kilobytes.tolist()} kB")
            self.assertLess(self.growth(steps, kilobytes), GROWTH, f"kB of process {rank}")


class Stack(LammpsTest):
    def test_a_million_edges_on_a_small_stack(self):
        archive = scripted_model("one_layer", scripted.LAYER, 0)
        structure = archive.case("nacl64")[0].repeated((13, 12, 5) if LONG else (5, 5, 3))
        self.write_structure(structure)
        limited = self.folder / "lmp_limited"
        limited.write_text(f'#!/bin/sh\nulimit -s 512\nexec "{self.installation.lammps}" "$@"\n')
        limited.chmod(0o755)
        self.installation.lammps = str(limited)
        script = self.script(structure, archive.settings(ranks=2), ["run 0"])
        run = self.run_input(script, 2).require_success()
        edges = re.search(r"edges \d+/([\d.]+)/\d+", run.log)
        self.assertGreater(2 * float(edges.group(1)), 1e6 if LONG else 1e5)


class Halo(LammpsTest):
    """The halo is one cutoff wide, so that each rank holds less the more ranks there are."""

    def rows(self, layers, grid, structure):
        archive = scripted_model(f"{layers}_layers", scripted.LAYER * layers, None)
        ranks = int(np.prod([int(word) for word in grid.split()]))
        settings = archive.settings(ranks=ranks, processors=grid)
        run = self.run_structure(structure, settings, ["run 0"])
        owned, halo = (
            int(re.search(name + r" \d+/[\d.]+/(\d+)", run.log).group(1))
            for name in ("owned", "halo")
        )
        return owned, halo

    def test_does_not_depend_on_the_number_of_layers(self):
        structure = model("toy_index_add").case("nacl64")[0].repeated((4, 1, 1))
        one, four = (self.rows(layers, "2 1 1", structure) for layers in (1, 4))
        self.assertEqual(one, four)
        self.assertLess(one[1], one[0])

    def test_rows_of_a_rank_fall_with_the_number_of_ranks(self):
        structure = model("toy_index_add").case("nacl64")[0].repeated((8, 1, 1))
        most = [sum(self.rows(4, grid, structure)) for grid in ("1 1 1", "2 1 1", "4 1 1")]
        self.assertLess(most[1], 0.75 * most[0])
        self.assertLess(most[2], 0.45 * most[0])


if __name__ == "__main__":
    main()
