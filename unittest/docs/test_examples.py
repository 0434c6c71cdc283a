# SPDX-License-Identifier: GPL-2.0-only
"""What the demo refuses, and the comparison of its two runs. The runs themselves are the demo's."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "lammps"

LOG = """LAMMPS (22 Jul 2025)
   Step          TotEng       f_check[1]     f_check[3]
Validation by fix check at step 0
         0  -215.1   1e-13   2e-14
WARNING: something between two rows
        10  {second}   2e-13   3e-14
Loop time of 1.0 on 2 procs for 10 steps with 64 atoms
"""


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


class Demo(unittest.TestCase):
    def assert_refused(self, arguments, text):
        result = run("bash", str(EXAMPLES / "demo.sh"), *arguments)

        self.assertEqual(result.returncode, 1)
        self.assertIn(text, result.stderr)

    def test_refuses_an_unknown_option(self):
        self.assert_refused(["--fast"], "got '--fast', expected --steps, --ranks, --dtype")

    def test_refuses_no_steps(self):
        self.assert_refused(["--steps", "0"], "--steps: got '0', expected a whole number from 1")

    def test_refuses_an_option_without_value(self):
        self.assert_refused(["--ranks"], "--ranks: got no value, expected one")

    def test_refuses_a_precision_it_does_not_know(self):
        self.assert_refused(["--dtype", "half"], "--dtype: got 'half', expected float64 or float32")

    def test_refuses_an_archive_that_is_not_there_and_says_how_to_make_one(self):
        self.assert_refused(["--archive", "/no/such.pt"], "nvalchemi-export-sevennet --output FILE")

    def test_says_what_it_does(self):
        result = run("bash", str(EXAMPLES / "demo.sh"), "--help")

        self.assertEqual(result.returncode, 0)
        for option in ("--steps", "--ranks", "--dtype", "--archive", "examples/lammps/output/"):
            self.assertIn(option, result.stdout)


class PlotEnergy(unittest.TestCase):
    def plot(self, decomposed, reference, *options):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("d", decomposed), ("r", reference)):
                (Path(folder) / name).write_text(text)
            picture = Path(folder) / "energy.png"
            result = run(
                sys.executable,
                str(EXAMPLES / "plot_energy.py"),
                "--decomposed",
                f"{folder}/d",
                "--reference",
                f"{folder}/r",
                "--output",
                str(picture),
                *options,
            )
            return result, picture.exists() and picture.read_bytes()[:4] == b"\x89PNG"

    def test_draws_equal_runs(self):
        log = LOG.format(second=-215.2)

        result, drawn = self.plot(log, log)

        self.assertEqual((result.returncode, drawn), (0, True), result.stderr)
        self.assertIn("2 ranks against 1, largest difference 0.00e+00 eV", result.stdout)
        self.assertIn("energy 2.00e-13 eV, force 3.00e-14 eV/A", result.stdout)

    def test_draws_but_refuses_runs_that_differ(self):
        result, drawn = self.plot(LOG.format(second=-215.2), LOG.format(second=-215.199))

        self.assertEqual((result.returncode, drawn), (1, True))
        self.assertIn("the runs differ by 1.00e-03 eV, expected at most 1e-07 eV", result.stderr)

    def test_allows_single_precision_its_rounding(self):
        result, _ = self.plot(
            LOG.format(second=-215.2), LOG.format(second=-215.199), "--dtype", "float32"
        )

        self.assertEqual(result.returncode, 0, result.stderr)

    def test_refuses_an_energy_that_is_not_a_number(self):
        result, _ = self.plot(LOG.format(second="nan"), LOG.format(second=-215.2))

        self.assertIn("the runs differ by nan eV", result.stderr)

    def test_refuses_a_log_without_steps(self):
        result, _ = self.plot("LAMMPS (22 Jul 2025)\nERROR: stopped\n", LOG.format(second=-215.2))

        self.assertEqual(result.returncode, 1)
        self.assertIn("has no thermo output: did LAMMPS stop before its first step?", result.stderr)

    def test_refuses_logs_of_different_length(self):
        shorter = "\n".join(LOG.format(second=-215.2).splitlines()[:-3])

        result, _ = self.plot(shorter, LOG.format(second=-215.2))

        self.assertIn("the two logs do not cover the same steps", result.stderr)


if __name__ == "__main__":
    unittest.main()
