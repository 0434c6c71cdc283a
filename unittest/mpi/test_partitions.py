# SPDX-License-Identifier: GPL-2.0-only
"""Several LAMMPS instances at once: partitions of one job, instances of one Python process."""

import os
import re
import subprocess
import sys

from simulation import read_thermo
from suite import LammpsTest, main, model

FORMAT = ["thermo_style custom step pe", "thermo_modify format float %.17g"]


class Partitions(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = self.toy.case("nacl64")[0]

    def run_partitions(self, lines, partition, ranks, environment=None):
        """Logs of all partitions."""
        self.write_structure(self.structure)
        script = self.script(self.structure, self.toy.settings(), [*FORMAT, *lines])
        run = self.run_input(
            script, ranks, arguments=["-partition", *partition], environment=environment
        )
        run.require_success()
        logs = sorted(self.folder.glob("log.lammps.*"))
        return [log.read_text() for log in logs]

    def test_replicas_give_the_numbers_of_a_run_alone(self):
        shift = ["variable t world 1.0 1.01", "change_box all x scale $t remap", "run 0"]
        logs = self.run_partitions(shift, ["2x2"], 4)
        self.assertEqual(len(logs), 2)
        energies = [read_thermo(log)[0]["PotEng"][0] for log in logs]
        self.assertGreater(abs(energies[1] - energies[0]), 1e-6)
        expected = self.alone(self.structure, self.toy.settings()).energy
        self.assertAlmostEqual(energies[0], expected, delta=1e-9)

    def test_a_replica_without_the_model_does_not_hold_up_the_others(self):
        lines = [
            "variable style world nvalchemi zero",
            f'variable coeff world """{self.toy.archive} Na Cl""" ""',
            "pair_style zero 6.0",
            "pair_coeff * *",
            'if "${style} == nvalchemi" then "pair_style nvalchemi" "pair_coeff * * ${coeff}"',
            "run 0",
        ]
        logs = self.run_partitions(lines, ["1", "1"], 2)
        energies = [read_thermo(log)[0]["PotEng"][0] for log in logs]
        self.assertNotEqual(energies[0], 0.0)
        self.assertEqual(energies[1], 0.0)

    def test_replicas_share_the_processors_of_a_node(self):
        cores = len(os.sched_getaffinity(0))
        logs = self.run_partitions(["run 0"], ["2x1"], 2, {"OMP_NUM_THREADS": ""})
        for log in logs:
            threads = int(re.search(r"(\d+) LibTorch threads? per rank", log).group(1))
            self.assertEqual(threads, max(1, cores // 2))

    def test_replicas_exchange_their_temperatures(self):
        lines = [
            "variable t world 300.0 400.0",
            "velocity all create $t 4711",
            "fix move all nvt temp $t $t 0.1",
            "temper 20 10 $t move 3847 58382",
        ]
        logs = self.run_partitions(lines, ["2x1"], 2)
        self.assertEqual(len(logs), 2)


class Instances(LammpsTest):
    SCRIPT = """
import sys
from lammps import lammps

def make():
    return lammps(cmdargs=["-screen", "none", "-log", "none"])

def energy(instance):
    instance.file("in.case")
    return instance.get_thermo("pe")

first, second = make(), make()
one = energy(first)
two = energy(second)
first.command("run 0")
again = first.get_thermo("pe")
first.close()
second.command("run 0")
after = second.get_thermo("pe")
second.close()
third = make()
last = energy(third)
print("energies", *(f"{value:.17g}" for value in (one, two, again, after, last)))
"""

    def test_of_one_python_process_do_not_disturb_each_other(self):
        toy = model("toy_index_add")
        structure = toy.case("nacl64")[0]
        self.write_structure(structure)
        (self.folder / "in.case").write_text(
            self.script(structure, toy.settings(), [*FORMAT, "run 0"])
        )
        run = subprocess.run(
            [sys.executable, "-c", self.SCRIPT],
            cwd=self.folder,
            env=self.installation.environment(1),
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        energies = [float(word) for word in run.stdout.split("energies")[1].split()]
        expected = self.alone(structure, toy.settings()).energy
        for energy in energies:
            self.assertAlmostEqual(energy, expected, delta=1e-9)


if __name__ == "__main__":
    main()
