# SPDX-License-Identifier: GPL-2.0-only
"""What the demo refuses, and the comparison of its two runs. The runs themselves are the demo's."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "lammps"

LOG = """LAMMPS (22 Jul 2025)
   Step          Temp   PotEng   TotEng       f_check[1]     f_check[3]
Validation by fix check at step 0
         0  300.0  -217.5  -215.1   1e-13   2e-14
WARNING: something between two rows
        10  280.0  -217.3  {second}   2e-13   3e-14
Loop time of 1.0 on 2 procs for 10 steps with 64 atoms
"""

# Two atoms in an order that is not that of their ids; the largest component is 0.5 eV/A.
FRAME = """ITEM: TIMESTEP
{step}
ITEM: NUMBER OF ATOMS
2
ITEM: BOX BOUNDS pp pp pp
0 1
0 1
0 1
ITEM: ATOMS id fx fy fz
{atoms}
"""
ATOMS = "2 0.1 0.2 {z!r}\n1 -0.1 0.25 0.0"


def dump(*, step=0, shift=0.0, atoms=ATOMS):
    return FRAME.format(step=step, atoms=atoms.format(z=0.5 + shift))


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


class PlotDemo(unittest.TestCase):
    log = LOG.format(second=-215.2)

    def plot(self, *options, **changes):
        """Result and whether a picture was drawn. `changes`: texts of decomposed, reference,
        decomposed_forces or reference_forces; the others are of two runs that agree."""
        texts = {"decomposed": self.log, "reference": self.log}
        texts |= {"decomposed_forces": dump(), "reference_forces": dump(), **changes}
        with tempfile.TemporaryDirectory() as folder:
            arguments = [*options, "--output", f"{folder}/demo.png"]
            for name, text in texts.items():
                (Path(folder) / name).write_text(text)
                arguments += ["--" + name.replace("_", "-"), f"{folder}/{name}"]
            result = run(sys.executable, str(EXAMPLES / "plot_demo.py"), *arguments)
            picture = Path(folder) / "demo.png"
            return result, picture.exists() and picture.read_bytes()[:4] == b"\x89PNG"

    def assert_refused(self, text, **changes):
        result, _ = self.plot(**changes)

        self.assertEqual(result.returncode, 1)
        self.assertIn(text, result.stderr)

    def test_draws_equal_runs(self):
        result, drawn = self.plot()

        self.assertEqual((result.returncode, drawn), (0, True), result.stderr)
        self.assertIn("2 ranks against 1, largest difference 0.00e+00 eV", result.stdout)
        self.assertIn("energy 2.00e-13 eV, force 3.00e-14 eV/A", result.stdout)
        self.assertIn(
            "forces at step 0: largest difference 0.0e+00 eV/A, tolerance 5.0e-11", result.stdout
        )

    def test_says_how_far_apart_forces_are_in_whatever_order_atoms_come(self):
        other = "1 -0.1 0.25 0.0\n2 0.1 0.2 {z!r}"

        result, drawn = self.plot(decomposed_forces=dump(shift=1e-12, atoms=other))

        self.assertEqual((result.returncode, drawn), (0, True), result.stderr)
        self.assertIn("forces at step 0: largest difference 1.0e-12 eV/A", result.stdout)

    def test_draws_but_refuses_forces_that_differ(self):
        result, drawn = self.plot(decomposed_forces=dump(shift=1e-9))

        self.assertEqual((result.returncode, drawn), (1, True))
        self.assertIn(
            "forces at step 0 differ by 1.0e-09 eV/A, expected at most 5.0e-11 eV/A", result.stderr
        )

    def test_does_not_judge_forces_after_the_hundredth_step(self):
        frames = {step: dump(step=step, shift=1e-9) for step in (100, 120)}

        late, _ = self.plot(
            reference_forces=dump() + dump(step=120), decomposed_forces=dump() + frames[120]
        )
        early, _ = self.plot(
            reference_forces=dump() + dump(step=100), decomposed_forces=dump() + frames[100]
        )

        self.assertEqual(late.returncode, 0, late.stderr)
        self.assertIn("step 120: largest difference 1.0e-09 eV/A, later than", late.stdout)
        self.assertIn("forces at step 100 differ", early.stderr)

    def test_draws_but_refuses_energies_that_differ(self):
        result, drawn = self.plot(reference=LOG.format(second=-215.199))

        self.assertEqual((result.returncode, drawn), (1, True))
        self.assertIn("the runs differ by 1.00e-03 eV, expected at most 1e-07 eV", result.stderr)

    def test_allows_single_precision_its_rounding(self):
        result, _ = self.plot(
            "--dtype",
            "float32",
            reference=LOG.format(second=-215.199),
            decomposed_forces=dump(shift=1e-5),
        )

        self.assertEqual(result.returncode, 0, result.stderr)

    def test_refuses_an_energy_that_is_not_a_number(self):
        self.assert_refused("the runs differ by nan eV", decomposed=LOG.format(second="nan"))

    def test_refuses_a_log_without_steps(self):
        self.assert_refused(
            "has no thermo output: did LAMMPS stop before its first step?",
            decomposed="LAMMPS (22 Jul 2025)\nERROR: stopped\n",
        )

    def test_refuses_logs_of_different_length(self):
        self.assert_refused(
            "the two logs do not cover the same steps",
            decomposed="\n".join(self.log.splitlines()[:-3]),
        )

    def test_refuses_dumps_of_different_steps_or_atoms(self):
        self.assert_refused(
            "the two dumps do not hold the same steps and atoms", decomposed_forces=dump(step=1)
        )

    def test_refuses_a_dump_without_frames(self):
        self.assert_refused("holds no frame: did LAMMPS stop", reference_forces="")

    def test_refuses_a_dump_that_ends_within_a_frame(self):
        self.assert_refused(
            "ends within step 0: LAMMPS did not finish",
            reference_forces=dump(atoms="1 0.0 0.0 {z!r}"),
        )

    def test_refuses_a_dump_without_forces(self):
        self.assert_refused(
            "got columns ['id', 'x', 'y', 'z'], expected id, fx, fy and fz among them",
            reference_forces=dump().replace("fx fy fz", "x y z"),
        )

    def test_refuses_a_force_that_is_not_finite(self):
        self.assert_refused(
            "a force at step 0 is no finite number",
            reference_forces=dump(atoms="1 0.0 0.0 {z!r}\n2 nan 0.0 0.0"),
        )


if __name__ == "__main__":
    unittest.main()
