# SPDX-License-Identifier: GPL-2.0-only
"""examples/lammps/oxide_npt from its CIF on: data file, constant pressure, restart, rerun."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "examples" / "lammps" / "oxide_npt"
sys.path.insert(0, str(REPOSITORY / "unittest" / "mpi"))

from installation import NotInstalled, find_installation  # noqa: E402
from simulation import read_thermo, run_lammps  # noqa: E402

try:
    import ase.io
except ImportError as missing:
    print(f"SKIPPED: {missing}; run this with build/export_python_interfaces.sh")
    sys.exit(77)
try:
    INSTALLATION = find_installation()
except NotInstalled as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

STEPS = 20


def make_data(*arguments, folder):
    command = [sys.executable, str(EXAMPLE / "make_data.py"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def run(name, folder, *variables, ranks=2):
    """Thermo output of one run of an input of the example, whatever its plugin line says."""
    text = re.sub(
        r"^plugin load .*$",
        f"plugin load {INSTALLATION.plugin}",
        (EXAMPLE / name).read_text(),
        flags=re.M,
    )
    result = run_lammps(INSTALLATION, text, ranks, folder, 300, variables).require_success()
    (folder / f"log.{name}").write_text(result.log)
    return read_thermo(result.log)[-1]


class Structures(unittest.TestCase):
    """make_data.py by itself."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        shutil.copy(EXAMPLE / "rutile.cif", self.folder)

    def refused(self, text, *arguments):
        result = make_data(*arguments, folder=self.folder)

        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(text, result.stderr)

    def change_cif(self, old, new):
        cif = self.folder / "rutile.cif"
        text = cif.read_text()
        self.assertIn(old, text)
        cif.write_text(text.replace(old, new))

    def test_makes_the_file_that_lies_beside_it(self):
        arguments = "rutile.cif made.data --types Ti O --repeat 3 3 4".split()

        result = make_data(*arguments, folder=self.folder)

        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("made.data: Ti72O144, 216 atoms", result.stdout)
        self.assertIn("pair_coeff * * MODEL Ti O", result.stdout)
        made, there = self.folder / "made.data", EXAMPLE / "rutile.data"
        self.assertEqual(made.read_text(), there.read_text())

    def test_every_titanium_has_the_six_neighbours_of_rutile(self):
        atoms = ase.io.read(EXAMPLE / "rutile.cif").repeat(2)
        oxygen = [k for k, atom in enumerate(atoms) if atom.symbol == "O"]

        for k in (k for k, atom in enumerate(atoms) if atom.symbol == "Ti"):
            near = np.sort(atoms.get_distances(k, oxygen, mic=True))
            np.testing.assert_allclose(near[:6], [1.946] * 4 + [1.983] * 2, atol=2e-3)
            self.assertGreater(near[6], 3.0)

    def test_a_hexagonal_poscar_becomes_a_tilted_box_with_its_distances(self):
        atoms = ase.io.read(EXAMPLE / "rutile.cif")
        atoms.set_cell([4.6, 4.6, 2.96, 90, 90, 120], scale_atoms=True)
        ase.io.write(self.folder / "POSCAR", atoms, format="vasp")

        result = make_data("POSCAR", "made.data", "--types", "O", "Ti", folder=self.folder)

        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("xy xz yz", (self.folder / "made.data").read_text())
        back = ase.io.read(self.folder / "made.data", format="lammps-data")
        self.assertEqual(back.get_chemical_symbols(), atoms.get_chemical_symbols())
        np.testing.assert_allclose(
            back.get_all_distances(mic=True), atoms.get_all_distances(mic=True), atol=1e-8
        )

    def test_refuses_an_element_without_a_type(self):
        self.refused(
            "--types: got Ti, expected O among them, which rutile.cif holds",
            *"rutile.cif made.data --types Ti".split(),
        )

    def test_refuses_sites_that_are_occupied_in_part(self):
        self.change_cif("0.3053 0.3053 0 1", "0.3053 0.3053 0 0.5")

        self.refused(
            "rutile.cif: got sites that are occupied in part, expected one whole atom on each",
            *"rutile.cif made.data --types Ti O".split(),
        )

    def test_refuses_two_atoms_on_one_place(self):
        self.change_cif("0.3053 0.3053 0 1", "0.02 0.02 0 1")

        self.refused(
            "rutile.cif: got two atoms 0.13 Angstrom apart, expected more than 0.5",
            *"rutile.cif made.data --types Ti O".split(),
        )


class Dynamics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        for name in ("rutile.data", "tio2_ionic.pt"):
            shutil.copy(EXAMPLE / name, cls.folder)
        steps = ("-var", "steps", str(STEPS))
        cls.whole = run("in.npt", cls.folder, "-var", "steps", str(2 * STEPS))
        cls.first = run("in.npt", cls.folder, *steps)
        cls.second = run("in.restart", cls.folder, *steps, ranks=1)
        cls.frames = run("in.rerun", cls.folder)

    def test_a_restart_goes_on_as_if_nothing_had_been(self):
        for name in ("PotEng", "TotEng", "Temp", "Lx", "Lz"):
            both = np.concatenate([self.first[name], self.second[name][1:]])

            np.testing.assert_allclose(both, self.whole[name], rtol=1e-8, err_msg=name)

    def test_the_restart_begins_where_the_first_run_ended(self):
        self.assertEqual(self.second["Step"][0], STEPS)
        np.testing.assert_allclose(self.second["PotEng"][0], self.first["PotEng"][-1], rtol=1e-10)

    def test_a_rerun_finds_the_energies_of_all_frames_of_both_runs(self):
        np.testing.assert_array_equal(self.frames["Step"], self.whole["Step"])
        np.testing.assert_allclose(self.frames["PotEng"], self.whole["PotEng"], rtol=1e-8)
        np.testing.assert_allclose(self.frames["Lz"], self.whole["Lz"], rtol=1e-8)

    def test_each_frame_is_compared_with_the_undecomposed_model(self):
        log = (self.folder / "log.in.rerun").read_text()

        self.assertIn(f"{len(self.frames['Step'])} comparisons, all passed", log)

    def test_the_box_moves_and_stays_tetragonal_and_near_the_crystal(self):
        a, c = self.whole["Lx"] / 3, self.whole["Lz"] / 4

        np.testing.assert_array_equal(self.whole["Lx"], self.whole["Ly"])
        self.assertGreater(np.ptp(a), 1e-5)
        np.testing.assert_allclose(a, 4.594, rtol=0.05)
        np.testing.assert_allclose(c, 2.958, rtol=0.05)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    unittest.main()
