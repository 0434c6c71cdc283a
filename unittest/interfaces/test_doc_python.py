# SPDX-License-Identifier: GPL-2.0-only
"""Runs the Python blocks of the pages, each as a program of its own."""

import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from crystals import ARCHIVE, REPOSITORY, skip_without_lammps_module

DOC = REPOSITORY / "doc"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", re.MULTILINE)


WRITE_INPUT = """
from lammps import lammps
lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
lmp.commands_string('''units metal
lattice custom 5.64 basis 0 0 0 basis 0.5 0.5 0.5
region box block 0 3 0 3 0 3
create_box 2 box
create_atoms 1 box basis 2 2
mass * 20.0
pair_style nvalchemi
pair_coeff * * model.pt Na Cl
nvalchemi/write seen''')
lmp.close()
"""


class PythonBlocks(unittest.TestCase):
    def test_each_runs_and_prints(self):
        pages = [(DOC / name).read_text() for name in ("python.rst", "nvalchemi_write.rst")]
        blocks = [textwrap.dedent(found) for page in pages for found in BLOCK.findall(page)]
        self.assertEqual(len(blocks), 3)
        blocks[2] = WRITE_INPUT + blocks[2]
        for block in blocks:
            with (
                self.subTest(block=block.splitlines()[-1]),
                tempfile.TemporaryDirectory() as folder,
            ):
                shutil.copy(ARCHIVE, Path(folder) / "model.pt")
                finished = subprocess.run(
                    [sys.executable, "-c", block], cwd=folder, capture_output=True, text=True
                )
                self.assertEqual(finished.returncode, 0, finished.stdout + finished.stderr)
                self.assertRegex(finished.stdout, r"-?\d+\.\d+ ")


if __name__ == "__main__":
    skip_without_lammps_module()
    unittest.main()
